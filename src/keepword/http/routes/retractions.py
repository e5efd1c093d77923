"""Taking messages back, and giving them back."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import Field

from keepword.answers import RetractedMessage
from keepword.erasure.retract import MAX_REASON_CHARS, RetractStores, retract, unretract
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.schemas import Body, PathName
from keepword.http.services import Services

router = APIRouter(prefix="/v1/conversations/{external_id}/messages/{seq}/retract", tags=["conversations"])

PathSeq = Annotated[int, Path(ge=1, lt=2**63, description="the message's number in its conversation")]


class Retract(Body):
    reason: str | None = Field(None, max_length=MAX_REASON_CHARS, description="why; the tenant's owner reads it")


RetractBody = Annotated[Retract | None, Depends(JsonBody(Retract, optional=True))]


@router.post(
    "", response_model=RetractedMessage, responses=documented(400, 404, 413, 415),
    openapi_extra=takes(Retract, {"reason": "sent by mistake"}, required=False),
)  # fmt: skip
async def retract_message(caller: CallerDep, external_id: PathName, seq: PathSeq, body: RetractBody) -> Response:
    """Take a message back: from the next call on it is shown to nobody but the tenant's owner, and nowhere else.

    What was derived from it alone goes, what was derived from others as well is made again. Who may write in a session
    or a direct conversation takes back any message there; in a room each their own, and an admin everybody's.
    """
    place, grant = authorize.in_conversation(caller, external_id)
    reason = body.reason if body else None
    stores = retract_stores(caller.services)
    return respond(RetractedMessage, await retract(stores, grant, caller.viewer, place, seq, caller.name, reason))


@router.delete("", status_code=204, response_class=Response, responses=documented(404, 409))
async def unretract_message(caller: CallerDep, external_id: PathName, seq: PathSeq) -> None:
    """Undo a retraction, by the same rights. What had been derived from the message is made again."""
    place, grant = authorize.in_conversation(caller, external_id)
    await unretract(retract_stores(caller.services), grant, caller.viewer, place, seq)


def retract_stores(services: Services) -> RetractStores:
    return RetractStores(services.retractions, services.summaries, services.memories, services.working, services.reader)
