"""How long a room and a conversation keep their messages: the tenant's owner says so, and nobody else."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from keepword.answers import Retention
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.responses import require, respond
from keepword.http.schemas import Body, PathName

router = APIRouter(prefix="/v1", tags=["erasure"])


class PutRetention(Body):
    days: int | None = Field(ge=1, le=36_500, description="null: as long as the room or the tenant says")


RetentionBody = Annotated[PutRetention, Depends(JsonBody(PutRetention))]
_TAKES = takes(PutRetention, {"days": 30})
_PROBLEMS = documented(404)
_PUT_PROBLEMS = documented(400, 404, 413, 415)


@router.get("/rooms/{room}/retention", response_model=Retention, responses=_PROBLEMS)
async def get_room_retention(caller: CallerDep, room: PathName) -> Response:
    """Tell how long a room keeps its messages. The tenant's owner may ask."""
    return await _told(caller, room)


@router.put("/rooms/{room}/retention", response_model=Retention, openapi_extra=_TAKES, responses=_PUT_PROBLEMS)
async def put_room_retention(caller: CallerDep, room: PathName, body: RetentionBody) -> Response:
    """Let a room keep its messages for so many days, whatever the tenant says; they are then erased."""
    return await _change(caller, room, body.days)


@router.get("/conversations/{external_id}/retention", response_model=Retention, responses=_PROBLEMS)
async def get_conversation_retention(caller: CallerDep, external_id: PathName) -> Response:
    """Tell how long a conversation keeps its messages. The tenant's owner may ask."""
    return await _told(caller, _conversation(caller, external_id))


@router.put(
    "/conversations/{external_id}/retention", response_model=Retention, openapi_extra=_TAKES, responses=_PUT_PROBLEMS
)  # fmt: skip
async def put_conversation_retention(caller: CallerDep, external_id: PathName, body: RetentionBody) -> Response:
    """Let a conversation keep its messages for so many days, whatever its room and the tenant say."""
    return await _change(caller, _conversation(caller, external_id), body.days)


def _conversation(caller: Caller, external_id: str) -> UUID:
    authorize.as_owner(caller)
    place, _ = authorize.in_conversation(caller, external_id)
    return require(place.conversation_id, f"no conversation {external_id!r}")


async def _change(caller: Caller, where: UUID | str, days: int | None) -> Response:
    await caller.services.erasures.change_retention(authorize.as_owner(caller), where, days)
    return await _told(caller, where)


async def _told(caller: Caller, where: UUID | str) -> Response:
    found = await caller.services.erasures.retention(authorize.as_owner(caller), where)
    return respond(Retention, require(found, f"no room {where!r}"))
