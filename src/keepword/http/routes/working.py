"""Working memory and ledger under AEGIS' own paths, and the buffer."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from keepword import transcript
from keepword.access import Grant, Place
from keepword.answers import Buffer, LedgerCheck, LedgerEviction, LedgerMark, WorkingMemorySize
from keepword.errors import NotFound
from keepword.http.answers import enter
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.responses import as_json, respond
from keepword.http.schemas import Body, PathName
from keepword.http.services import Services
from keepword.transcript import NewConversation
from keepword.working import InjectionLedger, WorkingMemory, buffer, fields, ledger

router = APIRouter()


class PutFields(Body):
    """Fields to merge into the working memory."""

    data: dict[str, JsonValue]
    ttl_seconds: int | None = Field(
        None, ge=1, le=fields.MAX_TTL_SECONDS, description="the memory's lifetime from now on; default: as it is"
    )


class DeleteFields(Body):
    """Which fields to delete; without it, all."""

    fields: list[str] | None = Field(None, min_length=1, max_length=fields.MAX_FIELDS)


class Item(Body):
    item_key: str = Field(min_length=1, max_length=ledger.MAX_KEY_CHARS)


class MarkItem(Item):
    value: str = Field(ledger.DEFAULT_VALUE, max_length=ledger.MAX_VALUE_CHARS)


class BufferQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(buffer.DEFAULT_LIMIT, ge=1, le=buffer.SIZE)


PutBody = Annotated[PutFields, Depends(JsonBody(PutFields))]
DeleteBody = Annotated[DeleteFields | None, Depends(JsonBody(DeleteFields, optional=True))]
ItemBody = Annotated[Item, Depends(JsonBody(Item))]
MarkBody = Annotated[MarkItem, Depends(JsonBody(MarkItem))]

_ITEM = {"item_key": "skill:spacing-calculation"}
_BODY_PROBLEMS = (400, 404, 409, 413, 415)


def _known(caller: Caller, conversation_id: str) -> tuple[Grant, Place] | None:
    """Return a conversation that AEGIS' clients never announced; one that may not be read is as unknown as any."""
    try:
        place, opened = enter(caller, conversation_id)
    except NotFound:
        return None
    return opened, place


async def _known_or_made(services: Services, caller: Caller, conversation_id: str) -> tuple[Grant, Place]:
    """Return the conversation, or make a session with that id for the caller."""
    if caller.place is None:
        viewer = caller.viewer
        new_conversation = NewConversation(unannounced=True)
        await transcript.put(
            services.lookup, services.conversations, viewer, conversation_id, new_conversation, caller.key.id
        )
        caller = caller._replace(place=await services.lookup.place(viewer.tenant_id, conversation_id))
    else:
        transcript.require_entry(caller.viewer, caller.place, conversation_id)
        transcript.require_named(caller.viewer, caller.place, caller.key.id)
    place, opened = enter(caller, conversation_id)
    return opened, place


@router.get("/working-memory/{conversation_id}", tags=["working memory"], responses=documented())
async def get_working_memory(request: Request, caller: CallerDep, conversation_id: PathName) -> Response:
    """Return all fields as one object, empty for an unknown conversation; refreshes their lifetime."""
    services: Services = request.app.state.services
    place_and_grant = _known(caller, conversation_id)
    return _as_object(await WorkingMemory(services.working.fields, *place_and_grant).get() if place_and_grant else {})


@router.put(
    "/working-memory/{conversation_id}", tags=["working memory"], response_model=WorkingMemorySize,
    responses=documented(*_BODY_PROBLEMS),
    openapi_extra=takes(PutFields, {"data": {"scratchpad": "Rule 37 applies"}, "ttl_seconds": 3600}),
)  # fmt: skip
async def put_working_memory(request: Request, caller: CallerDep, conversation_id: PathName, body: PutBody) -> Response:
    """Merge fields in, all or nothing. Over 64 KiB it answers 413 with the sizes, and nothing changes."""
    services: Services = request.app.state.services
    fields.encode_all(body.data)  # what can't be stored anyway must not make a conversation
    opened, place = await _known_or_made(services, caller, conversation_id)
    size = await WorkingMemory(services.working.fields, opened, place).set(body.data, body.ttl_seconds)
    return respond(WorkingMemorySize, WorkingMemorySize(size.bytes, size.fields))


