"""Memories, extracted or told by callers."""

import base64
import binascii
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from keepword import transcript
from keepword.access import Grant, Place, Viewer, WholeTenant, grant
from keepword.answers import Memory, MemoryHistory, MemoryHit, MemoryHits, MemoryPage, MemoryType
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.http.answers import look_across, look_in, own
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.preconditions import Expected
from keepword.http.problems import documented
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import Body, Moment, Name, Slug, given
from keepword.http.services import Services
from keepword.memories import operations
from keepword.memories.ports import MemorySelection
from keepword.recall.search import RecallRequest as SearchRequest
from keepword.transcript.page import MAX_LIMIT

router = APIRouter(prefix="/v1", tags=["semantic memories"])

MAX_QUERY_CHARS = 4_000
# of a search, so many are looked at before what a filter leaves out is left out
_LOOKED_AT = 50
# of the past, so many are compared
_COMPARED = 1_000
_LAST_VERSION = (1 << 31) - 1
Share = Annotated[float, Field(ge=0, le=1)]


def _query(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; to read in time order, list instead")
    if len(text) > MAX_QUERY_CHARS:
        raise ValueError(f"has {len(text)} characters; at most {MAX_QUERY_CHARS}")
    return text


class AddMemory(Body):
    """A memory to keep in a conversation's place, or of a project: then in all of the project's places."""

    conversation: Name | None = Field(
        None, description="in whose place; with a project, an unbound admin may leave it out"
    )
    project: Name | None = Field(None, description="keep it for this project, as project:<id>, shared, of no user")
    content: str = Field(description="one sentence that can be understood alone, up to 8 KiB")
    type: MemoryType = "fact"
    importance: Share | None = Field(None, description="default: as its type says")
    confidence: Share = 1.0
    user: Name | None = Field(None, description="whom it is from; default: the conversation's user")
    agent: Slug | None = Field(None, description="default: the conversation's agent")
    sources: list[UUID] = Field(default_factory=list, max_length=100, description="the messages that it comes from")

    @model_validator(mode="after")
    def _belongs_somewhere(self) -> "AddMemory":
        if self.conversation is None and self.project is None:
            raise ValueError("say where it belongs, with conversation or project")
        if self.project is not None and (self.user is not None or self.sources):
            raise ValueError("a project's memory is of no user and has no sources; leave out user and sources")
        return self


class ChangeMemory(Body):
    content: str | None = None
    type: MemoryType | None = None
    importance: Share | None = None
    confidence: Share | None = None


class MemoryFilter(Body):
    run_id: str | Annotated[list[str], Field(min_length=1, max_length=100)] | None = Field(
        None, description="only of this place, or of these"
    )
    type: list[MemoryType] | None = Field(None, min_length=1, max_length=6)

    def passes(self, memory: Memory) -> bool:
        run_ids = [self.run_id] if isinstance(self.run_id, str) else self.run_id
        return (self.type is None or memory.type in self.type) and (run_ids is None or memory.run_id in run_ids)


class SearchMemories(Body):
    """What to look for. Without a conversation: what this agent knows of this user, across their conversations."""

    query: Annotated[str, AfterValidator(_query)]
    user_id: Name | None = None
    agent_id: Slug | None = None
    filter: MemoryFilter = Field(default_factory=MemoryFilter)
    conversation: Name | None = Field(None, description="in whose place to search")
    as_of: Moment | None = Field(None, description="what was valid then, by its words alone")
    limit: int = Field(10, ge=1, le=_LOOKED_AT)


class SemanticQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(None, description="in whose place to read; an unbound admin may leave it out")
    type: MemoryType | None = None
    user: Name | None = Field(None, description="only what is from this user")
    agent: Slug | None = None
    as_of: Moment | None = Field(None, description="what was valid then; default: what is valid now")
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, min_length=1, max_length=100, description="a page's next")


class PlaceQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(
        None, description="in whose place; a project's memory needs one, unless an unbound admin asks"
    )


class VersionsQuery(PlaceQuery):
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")] | None = Field(None, description="a page's next")


AddBody = Annotated[AddMemory, Depends(JsonBody(AddMemory))]
ChangeBody = Annotated[ChangeMemory, Depends(JsonBody(ChangeMemory))]
InPlace = Annotated[PlaceQuery, Query()]
SearchMemoriesDep = Annotated[SearchMemories, Depends(JsonBody(SearchMemories))]

_ADD = {"conversation": "demo", "content": "Ann prefers window seats.", "type": "preference"}
_CHANGE = {"content": "Ann prefers aisle seats."}
_SEARCH = {"query": "which seat?", "conversation": "demo", "filter": {"type": ["preference"]}}
_TAGGED = {"headers": {"ETag": {"description": "the version, quoted", "schema": {"type": "string"}}}}


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


