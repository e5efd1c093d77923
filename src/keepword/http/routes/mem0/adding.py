"""Adding: messages go into the transcript and are read for memories; with `infer: false` they are memories at once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import ValidationError

from keepword import transcript
from keepword.access import Grant, Place
from keepword.errors import InvalidInput
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.mem0_entities import Entities
from keepword.http.mem0_errors import documented
from keepword.http.problems import explain
from keepword.http.quotas import within_quota
from keepword.http.routes.mem0 import schemas, shapes
from keepword.http.routes.mem0.filters import at_seconds, end_of_day
from keepword.http.schemas import NewMessage
from keepword.memories import operations
from keepword.memories.labels import Labels
from keepword.model import Draft
from keepword.transcript.conversations import DEFAULT_AGENT

router = APIRouter()

# what of a message of theirs is kept; they may carry more, such as a name
_KEPT = ("role", "content")
_EXAMPLE = {"messages": [{"role": "user", "content": "I prefer window seats."}], "user_id": "ann"}

_TAKES = takes(schemas.Mem0Add, _EXAMPLE)

AddBody = Annotated[schemas.Mem0Add, Depends(JsonBody(schemas.Mem0Add))]


@router.post(
    "/v3/memories/add/", openapi_extra=takes(schemas.Mem0Add, _EXAMPLE), responses=documented(404, 409, 413, 429)
)
async def add(caller: CallerDep, body: AddBody) -> Response:
    """Keep messages. Their memories are found in the background: the event says when."""
    return shapes.answer(await _add(caller, body))


@router.post("/v1/memories/", openapi_extra=_TAKES, responses=documented(404, 409, 413, 429))
async def add_v1(caller: CallerDep, body: AddBody) -> Response:
    """Keep messages, as older clients do."""
    return shapes.answer({"results": []} | await _add(caller, body))


async def _add(caller: Caller, body: schemas.Mem0Add) -> dict[str, Any]:
    named = Entities.checked(body.user_id, body.agent_id, body.app_id, body.run_id)
    entities = named.by(caller.viewer)
    if entities == Entities():
        raise InvalidInput("say of whom: at least one of user_id, agent_id, app_id and run_id is needed", "user_id")
    services = caller.services
    said_at = None if body.timestamp is None else at_seconds(body.timestamp, "timestamp")
    until = None if body.expiration_date is None else end_of_day(body.expiration_date, "expiration_date")
    operations.require_ahead(until, services.clock())
    labels = Labels(body.metadata or {}, body.categories or (), until)
    drafts = [replace(one, created_at=said_at) for one in _drafts(body)]
    transcript.require_said(drafts, services.clock())
    place, grant = await authorize.in_named_session(
        caller, entities.session, entities.agent or DEFAULT_AGENT, entities.user, {"channel": "mem0"}
    )
    transcript.require_append(grant, caller.viewer, place)
    if body.infer is False:
        return await _keep(caller, place, grant, drafts, labels)
    event = await _append(caller, place, grant, drafts, labels)
    return {"message": "Memory processing has been queued", "status": "PENDING", "event_id": event}


async def _append(caller: Caller, place: Place, grant: Grant, drafts: Sequence[Draft], labels: Labels) -> UUID:
    """Return the id of the last message, which is the event."""
    services = caller.services
    last = len(drafts) - 1
    marked = [
        replace(one, metadata=one.metadata | labels.written(len(drafts) if number == last else None))
        for number, one in enumerate(drafts)
    ]
    async with within_quota(services, caller, len(marked), sum(len(one.content) for one in marked)):
        options = transcript.AppendOptions(services.run, services.working.buffer)
        messages = await transcript.append(
            services.transcript, services.reader, grant, caller.viewer, place, marked, options
        )
    return messages[-1].id


async def _keep(
    caller: Caller, place: Place, grant: Grant, drafts: Sequence[Draft], labels: Labels
) -> dict[str, Any]:  # fmt: skip
    kept = [
        await _keep_one(caller, place, grant, one.content, one.created_at, labels)
        for one in drafts
        if one.role != "system" and one.content
    ]
    if not kept:
        raise InvalidInput("with infer: false each message is a memory, and none of these says anything", "messages")
    results = [
        {"id": one.id, "memory": one.content, "data": {"memory": one.content}, "event": _event(one)} for one in kept
    ]
    message = "Each message was kept as a memory"
    return {"message": message, "status": "SUCCEEDED", "event_id": kept[-1].id, "results": results}


def _event(kept: operations.KeptMemory) -> str:
    return "ADD" if kept.is_new else "UPDATE"


async def _keep_one(
    caller: Caller, place: Place, grant: Grant, text: str, said_at: datetime | None, labels: Labels
) -> operations.KeptMemory:
    services = caller.services
    draft = operations.MemoryDraft(
        text, user=place.user, agent=place.agent, metadata=labels.metadata, categories=labels.categories,
        expires_at=labels.expires_at,
    )  # fmt: skip
    return await operations.keep(
        services.memories, services.reader, grant, place, draft, said_at or services.clock(), caller.name
    )


def _drafts(body: schemas.Mem0Add) -> list[Draft]:
    sent = body.messages
    if isinstance(sent, str):
        sent = schemas.Mem0Message(role="user", content=sent)
    messages = sent if isinstance(sent, list) else [sent]
    return [draft for number, one in enumerate(messages) for draft in _read(one, f"messages.{number}.")]


def _read(message: schemas.Mem0Message, field: str) -> list[Draft]:
    try:
        return NewMessage.model_validate({name: getattr(message, name) for name in _KEPT}).drafts(field)
    except ValidationError as exc:
        where, wrong = explain(exc.errors(include_url=False, include_context=False))
        raise InvalidInput(f"{field}{wrong}", f"{field}{where}") from exc
