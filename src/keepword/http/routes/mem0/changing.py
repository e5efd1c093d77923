"""Changing, rating and deleting memories, one by one, in batches and by whom they are of."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response

from keepword import transcript
from keepword.answers import DeletedMemories, Feedback, Memory
from keepword.erasure import erase
from keepword.errors import InvalidInput, KeepwordError, NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.mem0_entities import KINDS, Entities
from keepword.http.mem0_errors import documented
from keepword.http.routes.erasures import stores
from keepword.http.routes.mem0 import filters, schemas, shapes
from keepword.http.routes.mem0.filters import end_of_day
from keepword.http.routes.mem0.reading import readable, require_id
from keepword.memories import operations
from keepword.memories.filters import Tree
from keepword.memories.ports import NumberedPage

router = APIRouter()

# of one call to the store; each is a row, its history and its entry
_AT_ONCE = 1_000
_MOST_SESSIONS = 100
_MOST_ROUNDS = 10
STAYS = "The messages that it came from stay in the transcript; delete_all erases them."
_STAY = "The messages that they came from stay in the transcript."

_CHANGE = {"text": "Ann prefers aisle seats.", "metadata": {"source": "chat"}}
_RATE = {"memory_id": "0190c6f0-0000-7000-8000-000000000000", "feedback": "NEGATIVE", "feedback_reason": "she moved"}
_BATCH = {"memories": [{"memory_id": "0190c6f0-0000-7000-8000-000000000000", "text": "Ann prefers aisle seats."}]}
_GONE = {"memories": [{"memory_id": "0190c6f0-0000-7000-8000-000000000000"}]}

ChangeBody = Annotated[schemas.Mem0Change, Depends(JsonBody(schemas.Mem0Change))]
RateBody = Annotated[schemas.Mem0Rating, Depends(JsonBody(schemas.Mem0Rating))]
UpdateManyBody = Annotated[schemas.Mem0BatchUpdate, Depends(JsonBody(schemas.Mem0BatchUpdate))]
DeleteManyBody = Annotated[schemas.Mem0BatchDelete, Depends(JsonBody(schemas.Mem0BatchDelete))]


@router.put(
    "/v1/memories/{memory_id}/", openapi_extra=takes(schemas.Mem0Change, _CHANGE), responses=documented(404, 409, 413)
)  # fmt: skip
async def update(caller: CallerDep, memory_id: str, body: ChangeBody) -> Response:
    """Change what a memory says, its metadata or its last day; what is not given stays."""
    to: dict[str, Any] = {}
    if (text := body.text or body.data) is not None:
        to["content"] = text
    if body.metadata is not None:
        to["metadata"] = body.metadata
    if "expiration_date" in body.model_fields_set:
        until = body.expiration_date
        to["expires_at"] = None if until is None else end_of_day(until, "expiration_date")
    return shapes.answer(shapes.shown(await _change(caller, require_id(memory_id), to)))


@router.delete("/v1/memories/{memory_id}/", responses=documented(404))
async def delete(caller: CallerDep, memory_id: str) -> Response:
    """Delete a memory; the messages that it came from stay in the transcript."""
    await _delete(caller, require_id(memory_id))
    return shapes.answer({"message": f"Memory deleted successfully! {STAYS}"})


@router.delete("/v1/memories/", responses=documented(404))
async def delete_all(caller: CallerDep, query: Annotated[schemas.WhoseQuery, Query()]) -> Response:
    """Erase the sessions of those who are named in the query, and delete their memories elsewhere; `*` is everybody."""
    names: tuple[str | None, ...] = tuple(getattr(query, f"{kind}_id") for kind in KINDS)
    tree = query.selection().tree()
    if not tree:
        raise InvalidInput("say whose: at least one of user_id, agent_id, app_id and run_id is needed", "user_id")
    if set(names) == {filters.ANY}:
        # their clients ask for everything like this, also for what has no agent, app or run
        names, tree = (None,) * len(KINDS), {"OR": [{f"{kind}_id": filters.ANY} for kind in KINDS]}
    return shapes.answer({"message": await _erase(caller, names, tree)})


@router.put("/v1/batch/", openapi_extra=takes(schemas.Mem0BatchUpdate, _BATCH), responses=documented(404, 409, 413))
async def batch_update(caller: CallerDep, body: UpdateManyBody) -> Response:
    """Change up to 1,000 memories, one after the other; the first that can't be changed ends it and is named."""
    ids = [require_id(one.memory_id) for one in body.memories]
    done = 0
    for id_, one in zip(ids, body.memories, strict=True):
        to = {"content": one.text, "metadata": one.metadata}
        try:
            await _change(caller, id_, {name: value for name, value in to.items() if value is not None})
        except KeepwordError as exc:
            raise _after(exc, done, "updated") from exc
        done += 1
    return shapes.answer({"message": f"Successfully updated {done} memories"})


@router.delete("/v1/batch/", openapi_extra=takes(schemas.Mem0BatchDelete, _GONE), responses=documented(404, 413))
async def batch_delete(caller: CallerDep, body: DeleteManyBody) -> Response:
    """Delete up to 1,000 memories, one after the other; the first that can't be deleted ends it and is named."""
    done = 0
    for id_ in [require_id(one.memory_id) for one in body.memories]:
        try:
            await _delete(caller, id_)
        except KeepwordError as exc:
            raise _after(exc, done, "deleted") from exc
        done += 1
    return shapes.answer({"message": f"Successfully deleted {done} memories. {_STAY}"})