@router.post(
    "/semantic", status_code=201, response_model=Memory, openapi_extra=takes(AddMemory, _ADD),
    responses={
        200: {"model": Memory, "description": "One that says the same took it up", **_TAGGED}, 201: _TAGGED,
        **documented(400, 404, 409, 413, 415),
    },
)  # fmt: skip
async def add_memory(request: Request, caller: CallerDep, body: AddBody) -> Response:
    """Keep a memory. What says the same as one that is valid merges with it; what contradicts one supersedes it."""
    services = _services(request)
    place, opened = await look_in(services, caller, body.conversation)
    if body.project is not None:
        return await _add_to_project(services, caller, body, place, opened)
    if place is None:
        raise NotFound(f"no conversation {body.conversation!r}")
    transcript.require_append(opened, caller.viewer, place)
    user, agent = _from(caller.viewer, place, body)
    draft = operations.MemoryDraft(body.content, body.type, body.importance, body.confidence, user, agent, body.sources)
    memory = await operations.add(
        services.memories, services.reader, opened, place, draft, services.clock(), _who(caller)
    )
    return _one(memory[0], 201 if memory[1] else 200)


async def _add_to_project(
    services: Services, caller: Caller, body: AddMemory, place: Place | None, opened: Grant
) -> Response:
    agent = _from(caller.viewer, place, body)[1] if place else body.agent
    draft = operations.MemoryDraft(body.content, body.type, body.importance, body.confidence, None, agent)
    at, by = services.clock(), _who(caller)
    memory = await operations.add_to_project(
        services.memories, services.reader, opened, body.project or "", draft, at, by
    )  # fmt: skip
    return _one(memory[0], 201 if memory[1] else 200)


def _from(viewer: Viewer, place: Place, body: AddMemory) -> tuple[str | None, str]:
    """Return whom a memory is from; only who is in the place can be named."""
    user, agent = body.user or viewer.user or place.user, body.agent or viewer.agent or place.agent
    for what, said, bound in (("user", user, viewer.user), ("agent", agent, viewer.agent)):
        if bound is not None and said != bound:
            raise Forbidden(f"{what} is {said!r}, and this key speaks for {bound!r} alone")
    if user is not None and user not in (place.users if place.kind == "room" else {place.user}):
        raise NotFound(f"no user {user!r} in this conversation")
    if agent != place.agent and agent not in place.agents:
        raise NotFound(f"no agent {agent!r} in this conversation")
    return user, agent


@router.get("/semantic", response_model=MemoryPage, responses=documented(404))
async def list_memories(request: Request, caller: CallerDep, query: Annotated[SemanticQuery, Query()]) -> Response:
    """List the memories that may be read in a conversation's place, oldest first; without one, all of the tenant."""
    services = _services(request)
    _, opened = await look_in(services, caller, query.conversation)
    after = _parse_cursor(query.cursor) if query.cursor else None
    selection = MemorySelection(
        query.type, query.user, query.agent, services.recall.moment(query.as_of), after, query.limit + 1
    )
    memories = await services.memories.select(opened, selection)
    return respond_page(MemoryPage, memories, query.limit, _cursor)


@router.post(
    "/search/semantic", response_model=MemoryHits, openapi_extra=takes(SearchMemories, _SEARCH),
    responses=documented(400, 404, 413, 415),
)  # fmt: skip
async def search_memories(request: Request, caller: CallerDep, body: SearchMemoriesDep) -> Response:
    """Find memories, best first: those that are valid now, or with `as_of` those that were."""
    services = _services(request)
    opened = await _scope(services, caller, body)
    if body.as_of is not None:
        selection = MemorySelection(
            None, body.user_id, body.agent_id, services.recall.moment(body.as_of), None, _COMPARED
        )
        ranked = operations.rank(await services.memories.select(opened, selection), body.query)
    else:
        ranked = await _search(services, caller, opened, body)
    hits = tuple(MemoryHit(round(score, 4), memory) for score, memory in ranked if body.filter.passes(memory))
    return respond(MemoryHits, MemoryHits(hits[: body.limit]))


async def _scope(services: Services, caller: Caller, body: SearchMemories) -> Grant:
    """Return what may be searched: the place's, or an agent's across a user's conversations, or the owner's."""
    viewer = caller.viewer
    agent, user = body.agent_id or viewer.agent, body.user_id or viewer.user
    if body.conversation is not None:
        return (await look_in(services, caller, body.conversation))[1]
    if agent is None:
        return own(viewer)
    opened = await look_across(services, viewer, agent, user)
    if opened.is_nothing:
        raise Forbidden("this key may not read that agent's conversations with that user; name a conversation instead")
    return opened


async def _search(
    services: Services, caller: Caller, opened: Grant, body: SearchMemories
) -> list[tuple[float, Memory]]:  # fmt: skip
    search_request = SearchRequest(
        body.query, kinds=("memory",), agent=body.agent_id, user=body.user_id, limit=_LOOKED_AT, expand=False
    )  # fmt: skip
    hits = (await services.recall.search(opened, search_request, caller.viewer.user)).results
    known = {one.id: one for one in await services.memories.get(opened, [hit.id for hit in hits])}
    if caller.key.role == "agent" or caller.viewer.agent is not None:
        services.uses.note(opened, (hit.entry for hit in hits[: body.limit]))
    return [(hit.score, known[hit.id]) for hit in hits if hit.id in known]


