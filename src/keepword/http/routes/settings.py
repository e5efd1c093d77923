"""A tenant's settings: what its owner chooses about who reads what."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from keepword.access import TenantSettings, check_changes
from keepword.access.settings import ProfilesInRooms
from keepword.http.answers import as_json, own
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Calling
from keepword.http.problems import documented
from keepword.http.schemas import Body
from keepword.http.services import Services

router = APIRouter(prefix="/v1/settings", tags=["settings"])


class ShownSettings(BaseModel):
    profile_per_agent: bool = Field(description="an agent is shown only what was said to it of a profile")
    profiles_in_rooms: ProfilesInRooms = Field(
        description="`room`: rooms read of a profile what was said in them; `all`: also what was said in sessions and "
        "other rooms"
    )


class ChangedSettings(Body):
    profile_per_agent: bool | None = None
    profiles_in_rooms: ProfilesInRooms | None = None


_changes: JsonBody[dict[str, Any]] = JsonBody(dict[str, Any])


@router.get("", response_model=ShownSettings, responses=documented())
async def get_settings(request: Request, caller: Calling) -> Response:
    """Read the tenant's settings, also those that were never changed."""
    services: Services = request.app.state.services
    own(caller.viewer)
    return _shown(await services.doors.settings(caller.viewer.tenant_id) or TenantSettings())


@router.patch(
    "", response_model=ShownSettings, openapi_extra=takes(ChangedSettings, {"profiles_in_rooms": "room"}),
    responses=documented(400, 413, 415),
)  # fmt: skip
async def change_settings(
    request: Request, caller: Calling, changes: Annotated[dict[str, Any], Depends(_changes)]
) -> Response:
    """Change some of the tenant's settings; the others stay. It counts from the next request on."""
    services: Services = request.app.state.services
    owner = own(caller.viewer)
    return _shown(await services.doors.change_settings(owner, check_changes(changes)))


def _shown(settings: TenantSettings) -> Response:
    return as_json(ShownSettings(**settings.shown()).model_dump_json().encode())
