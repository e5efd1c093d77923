"""How the service itself stands, for who runs it on this machine."""

from fastapi import APIRouter, Request, Response

from keepword.answers import ServiceReport
from keepword.errors import Forbidden, Unavailable
from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.peers import is_from_loopback
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.slots import pass_gate

router = APIRouter(prefix="/v1/service", tags=["operations"])

_BUSY = "the service is being checked for another caller; try again in a moment"


@router.get("", response_model=ServiceReport, responses=documented())
async def get_service(request: Request, caller: CallerDep) -> Response:
    """Check the machine, the database and Redis, and show the service's settings with their origins."""
    authorize.as_owner(caller)
    if not is_from_loopback(request):
        raise Forbidden("this shows the machine and its settings; read it there: keepword doctor")
    services = caller.services
    if services.report is None:
        raise Unavailable("this service tells nothing about itself; run: keepword doctor")
    async with pass_gate(services.report_gate, caller.key, _BUSY):
        return respond(ServiceReport, await services.report())