@router.get("/semantic/{memory_id}", response_model=Memory, responses={200: _TAGGED, **documented(404)})
async def get_memory(request: Request, caller: CallerDep, memory_id: UUID, query: InPlace) -> Response:
    """Read a memory, also one that is no longer valid."""
    services = _services(request)
    _, opened = await _derived(services, caller.viewer, memory_id, query.conversation)
    return _one(await operations.get(services.memories, opened, memory_id))


@router.patch(
    "/semantic/{memory_id}", response_model=Memory, openapi_extra=takes(ChangeMemory, _CHANGE),
    responses={200: _TAGGED, **documented(400, 404, 409, 412, 413, 415)},
)  # fmt: skip
async def change_memory(
    request: Request, caller: CallerDep, memory_id: UUID, body: ChangeBody, query: InPlace, expected: Expected
) -> Response:
    """Change what a memory says; what it said before goes into its history. The messages stay as they are."""
    services = _services(request)
    sent = given(body, *ChangeMemory.model_fields)
    to = {name: value for name, value in sent.items() if value is not None}
    if not to:
        raise InvalidInput("say what to change: content, type, importance or confidence", "content")
    opened = await _writable(services, caller.viewer, memory_id, query.conversation)
    changed = await operations.change(
        services.memories, services.reader, opened, memory_id, to, expected, _who(caller)
    )  # fmt: skip
    return _one(changed)


@router.delete(
    "/semantic/{memory_id}", status_code=204, response_class=Response, responses=documented(404, 412)
)  # fmt: skip
async def delete_memory(
    request: Request, caller: CallerDep, memory_id: UUID, query: InPlace, expected: Expected
) -> None:
    """Delete a memory; its history and the messages that it came from stay."""
    services = _services(request)
    opened = await _writable(services, caller.viewer, memory_id, query.conversation)
    await operations.delete(services.memories, opened, memory_id, expected, _who(caller))


@router.get("/semantic/{memory_id}/history", response_model=MemoryHistory, responses=documented(404))
async def read_history(
    request: Request, caller: CallerDep, memory_id: UUID, query: Annotated[VersionsQuery, Query()]
) -> Response:
    """Read all that happened to a memory, newest first; a deleted one has a history too."""
    services = _services(request)
    _, opened = await _derived(services, caller.viewer, memory_id, query.conversation)
    before = int(query.cursor) if query.cursor else _LAST_VERSION
    versions = await services.memories.history(opened, memory_id, before, query.limit + 1)
    if not versions and query.cursor is None:
        raise operations.absent(memory_id)
    return respond_page(MemoryHistory, versions, query.limit, lambda one: str(one.version))


async def _derived(
    services: Services, viewer: Viewer, memory_id: UUID, conversation: str | None
) -> tuple[Place | None, Grant]:
    """Return the place that a memory belongs to, and what may be read there; absent and forbidden look the same.

    A project's memory belongs to no conversation: it is read in the place of the one that is named, or by the owner.
    """
    its_own = await services.lookup.derived(viewer.tenant_id, memory_id)
    named = its_own if its_own is not None else conversation
    place = await services.lookup.place(viewer.tenant_id, named) if named is not None else None
    opened = grant(viewer, WholeTenant() if named is None else place)
    if opened.is_nothing:
        raise operations.absent(memory_id)
    return place if its_own is not None else None, opened


async def _writable(services: Services, viewer: Viewer, memory_id: UUID, conversation: str | None) -> Grant:
    """Return the grant that a memory may be changed under, or refuse."""
    place, opened = await _derived(services, viewer, memory_id, conversation)
    if place is not None:
        transcript.require_append(opened, viewer, place)
        return opened
    memory = await operations.get(services.memories, opened, memory_id)
    if not opened.lets_share(memory.run_id):
        raise operations.not_shared(memory.run_id)
    return opened


def _who(caller: Caller) -> str | None:
    return caller.viewer.user or caller.viewer.agent or caller.key.id


def _one(memory: Memory, status: int = 200) -> Response:
    answer = respond(Memory, memory, status)
    answer.headers["ETag"] = f'"{memory.version}"'
    return answer


def _cursor(last: Memory) -> str:
    return base64.urlsafe_b64encode(f"{last.valid_from.isoformat()} {last.id}".encode()).decode().rstrip("=")


def _parse_cursor(text: str) -> tuple[datetime, UUID]:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
        time, _, id_ = raw.partition(" ")
        return datetime.fromisoformat(time).astimezone(UTC), UUID(id_)
    except (binascii.Error, ValueError, OverflowError) as exc:
        raise InvalidInput(f"{text[:80]!r} is not a cursor; use one from a page's next", "cursor") from exc
