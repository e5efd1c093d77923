"""Conversations and their messages."""

from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic_core import from_json, to_json

from keepword import transcript
from keepword.access import is_owner
from keepword.answers import ConversationPage, MessagePage, Receipts
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.http import authorize, memory_queries, queries, schemas
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.quotas import within_quota
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import NewMessage, NewMessages, PatchConversation, PathName, PutConversation, given
from keepword.http.services import Services
from keepword.http.slots import pass_gate
from keepword.model import Conversation, Draft
from keepword.transcript import NewConversation

router = APIRouter(prefix="/v1/conversations", tags=["conversations"])
browsing = APIRouter(prefix="/v1/browse", tags=["conversations"])

_FIELDS = ("channel", "channel_id", "bot_identity", "title", "settings", "active", "reach")
_EXAMPLE = {"agent": "helper", "title": "Planning the trip", "channel": "slack"}
_PUT_IT = "; make it first, with PUT /v1/conversations/{external_id} (in Python: conversations.put)"
# larger bodies take a tenth of a second and more, up to many seconds
LARGE_BYTES = 256 * 1024
_BUSY = "other large batches of messages are being stored, and few may be at once; nothing was stored, try again later"
_MESSAGE = {"role": "user", "content": "We fly on Friday.", "event_id": "msg-1"}

_one_message: JsonBody[NewMessage] = JsonBody(NewMessage)
_many_messages: JsonBody[list[NewMessage]] = JsonBody(list[NewMessage])
_wrapped_messages: JsonBody[NewMessages] = JsonBody(NewMessages)


PutBody = Annotated[PutConversation, Depends(JsonBody(PutConversation))]
PatchBody = Annotated[PatchConversation, Depends(JsonBody(PatchConversation))]


@router.get("", response_model=ConversationPage, responses=documented())
async def list_conversations(caller: CallerDep, query: Annotated[queries.ListQuery, Query()]) -> Response:
    """List conversations, oldest first: all of the tenant for an unbound admin, else those of the agent or user."""
    grant = await authorize.to_list(caller)
    after = parse_time_cursor(query.cursor)
    conversations = list(await caller.services.conversations.list(grant, after, query.limit + 1))
    return respond_page(
        ConversationPage, conversations, query.limit, lambda one: time_cursor(one.created_at, one.id), _size
    )


@router.put(
    "/{external_id}",
    response_model=Conversation,
    responses={
        201: {"model": Conversation, "description": "It was made"},
        **documented(400, 404, 409, 413, 415),
    },
    openapi_extra=takes(PutConversation, _EXAMPLE),
)
async def put_conversation(caller: CallerDep, external_id: PathName, body: PutBody) -> Response:
    """Make the conversation, or update what is given. Repeating it is safe.

    A session that has no user yet may be given one, once. A second direct conversation of the same two is the first one
    under a further name: `external_id` says which, `alias` is the name that was asked for.
    """
    services = caller.services
    new_conversation = NewConversation(body.kind, body.user, body.agent, body.room, body.project, given(body, *_FIELDS))
    conversation, is_new = await transcript.put(
        services.lookup, services.conversations, caller.viewer, external_id, new_conversation, caller.key.id
    )
    return respond(Conversation, conversation, 201 if is_new else 200)


@router.get("/{external_id}", response_model=Conversation, responses=documented(404))
async def get_conversation(caller: CallerDep, external_id: PathName) -> Response:
    place, grant = authorize.in_conversation(caller, external_id)
    conversation = await caller.services.conversations.get(grant.only(place.run_id), place.external_id)
    if conversation is None:
        raise NotFound(f"no conversation {external_id!r}")
    return respond(Conversation, replace(conversation, alias=place.alias))


@router.patch(
    "/{external_id}",
    response_model=Conversation,
    responses=documented(400, 404, 413, 415),
    openapi_extra=takes(PatchConversation, {"title": "A better title", "active": False}),
)
async def patch_conversation(caller: CallerDep, external_id: PathName, body: PatchBody) -> Response:
    """Change title, settings (as a whole), active or a session's reach; what is not given stays."""
    place, _ = authorize.in_conversation(caller, external_id)
    changes = given(body, "title", "settings", "active", "reach")
    conversation = await transcript.change(caller.services.conversations, caller.viewer, place, changes)
    return respond(Conversation, conversation)


