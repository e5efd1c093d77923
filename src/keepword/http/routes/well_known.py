"""What clients look for before they have a key."""

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from keepword.http import protected_resource
from keepword.http.responses import as_json
from keepword.http.services import Services

router = APIRouter(include_in_schema=False)


@router.get(protected_resource.PATH)
@router.get(protected_resource.PATH + protected_resource.RESOURCE)
async def describe_resource(request: Request) -> Response:
    """Tell a client of MCP where it gets a token. The token is a key: nothing else opens anything."""
    services: Services = request.app.state.services
    return as_json(to_json(protected_resource.metadata(request, services.resource)))