@router.post("/v1/feedback/", openapi_extra=takes(schemas.Mem0Rating, _RATE), responses=documented(404, 413))
async def feedback(caller: CallerDep, body: RateBody) -> Response:
    """Say what a memory was worth, and why; null takes it back."""
    id_, services = require_id(body.memory_id), caller.services
    grant = await authorize.to_change_memory(caller, id_, None)
    opinion = _OPINIONS[body.feedback] if body.feedback is not None else None
    await operations.rate(services.memories, grant, id_, opinion, body.feedback_reason, caller.name)
    return shapes.answer({"id": id_, "feedback": body.feedback, "feedback_reason": body.feedback_reason})


@router.delete("/v2/entities/{entity_type}/{entity}/", responses=documented(404))
@router.delete("/v1/entities/{entity_type}/{entity}/", responses=documented(404))
async def delete_entity(caller: CallerDep, entity_type: str, entity: str) -> Response:
    """Erase the sessions of a user, an agent, an app or a run, and delete their memories elsewhere."""
    if entity_type not in _CHECKED:
        raise InvalidInput(f"{entity_type!r} is no kind of entity; there are {', '.join(_CHECKED)}", "entity_type")
    _CHECKED[entity_type](entity)
    names = tuple(entity if kind == entity_type else None for kind in KINDS)
    # an entity may be called `*`, which is nobody else here
    erased = () if entity == filters.ANY else names
    details = await _erase(caller, erased, {f"{entity_type}_id": {"in": [entity]}})
    return shapes.answer({"message": "Entity deleted successfully.", "details": details})


_OPINIONS: dict[str, Feedback] = {
    "POSITIVE": "positive", "NEGATIVE": "negative", "VERY_NEGATIVE": "very_negative",
}  # fmt: skip
_CHECKED = {
    "user": lambda name: Entities.checked(name, None, None, None),
    "agent": lambda name: Entities.checked(None, name, None, None),
    "app": lambda name: Entities.checked(None, None, name, None),
    "run": lambda name: Entities.checked(None, None, None, name),
}


async def _erase(caller: Caller, names: Sequence[str | None], tree: dict[str, Any]) -> str:
    """Erase the sessions that mem0's clients made, and delete what else a filter finds; tell what was done."""
    services = caller.services
    filters.compare(caller, tree)
    sessions: list[str] = []
    if names:
        sessions = await services.memories.mem0_sessions(await readable(caller, tree), names, _MOST_SESSIONS)
    erased = 0
    for session in sessions:
        place, grant = await authorize.in_place(caller, session)
        # who may not erase it may still delete its memories
        with suppress(NotFound):
            await erase.erase_conversation(stores(services), grant, caller.viewer, place, dry_run=False)
            erased += 1
    deleted = await delete_matching(caller, tree)
    return _told(deleted, erased, is_more=len(sessions) == _MOST_SESSIONS or deleted.matched > deleted.deleted)


async def delete_matching(caller: Caller, tree: dict[str, Any]) -> DeletedMemories:
    """Delete what a filter finds: the tenant's owner anywhere, others where they may write."""
    compared = filters.compare(caller, tree, filters.ALL_STATES)
    grant = await readable(caller, tree)
    if grant.everything:
        return await _delete_in(caller, None, compared)
    wanted = NumberedPage(compared, _AT_ONCE, user=filters.named(tree, "user_id"))
    total, memories = await caller.services.memories.page(grant, wanted)
    deleted = 0
    for conversation in sorted({one.conversation for one in memories if one.conversation is not None}):
        deleted += (await _delete_in(caller, conversation, compared)).deleted
    return DeletedMemories(total, deleted)


async def _delete_in(caller: Caller, conversation: str | None, compared: Tree) -> DeletedMemories:
    place, grant = await authorize.in_place_or_tenant(caller, conversation)
    if place is not None:
        transcript.require_append(grant, caller.viewer, place)
        here = {"op": "in", "field": "conversation", "values": [place.external_id]}
        compared = filters.both(here, compared)
    deleted = 0
    for _ in range(_MOST_ROUNDS):
        some = await caller.services.memories.delete_matching(
            grant, compared, _AT_ONCE, caller.name, dry_run=False
        )  # fmt: skip
        deleted += some.deleted
        if some.matched <= some.deleted or not some.deleted:
            break
    return DeletedMemories(deleted + some.matched - some.deleted, deleted)


async def _change(caller: Caller, memory_id: UUID, to: dict[str, Any]) -> Memory:
    services = caller.services
    if not to:
        raise InvalidInput(
            "say what to change: text, metadata or expiration_date; when it was said (timestamp) stays", "text"
        )
    operations.require_ahead(to.get("expires_at"), services.clock())
    grant = await authorize.to_change_memory(caller, memory_id, None)
    return await operations.change(services.memories, services.reader, grant, memory_id, to, None, caller.name)


async def _delete(caller: Caller, memory_id: UUID) -> None:
    grant = await authorize.to_change_memory(caller, memory_id, None)
    await operations.delete(caller.services.memories, grant, memory_id, None, caller.name)


def _after(exc: KeepwordError, done: int, what: str) -> KeepwordError:
    """Say in the error how many of a batch were done before it."""
    if done:
        exc.args = (f"{exc}; {done} before it were {what}", *exc.args[1:])
    return exc


def _told(deleted: DeletedMemories, erased: int, *, is_more: bool) -> str:
    done = f"{erased} sessions were erased with all that was said in them" if erased else "No session was erased"
    others = (
        f" {deleted.deleted} memories of other sessions were deleted; their messages stay." if deleted.deleted else ""
    )
    rest = " More match; call again." if is_more else ""
    return f"Memories deleted successfully! {done}.{others}{rest}"
