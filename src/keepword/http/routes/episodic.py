"""Summaries and landmarks, and AEGIS' own paths of episodic memory."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator
from pydantic_core import to_json

from keepword import access, recall, transcript
from keepword.access import Grant, Place, narrow_viewer
from keepword.answers import (
    Landmark,
    LandmarkKind,
    LandmarkPage,
    MadeSummaries,
    Summary,
    SummaryNode,
    SummaryTree,
    SummaryWithSources,
)
from keepword.compaction import landmarks
from keepword.compaction.ports import AgentSummary
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.responses import as_json, require, respond, respond_page
from keepword.http.schemas import Body, Name, PathName, Slug, bounded_query
from keepword.http.services import Services
from keepword.ids import new_id
from keepword.transcript import NewConversation
from keepword.transcript.page import MAX_LIMIT

router = APIRouter()

MAX_SUMMARY_BYTES = 64 * 1024
MAX_SEQ = (1 << 63) - 1


def _bounded(value: Any) -> Any:
    if len(to_json(value)) > MAX_SUMMARY_BYTES:
        raise ValueError(f"has {len(to_json(value))} bytes as JSON; at most {MAX_SUMMARY_BYTES}")
    return value


def _details(value: Any) -> Any:
    if value is not None and not isinstance(value, list | dict):
        raise ValueError("must be a list, an object or null")
    return _bounded(value)


def _summary(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; a summary says something")
    if (size := len(text.encode())) > MAX_SUMMARY_BYTES:
        raise ValueError(f"has {size} bytes; at most {MAX_SUMMARY_BYTES}")
    return text


# as JSON may be in AEGIS' table, which knows null; checked by hand, so that an error names the field alone
Details = list[JsonValue] | dict[str, JsonValue] | None
_DETAILS = {"anyOf": [{"type": "array", "items": {}}, {"type": "object"}, {"type": "null"}]}
GivenDetails = Annotated[Any, AfterValidator(_details), WithJsonSchema(_DETAILS)]


class PinLandmark(Body):
    """Pin a part of a message word for word, or without `text` all of it."""

    conversation: Name
    message: UUID | None = Field(None, description="the message's id")
    seq: int | None = Field(None, ge=1, le=MAX_SEQ, description="instead of its id: the message's number")
    kind: LandmarkKind = "pin"
    text: str | None = Field(None, description="a part of the message's content")

    @model_validator(mode="after")
    def _names_one(self) -> "PinLandmark":
        if (self.message is None) == (self.seq is None):
            raise ValueError("name the message, by message or by seq")
        return self


class StoreSummary(Body):
    """A conversation summary, as AEGIS' clients send it."""

    agent_id: Slug
    conversation_id: Name
    summary: Annotated[str, AfterValidator(_summary)]
    user_id: Name | None = None
    key_decisions: GivenDetails = Field(default_factory=list)
    entities_mentioned: GivenDetails = Field(default_factory=list)
    tools_called: GivenDetails = Field(default_factory=list)


class SearchEpisodes(Body):
    """What to look for in an agent's past conversations, as AEGIS' clients ask."""

    agent_id: Slug
    query: Annotated[str, AfterValidator(bounded_query)]
    user_id: Name | None = Field(None, description="in this user's conversations; without it, an admin's key is needed")
    top_k: int = Field(3, ge=1, le=20)


class LandmarkQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(None, description="whose place to read in; an unbound admin may leave it out")
    kind: LandmarkKind | None = None
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, min_length=1, max_length=100, description="a page's next")


class SourcesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    cursor: str | None = Field(None, min_length=1, max_length=100, description="an answer's next")


class Episode(BaseModel):
    """A summary in AEGIS' words."""

    id: UUID
    agent_id: str
    user_id: str | None
    conversation_id: str
    summary: str
    key_decisions: Details
    entities_mentioned: Details
    tools_called: Details
    created_at: datetime


class Episodes(BaseModel):
    memories: list[Episode]


class FoundEpisode(Episode):
    similarity: float = Field(description="how near it comes to the query in meaning, up to 1")