@router.delete(
    "/working-memory/{conversation_id}", tags=["working memory"], status_code=204, response_class=Response,
    responses=documented(*_BODY_PROBLEMS),
    openapi_extra=takes(DeleteFields, {"fields": ["scratchpad"]}, required=False),
)  # fmt: skip
async def delete_working_memory(
    request: Request, caller: CallerDep, conversation_id: PathName, body: DeleteBody
) -> None:
    """Delete the named fields, or without a body all; a field that is not there is passed over."""
    services: Services = request.app.state.services
    place_and_grant = _known(caller, conversation_id)
    if place_and_grant is not None:
        await WorkingMemory(services.working.fields, *place_and_grant).delete(body.fields if body else None)


@router.get("/ledger/{conversation_id}", tags=["ledger"], responses=documented())
async def get_ledger(request: Request, caller: CallerDep, conversation_id: PathName) -> Response:
    """Return everything that was injected, as one object; empty for an unknown conversation."""
    services: Services = request.app.state.services
    place_and_grant = _known(caller, conversation_id)
    return _as_object(await InjectionLedger(services.working.ledger, *place_and_grant).get() if place_and_grant else {})


@router.post(
    "/ledger/{conversation_id}/check", tags=["ledger"], response_model=LedgerCheck,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(Item, _ITEM),
)  # fmt: skip
async def check_item(request: Request, caller: CallerDep, conversation_id: PathName, body: ItemBody) -> Response:
    services: Services = request.app.state.services
    value = None
    if place_and_grant := _known(caller, conversation_id):
        value = await InjectionLedger(services.working.ledger, *place_and_grant).check(body.item_key)
    return respond(LedgerCheck, LedgerCheck(value is not None, value))


@router.post(
    "/ledger/{conversation_id}/mark", tags=["ledger"], response_model=LedgerMark,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(MarkItem, _ITEM | {"value": "injected"}),
)  # fmt: skip
async def mark_item(request: Request, caller: CallerDep, conversation_id: PathName, body: MarkBody) -> Response:
    """Mark an item as injected, over any earlier value. Of all who mark it, one is told that it was first."""
    services: Services = request.app.state.services
    opened, place = await _known_or_made(services, caller, conversation_id)
    first = await InjectionLedger(services.working.ledger, opened, place).mark(body.item_key, body.value)
    return respond(LedgerMark, LedgerMark(marked=True, first=first))


@router.post(
    "/ledger/{conversation_id}/evict", tags=["ledger"], response_model=LedgerEviction,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(Item, _ITEM),
)  # fmt: skip
async def evict_item(request: Request, caller: CallerDep, conversation_id: PathName, body: ItemBody) -> Response:
    """Forget an item, so that it may be injected again."""
    services: Services = request.app.state.services
    evicted = False
    if place_and_grant := _known(caller, conversation_id):
        evicted = await InjectionLedger(services.working.ledger, *place_and_grant).evict(body.item_key)
    return respond(LedgerEviction, LedgerEviction(evicted))


@router.get(
    "/v1/conversations/{external_id}/buffer", tags=["conversations"], response_model=Buffer,
    responses=documented(404),
)  # fmt: skip
async def read_buffer(
    request: Request, caller: CallerDep, external_id: PathName, query: Annotated[BufferQuery, Query()]
) -> Response:
    """Read the last messages of the conversation's place, newest last; a room's conversations share one buffer."""
    services: Services = request.app.state.services
    place, opened = enter(caller, external_id)
    messages = await services.working.buffer.read(opened, place, query.limit)
    return respond(Buffer, Buffer(tuple(messages)))


def _as_object(content: dict[str, Any]) -> Response:
    return as_json(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())
