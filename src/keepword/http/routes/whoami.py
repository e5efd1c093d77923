"""What a caller is here: for programs that show only what they may do."""

from fastapi import APIRouter, Response

from keepword.access import WholeTenant, grant
from keepword.answers import WhoAmI
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.model import KEYLESS_ID

router = APIRouter(prefix="/v1", tags=["keys"])


@router.get("/whoami", response_model=WhoAmI, responses=documented())
async def whoami(caller: CallerDep) -> Response:
    """Tell what the key may do, and for whom this request acts."""
    key, viewer = caller.key, caller.viewer
    key_id = None if key.id == KEYLESS_ID else key.id
    is_owner = not grant(viewer, WholeTenant()).is_nothing
    return respond(WhoAmI, WhoAmI(key.tenant, key.role, key_id, viewer.agent, viewer.user, is_owner))