@router.post(
    "/{external_id}/messages",
    response_model=Receipts,
    status_code=201,
    responses={
        200: {"model": Receipts, "description": "All of it was stored before"},
        **documented(400, 404, 409, 413, 415, 429),
    },
    openapi_extra=takes(NewMessage, _MESSAGE, many=True),
)
async def append_messages(
    request: Request, caller: CallerDep, external_id: PathName, query: Annotated[schemas.AppendQuery, Query()]
) -> Response:
    """Append one message, a list of up to 1,000 or `{"messages": [...]}`: all or nothing. 201: they are on disk.

    Messages may be those of an OpenAI or Anthropic call as they are. The answer has one receipt for each; of a message
    with several tool calls or results, that of the first one stored.
    """
    services = caller.services
    if query.is_import and not is_owner(caller.viewer):
        raise Forbidden("import is for an admin's key that is bound to no agent and no user")
    latest = None if query.is_import else services.clock()
    raw = await _one_message.read(request)
    if len(raw) <= LARGE_BYTES:
        return await _append(services, caller, external_id, raw, latest)
    async with pass_gate(services.large_gate, caller.key, _BUSY):
        return await _append(services, caller, external_id, raw, latest)


async def _append(services: Services, caller: Caller, external_id: str, raw: bytes, now: datetime | None) -> Response:
    """Append what the body has; `now` None takes any time."""
    each = _drafts(raw)
    drafts = transcript.name_results([draft for of_one in each for draft in of_one])
    if now is not None:
        transcript.require_said(drafts, now)
    place, grant = authorize.in_conversation(caller, external_id, _PUT_IT)
    async with within_quota(services, caller, len(drafts), len(raw)):
        options = transcript.AppendOptions(services.run, services.working.buffer)
        messages = await transcript.append(
            services.transcript, services.reader, grant, caller.viewer, place, drafts, options
        )
    status = 200 if all(message.duplicate for message in messages) else 201
    firsts = [0, *accumulate(map(len, each))][:-1]
    return respond(Receipts, Receipts(tuple(messages[first].receipt for first in firsts)), status)


@router.get("/{external_id}/messages", response_model=MessagePage, responses=documented(404))
async def read_messages(
    caller: CallerDep,
    external_id: PathName,
    query: Annotated[queries.MessageQuery, Query()],
) -> Response:
    """Read the transcript in time order; follow `next` or `previous` to page through it."""
    place, grant = authorize.in_conversation(caller, external_id)
    page_request = memory_queries.page_request(caller, query)
    shown = authorize.to_read_transcript(caller, grant, query)
    with caller.services.replica_reads():
        page = await transcript.read(caller.services.transcript, shown, place, page_request)
    return respond(MessagePage, page)


@browsing.get("", response_model=MessagePage, responses=documented(404))
async def browse(caller: CallerDep, query: Annotated[queries.BrowseQuery, Query()]) -> Response:
    """Read everything that may be read in a conversation's place, in time order; without one, the whole tenant."""
    return respond(MessagePage, await memory_queries.browse(caller, query))


def _size(conversation: Conversation) -> int:
    return len(to_json(conversation.settings))


def _drafts(raw: bytes) -> list[list[Draft]]:
    """Return what is stored of each message of a body."""
    if _is_wrapped(raw):
        messages, field, prefix = _wrapped_messages.parse(raw).messages, "messages", "messages."
    elif raw.lstrip()[:1] == b"[":
        messages, field, prefix = _many_messages.parse(raw), "body", ""
    else:
        return [_one_message.parse(raw).drafts()]
    if not 1 <= len(messages) <= transcript.MAX_BATCH:
        raise InvalidInput(f"a batch has 1 to {transcript.MAX_BATCH} messages, not {len(messages)}", field)
    return [message.drafts(f"{prefix}{number}.") for number, message in enumerate(messages)]


def _is_wrapped(raw: bytes) -> bool:
    """Tell whether this is an object of messages, and not a message that speaks of some."""
    if b'"messages"' not in raw:
        return False
    try:
        body = from_json(raw)
    except ValueError:
        return False  # whoever parses it says what is wrong
    return isinstance(body, dict) and "messages" in body and "role" not in body
