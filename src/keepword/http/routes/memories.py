"""Memories, extracted or told by callers."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import JsonValue

from keepword import transcript
from keepword.access import Grant, Place, Viewer
from keepword.answers import (
    DeletedMemories,
    Memory,
    MemoryHistory,
    MemoryHit,
    MemoryHits,
    MemoryPage,
)
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import Caller, CallerDep
from keepword.http.memory_schemas import (
    MAX_FOUND,
    AddMemory,
    ChangeMemory,
    DeleteMemories,
    PlaceQuery,
    QueryMemories,
    RateMemory,
    SearchMemories,
    SemanticQuery,
    VersionsQuery,
)
from keepword.http.preconditions import Expected
from keepword.http.problems import documented
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import given, read_moment
from keepword.http.services import Services
from keepword.memories import operations
from keepword.memories.filters import write_filter
from keepword.memories.ports import MemorySelection
from keepword.recall import RecallRequest

router = APIRouter(prefix="/v1", tags=["semantic memories"])

# of the past, so many are compared
_COMPARED = 1_000
_LAST_VERSION = (1 << 31) - 1
# of one call; each is a row, its history and its entry
MAX_DELETED = 1_000

AddBody = Annotated[AddMemory, Depends(JsonBody(AddMemory))]
ChangeBody = Annotated[ChangeMemory, Depends(JsonBody(ChangeMemory))]
QueryBody = Annotated[QueryMemories, Depends(JsonBody(QueryMemories))]
DeleteManyBody = Annotated[DeleteMemories, Depends(JsonBody(DeleteMemories))]
RateBody = Annotated[RateMemory, Depends(JsonBody(RateMemory))]
InPlace = Annotated[PlaceQuery, Query()]
SearchMemoriesDep = Annotated[SearchMemories, Depends(JsonBody(SearchMemories))]

_ADD = {"conversation": "demo", "content": "Ann prefers window seats.", "type": "preference"}
_CHANGE = {"content": "Ann prefers aisle seats."}
_QUERY = {"conversation": "demo", "filters": {"OR": [{"category": "travel"}, {"metadata": {"source": "crm"}}]}}
_DELETE = {"filters": {"user": "ann", "said_at": {"lt": "2024-01-31"}}, "dry_run": True}
_RATE = {"feedback": "negative", "reason": "she moved"}
_SEARCH = {"query": "which seat?", "conversation": "demo", "filter": {"type": ["preference"]}}
_EMPTY: dict[str, Any] = {"metadata": {}, "categories": [], "expires_at": None}
_TAGGED = {"headers": {"ETag": {"description": "the version, quoted", "schema": {"type": "string"}}}}


@router.post(
    "/semantic", status_code=201, response_model=Memory, openapi_extra=takes(AddMemory, _ADD),
    responses={
        200: {"model": Memory, "description": "One that says the same took it up", **_TAGGED}, 201: _TAGGED,
        **documented(400, 404, 409, 413, 415),
    },
)  # fmt: skip
async def add_memory(caller: CallerDep, body: AddBody) -> Response:
    """Keep a memory. What says the same as one that is valid merges with it; what contradicts one supersedes it."""
    services = caller.services
    place, grant = await authorize.in_place_or_tenant(caller, body.conversation)
    if body.project is not None:
        return await _add_to_project(services, caller, body, place, grant)
    if place is None:
        raise NotFound(f"no conversation {body.conversation!r}")
    transcript.require_append(grant, caller.viewer, place)
    user, agent = _from(caller.viewer, place, body)
    draft = _draft(body, user, agent)
    memory = await operations.add(
        services.memories, services.reader, grant, place, draft, services.clock(), caller.name
    )
    return _one(memory[0], 201 if memory[1] else 200)


async def _add_to_project(
    services: Services, caller: Caller, body: AddMemory, place: Place | None, grant: Grant
) -> Response:
    agent = _from(caller.viewer, place, body)[1] if place else body.agent
    draft = _draft(body, None, agent)
    at, by = services.clock(), caller.name
    memory = await operations.add_to_project(
        services.memories, services.reader, grant, body.project or "", draft, at, by
    )  # fmt: skip
    return _one(memory[0], 201 if memory[1] else 200)


def _draft(body: AddMemory, user: str | None, agent: str | None) -> operations.MemoryDraft:
    return operations.MemoryDraft(
        body.content, body.type, body.importance, body.confidence, user, agent, body.sources, body.metadata,
        body.categories, body.expires_at,
    )  # fmt: skip


def _from(viewer: Viewer, place: Place, body: AddMemory) -> tuple[str | None, str]:
    """Return whom a memory is from; only who is in the place can be named."""
    user, agent = body.user or viewer.user or place.user, body.agent or viewer.agent or place.agent
    for what, value, bound in (("user", user, viewer.user), ("agent", agent, viewer.agent)):
        if bound is not None and value != bound:
            raise Forbidden(f"{what} is {value!r}, and this key speaks for {bound!r} alone")
    if user is not None and user not in (place.users if place.kind == "room" else {place.user}):
        raise NotFound(f"no user {user!r} in this conversation")
    if agent != place.agent and agent not in place.agents:
        raise NotFound(f"no agent {agent!r} in this conversation")
    return user, agent


@router.get("/semantic", response_model=MemoryPage, responses=documented(404))
async def list_memories(caller: CallerDep, query: Annotated[SemanticQuery, Query()]) -> Response:
    """List the memories that may be read in a conversation's place, oldest first; without one, all of the tenant."""
    services = caller.services
    _, grant = await authorize.in_place_or_tenant(caller, query.conversation)
    after = parse_time_cursor(query.cursor)
    selection = MemorySelection(
        query.type, query.user, query.agent, caller.calendar.moment(query.as_of), after, query.limit + 1
    )
    return await _page(services, grant, selection)