class FoundEpisodes(BaseModel):
    memories: list[FoundEpisode]


class EpisodeStored(BaseModel):
    id: UUID
    conversation_id: str


PinBody = Annotated[PinLandmark, Depends(JsonBody(PinLandmark))]
SearchBody = Annotated[SearchEpisodes, Depends(JsonBody(SearchEpisodes))]
StoreBody = Annotated[StoreSummary, Depends(JsonBody(StoreSummary))]

_BODY_PROBLEMS = (400, 404, 409, 413, 415)
_PIN = {"conversation": "demo", "message": "01a1df68-feaf-73fb-bab9-37a110e7501c", "kind": "decision"}
_SEARCH = {"agent_id": "helper", "query": "What did we file for Mitchell Ranch?", "user_id": "ann", "top_k": 3}
_STORE = {"agent_id": "helper", "conversation_id": "demo", "summary": "Filed the exception for Mitchell Ranch 2H."}


@router.get("/v1/landmarks", tags=["landmarks"], response_model=LandmarkPage, responses=documented(404))
async def list_landmarks(caller: CallerDep, query: Annotated[LandmarkQuery, Query()]) -> Response:
    """List what is pinned in all that may be read in a conversation's place, oldest first; without one, everywhere."""
    _, grant = await authorize.in_place_or_tenant(caller, query.conversation)
    after = parse_time_cursor(query.cursor)
    stored = await caller.services.landmarks.list(grant, query.kind, after, query.limit + 1)
    return respond_page(
        LandmarkPage, stored, query.limit, lambda one: time_cursor(one.created_at, one.id), lambda one: len(one.text)
    )


@router.post(
    "/v1/landmarks", tags=["landmarks"], status_code=201, response_model=Landmark,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(PinLandmark, _PIN),
)  # fmt: skip
async def pin_landmark(caller: CallerDep, body: PinBody) -> Response:
    """Pin something that was said, word for word."""
    services = caller.services
    if body.text is not None:
        landmarks.check_text(body.text)
    place, grant = await authorize.in_place(caller, body.conversation)
    transcript.require_append(grant, caller.viewer, place)
    message = body.message or await _numbered(services, grant, place, body.seq or 0)
    outcome = "no message"
    if message is not None:
        id_, outcome = await services.landmarks.pin(grant, place, message, body.kind, body.text, caller.name)
    if outcome == "no message":
        raise NotFound(f"no message {body.message or body.seq} in conversation {body.conversation!r}")
    if outcome in {"no words", "other words"}:
        raise InvalidInput("text must be a part of the message's content, word for word", "text")
    if outcome == "pinned before":
        raise Conflict(f"the message has a landmark of the kind {body.kind!r} already; unpin that one first")
    return respond(Landmark, require(await services.landmarks.get(grant, id_), f"no landmark {id_}"), 201)


async def _numbered(services: Services, grant: Grant, place: Place, seq: int) -> UUID | None:
    if place.conversation_id is None:
        return None
    messages = await services.summaries.messages(grant, place.conversation_id, seq, seq)
    return messages[0].id if messages else None


@router.delete(
    "/v1/landmarks/{landmark_id}", tags=["landmarks"], status_code=204, response_class=Response,
    responses=documented(404),
)  # fmt: skip
async def unpin_landmark(caller: CallerDep, landmark_id: UUID) -> None:
    """Unpin it. Who did and when is kept, and the same words of that message are not found again by themselves."""
    place, grant = await authorize.of_derived(caller, landmark_id, "landmark")
    transcript.require_append(grant, caller.viewer, place)
    if not await caller.services.landmarks.unpin(grant, landmark_id, caller.name):
        raise NotFound(f"no landmark {landmark_id}")