async def _page(services: Services, grant: Grant, selection: MemorySelection) -> Response:
    """Answer one memory less than the selection asks for, and where the next page begins."""
    memories = await services.memories.select(grant, selection)
    return respond_page(MemoryPage, memories, selection.limit - 1, lambda one: time_cursor(one.valid_from, one.id))


@router.post(
    "/query/semantic", response_model=MemoryPage, openapi_extra=takes(QueryMemories, _QUERY),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def query_memories(caller: CallerDep, body: QueryBody) -> Response:
    """List the memories that pass a tree of filters, page by page; also those that are deleted, if it asks for them."""
    services = caller.services
    _, grant = await authorize.in_place_or_tenant(caller, body.conversation)
    after = parse_time_cursor(body.cursor)
    selection = MemorySelection(after=after, limit=body.limit + 1, filter=_filter(caller, body.filters))
    return await _page(services, grant, selection)


@router.post(
    "/delete/semantic", response_model=DeletedMemories, openapi_extra=takes(DeleteMemories, _DELETE),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def delete_memories(caller: CallerDep, body: DeleteManyBody) -> Response:
    """Delete up to 1,000 memories that pass a tree of filters; call again while `matched` is more than `deleted`."""
    services = caller.services
    place, grant = await authorize.in_place_or_tenant(caller, body.conversation)
    if place is not None:
        transcript.require_append(grant, caller.viewer, place)
    deleted = await services.memories.delete_matching(
        grant, _filter(caller, body.filters), MAX_DELETED, caller.name, dry_run=body.dry_run
    )
    return respond(DeletedMemories, deleted)


def _filter(caller: Caller, tree: dict[str, JsonValue]) -> dict[str, Any]:
    return write_filter(tree, lambda text: caller.calendar.moment(read_moment(text)))


@router.post(
    "/search/semantic", response_model=MemoryHits, openapi_extra=takes(SearchMemories, _SEARCH),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def search_memories(caller: CallerDep, body: SearchMemoriesDep) -> Response:
    """Find memories, best first: those that are valid now, or with `as_of` those that were."""
    services = caller.services
    grant = await _searchable(caller, body)
    if body.as_of is not None:
        selection = MemorySelection(
            None, body.user_id, body.agent_id, caller.calendar.moment(body.as_of), None, _COMPARED
        )
        ranked = operations.rank(await services.memories.select(grant, selection), body.query)
    else:
        ranked = await _search(services, caller, grant, body)
    hits = tuple(MemoryHit(round(score, 4), memory) for score, memory in ranked if body.filter.passes(memory))
    return respond(MemoryHits, MemoryHits(hits[: body.limit]))


async def _searchable(caller: Caller, body: SearchMemories) -> Grant:
    """Return what may be searched: the place's, or an agent's across a user's conversations, or the owner's."""
    viewer = caller.viewer
    agent, user = body.agent_id or viewer.agent, body.user_id or viewer.user
    if body.conversation is not None:
        return (await authorize.in_place_or_tenant(caller, body.conversation))[1]
    if agent is None:
        return authorize.as_owner(caller)
    grant = await authorize.across_sessions(caller, agent, user)
    if grant.is_nothing:
        raise Forbidden("this key may not read that agent's conversations with that user; name a conversation instead")
    return grant


async def _search(
    services: Services, caller: Caller, grant: Grant, body: SearchMemories
) -> list[tuple[float, Memory]]:  # fmt: skip
    search_request = RecallRequest(
        body.query, kinds=("memory",), agent=body.agent_id, user=body.user_id, limit=MAX_FOUND, expand=False,
        zone=caller.key.time_zone,
    )  # fmt: skip
    with services.replica_reads():
        hits = (await services.recall.search(grant, search_request, caller.viewer.user)).results
    memories_by_id = {one.id: one for one in await services.memories.get(grant, [hit.id for hit in hits])}
    if caller.counts_uses:
        services.uses.note(grant, (hit.entry for hit in hits[: body.limit]))
    return [(hit.score, memories_by_id[hit.id]) for hit in hits if hit.id in memories_by_id]


@router.get("/semantic/{memory_id}", response_model=Memory, responses={200: _TAGGED, **documented(404)})
async def get_memory(caller: CallerDep, memory_id: UUID, query: InPlace) -> Response:
    """Read a memory, also one that is no longer valid."""
    _, grant = await authorize.of_memory(caller, memory_id, query.conversation)
    return _one(await operations.get(caller.services.memories, grant, memory_id))


@router.patch(
    "/semantic/{memory_id}", response_model=Memory, openapi_extra=takes(ChangeMemory, _CHANGE),
    responses={200: _TAGGED, **documented(400, 404, 409, 412, 413, 415)},
)  # fmt: skip
async def change_memory(
    caller: CallerDep, memory_id: UUID, body: ChangeBody, query: InPlace, expected: Expected
) -> Response:
    """Change what a memory says; what it said before goes into its history. The messages stay as they are."""
    services = caller.services
    sent = given(body, *ChangeMemory.model_fields)
    # null empties what can be empty, and leaves the rest as it is
    to = {
        name: _EMPTY[name] if value is None else value
        for name, value in sent.items()
        if value is not None or name in _EMPTY
    }
    if not to:
        raise InvalidInput(f"say what to change: {', '.join(ChangeMemory.model_fields)}", "content")
    operations.require_ahead(to.get("expires_at"), services.clock())
    grant = await authorize.to_change_memory(caller, memory_id, query.conversation)
    changed = await operations.change(
        services.memories, services.reader, grant, memory_id, to, expected, caller.name
    )  # fmt: skip
    return _one(changed)


@router.delete(
    "/semantic/{memory_id}", status_code=204, response_class=Response, responses=documented(404, 412)
)  # fmt: skip
async def delete_memory(caller: CallerDep, memory_id: UUID, query: InPlace, expected: Expected) -> None:
    """Delete a memory; its history and the messages that it came from stay."""
    grant = await authorize.to_change_memory(caller, memory_id, query.conversation)
    await operations.delete(caller.services.memories, grant, memory_id, expected, caller.name)


@router.post(
    "/semantic/{memory_id}/restore", response_model=Memory, responses={200: _TAGGED, **documented(404, 409, 412)}
)  # fmt: skip
async def restore_memory(caller: CallerDep, memory_id: UUID, query: InPlace, expected: Expected) -> Response:
    """Bring a deleted memory back as it was."""
    services = caller.services
    grant = await authorize.to_change_memory(caller, memory_id, query.conversation, deleted=True)
    return _one(await operations.restore(services.memories, services.reader, grant, memory_id, expected, caller.name))


@router.put(
    "/semantic/{memory_id}/feedback", response_model=Memory, openapi_extra=takes(RateMemory, _RATE),
    responses={200: _TAGGED, **documented(400, 404, 413, 415)},
)  # fmt: skip
async def rate_memory(caller: CallerDep, memory_id: UUID, body: RateBody, query: InPlace) -> Response:
    """Say what a memory was worth, and why. The last word stands, its history has all of them."""
    services = caller.services
    grant = await authorize.to_change_memory(caller, memory_id, query.conversation)
    return _one(await operations.rate(services.memories, grant, memory_id, body.feedback, body.reason, caller.name))


@router.get("/semantic/{memory_id}/history", response_model=MemoryHistory, responses=documented(404))
async def read_history(caller: CallerDep, memory_id: UUID, query: Annotated[VersionsQuery, Query()]) -> Response:
    """Read all that happened to a memory, newest first; a deleted one has a history too."""
    _, grant = await authorize.of_memory(caller, memory_id, query.conversation)
    before = int(query.cursor) if query.cursor else _LAST_VERSION
    versions = await caller.services.memories.history(grant, memory_id, before, query.limit + 1)
    if not versions and query.cursor is None:
        raise operations.absent(memory_id)
    return respond_page(MemoryHistory, versions, query.limit, lambda one: str(one.version))


def _one(memory: Memory, status: int = 200) -> Response:
    answer = respond(Memory, memory, status)
    answer.headers["ETag"] = f'"{memory.version}"'
    return answer