@router.get(
    "/v1/summaries/{summary_id}", tags=["summaries"], response_model=SummaryWithSources, responses=documented(404)
)
async def get_summary(caller: CallerDep, summary_id: UUID, query: Annotated[SourcesQuery, Query()]) -> Response:
    """Read a summary and climb down one level: the summaries that it was made from, or a leaf's messages.

    `next` leads to more messages where they are too large for one answer.
    """
    services = caller.services
    place, grant = await authorize.of_derived(caller, summary_id, "summary")
    grant = grant.only(place.run_id)
    summary = require(await services.summaries.get(grant, summary_id), f"no summary {summary_id}")
    children = await services.summaries.children(grant, summary_id)
    after = transcript.parse_cursor(query.cursor)[1] if query.cursor else None
    part = await services.summaries.sources(grant, summary_id, after)
    following = transcript.cursor_after(part.messages[-1]) if part.is_cut else None
    return respond(SummaryWithSources, SummaryWithSources(summary, tuple(children), tuple(part.messages), following))


@router.get(
    "/v1/conversations/{external_id}/summaries", tags=["summaries"], response_model=SummaryTree,
    responses=documented(404),
)  # fmt: skip
async def list_summaries(caller: CallerDep, external_id: PathName) -> Response:
    """Read a conversation's summaries as trees, in order; what no parent has taken yet stands beside them."""
    place, grant = authorize.in_conversation(caller, external_id)
    summaries = await caller.services.summaries.tree(grant, place)
    return respond(SummaryTree, SummaryTree(_tree(summaries)))


@router.post(
    "/v1/conversations/{external_id}/summaries", tags=["summaries"], response_model=MadeSummaries,
    responses=documented(404),
)  # fmt: skip
async def make_summaries(caller: CallerDep, external_id: PathName) -> Response:
    """Summarise now what has no summary yet, the last messages included, and read the conversation's summaries.

    One call takes up to ten segments; call again while `left` messages have none. A model that takes longer than 20 s
    is not waited for: what is quoted meanwhile is written again in the background.
    """
    services = caller.services
    place, grant = authorize.in_conversation(caller, external_id)
    transcript.require_append(grant, caller.viewer, place)
    left = await services.composer.inline.compact_now(grant, place, services.clock()) if services.composer.inline else 0
    summaries = await services.summaries.tree(grant, place)
    return respond(MadeSummaries, MadeSummaries(_tree(summaries), left))


@router.post(
    "/episodic/store", tags=["episodic memory"], status_code=201, response_model=EpisodeStored,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(StoreSummary, _STORE),
)  # fmt: skip
async def store_episode(caller: CallerDep, body: StoreBody) -> Response:
    """Store a summary that the agent wrote; a conversation that nobody announced becomes a session of both."""
    services = caller.services
    viewer = narrow_viewer(caller.viewer, body.agent_id, body.user_id)
    authorize.require_agent(caller, body.agent_id)
    place = await _assigned(services, caller, body)
    grant = access.grant(viewer, place)
    if grant.is_nothing:
        raise Conflict(_of_another(place, body))
    transcript.require_append(grant, viewer, place)
    agent_summary = AgentSummary(
        new_id(), body.summary, body.key_decisions, body.entities_mentioned, body.tools_called,
        body.agent_id, viewer.user, services.clock(),
    )  # fmt: skip
    if not await services.summaries.tell(grant, place, agent_summary):
        raise NotFound(f"no conversation {body.conversation_id!r}")
    return as_json(to_json({"id": agent_summary.id, "conversation_id": place.external_id}), 201)


async def _assigned(services: Services, caller: Caller, body: StoreSummary) -> Place:
    """Return the conversation of a body: made, or given the agent and the user that nobody named before."""
    viewer, stores = caller.viewer, (services.lookup, services.conversations)
    new_conversation = NewConversation(user=body.user_id, agent=body.agent_id, unannounced=True)
    existing = await services.lookup.place(viewer.tenant_id, body.conversation_id)
    if existing is None:
        await transcript.put(*stores, viewer, body.conversation_id, new_conversation, caller.key.id)
    else:
        transcript.require_entry(viewer, existing, body.conversation_id)
        transcript.require_named(viewer, existing, caller.key.id, body.agent_id, body.user_id)
    # what was found with the key may be older than what was just made
    place, _ = await authorize.in_place(caller._replace(conversation=None), body.conversation_id)
    return await transcript.assign(*stores, viewer, place, new_conversation, caller.key.id)


def _of_another(place: Place, body: StoreSummary) -> str:
    """Say whose the conversation is, to somebody who may read it."""
    who = f"the agent {body.agent_id!r}" + (f" and the user {body.user_id!r}" if body.user_id else "")
    if place.kind == "room":
        return f"conversation {place.external_id!r} is in the room {place.room!r}, which {who} did not join"
    return (
        f"conversation {place.external_id!r} can't be given {who}: it has the agent {place.agent!r} and the user "
        f"{place.user!r}, which are named once; store under another conversation_id"
    )


@router.post(
    "/episodic/search", tags=["episodic memory"], response_model=FoundEpisodes,
    responses=documented(400, 404, 413, 415), openapi_extra=takes(SearchEpisodes, _SEARCH),
)  # fmt: skip
async def search_episodes(caller: CallerDep, body: SearchBody) -> Response:
    """Find the summaries of an agent's past conversations that come nearest in meaning, best first.

    Of what Keepword made of a conversation only the best is told, of what was stored all.
    """
    services = caller.services
    grant = await authorize.across_sessions(caller, body.agent_id, body.user_id)
    if not grant.visibilities:
        raise Forbidden(_acting_for_others(caller, body))
    search_request = recall.RecallRequest(
        body.query, "meaning", kinds=("summary",), limit=recall.MAX_LIMIT, expand=False
    )
    with services.replica_reads():
        hits = (await services.recall.search(grant, search_request, body.user_id)).results
    memories: dict[tuple[str, UUID | None], dict[str, Any]] = {}
    for hit in hits:
        summary = await services.summaries.get(grant, hit.id) if len(memories) < body.top_k else None
        if summary is not None:
            key = (summary.conversation, summary.id if summary.tier == "stored" else None)
            memories.setdefault(key, _episode(summary) | {"similarity": hit.similarity})
    if caller.counts_uses:
        shown_ids = {memory["id"] for memory in memories.values()}
        services.uses.note(grant, (hit.entry for hit in hits if hit.id in shown_ids))
    return as_json(to_json({"memories": list(memories.values())}))


def _acting_for_others(caller: Caller, body: SearchEpisodes) -> str:
    if body.user_id is None and (caller.viewer.role != "admin" or caller.viewer.user is not None):
        return (
            "without user_id this reads all users' conversations and needs an admin key bound to no user; send user_id"
        )
    return f"this key can't read for the agent {body.agent_id!r} and the user {body.user_id!r}: it acts for another"


@router.get("/episodic/{conversation_id}", tags=["episodic memory"], response_model=Episodes, responses=documented())
async def list_episodes(caller: CallerDep, conversation_id: PathName) -> Response:
    """Read a conversation's summaries, those that were stored and then those that Keepword made, oldest first."""
    try:
        place, grant = authorize.in_conversation(caller, conversation_id)
    except NotFound:
        return as_json(b'{"memories":[]}')  # AEGIS' clients announce no conversation: an unknown one is empty
    store = caller.services.summaries
    summaries = [*await store.told(grant, place), *await store.tree(grant, place)]
    return as_json(to_json({"memories": [_episode(summary) for summary in summaries]}))


def _tree(summaries: Sequence[Summary]) -> tuple[SummaryNode, ...]:
    known = {one.id for one in summaries}
    by_parent: dict[UUID | None, list[Summary]] = {}
    for one in summaries:
        by_parent.setdefault(one.parent if one.parent in known else None, []).append(one)

    def below(parent: UUID | None) -> tuple[SummaryNode, ...]:
        return tuple(SummaryNode(one, below(one.id)) for one in by_parent.get(parent, ()))

    return below(None)


def _episode(summary: Summary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "agent_id": summary.agent,
        "user_id": summary.user,
        "conversation_id": summary.conversation,
        "summary": summary.content,
        "key_decisions": summary.key_decisions,
        "entities_mentioned": summary.entities_mentioned,
        "tools_called": summary.tools_called,
        "created_at": summary.created_at,
    }
