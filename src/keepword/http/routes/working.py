"""Working memory and ledger under AEGIS' own paths, and the buffer."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from keepword.answers import Buffer, LedgerCheck, LedgerEviction, LedgerMark, WorkingMemorySize
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import as_json, respond
from keepword.http.schemas import Body, PathName
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


@router.get("/working-memory/{conversation_id}", tags=["working memory"], responses=documented())
async def get_working_memory(caller: CallerDep, conversation_id: PathName) -> Response:
    """Return all fields as one object, empty for an unknown conversation; refreshes their lifetime."""
    services = caller.services
    place_and_grant = authorize.in_known_conversation(caller, conversation_id)
    return _as_object(await WorkingMemory(services.working.fields, *place_and_grant).get() if place_and_grant else {})


@router.put(
    "/working-memory/{conversation_id}", tags=["working memory"], response_model=WorkingMemorySize,
    responses=documented(*_BODY_PROBLEMS),
    openapi_extra=takes(PutFields, {"data": {"scratchpad": "Rule 37 applies"}, "ttl_seconds": 3600}),
)  # fmt: skip
async def put_working_memory(caller: CallerDep, conversation_id: PathName, body: PutBody) -> Response:
    """Merge fields in, all or nothing. Over 64 KiB it answers 413 with the sizes, and nothing changes."""
    fields.encode_all(body.data)  # what can't be stored anyway must not make a conversation
    grant, place = await authorize.in_known_or_new_conversation(caller, conversation_id)
    size = await WorkingMemory(caller.services.working.fields, grant, place).set(body.data, body.ttl_seconds)
    return respond(WorkingMemorySize, WorkingMemorySize(size.bytes, size.fields))


@router.delete(
    "/working-memory/{conversation_id}", tags=["working memory"], status_code=204, response_class=Response,
    responses=documented(*_BODY_PROBLEMS),
    openapi_extra=takes(DeleteFields, {"fields": ["scratchpad"]}, required=False),
)  # fmt: skip
async def delete_working_memory(caller: CallerDep, conversation_id: PathName, body: DeleteBody) -> None:
    """Delete the named fields, or without a body all; a field that is not there is passed over."""
    place_and_grant = authorize.in_known_conversation(caller, conversation_id)
    if place_and_grant is not None:
        await WorkingMemory(caller.services.working.fields, *place_and_grant).delete(body.fields if body else None)


@router.get("/ledger/{conversation_id}", tags=["ledger"], responses=documented())
async def get_ledger(caller: CallerDep, conversation_id: PathName) -> Response:
    """Return everything that was injected, as one object; empty for an unknown conversation."""
    services = caller.services
    place_and_grant = authorize.in_known_conversation(caller, conversation_id)
    return _as_object(await InjectionLedger(services.working.ledger, *place_and_grant).get() if place_and_grant else {})


@router.post(
    "/ledger/{conversation_id}/check", tags=["ledger"], response_model=LedgerCheck,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(Item, _ITEM),
)  # fmt: skip
async def check_item(caller: CallerDep, conversation_id: PathName, body: ItemBody) -> Response:
    value = None
    if place_and_grant := authorize.in_known_conversation(caller, conversation_id):
        value = await InjectionLedger(caller.services.working.ledger, *place_and_grant).check(body.item_key)
    return respond(LedgerCheck, LedgerCheck(value is not None, value))


@router.post(
    "/ledger/{conversation_id}/mark", tags=["ledger"], response_model=LedgerMark,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(MarkItem, _ITEM | {"value": "injected"}),
)  # fmt: skip
async def mark_item(caller: CallerDep, conversation_id: PathName, body: MarkBody) -> Response:
    """Mark an item as injected, over any earlier value. Of all who mark it, one is told that it was first."""
    grant, place = await authorize.in_known_or_new_conversation(caller, conversation_id)
    first = await InjectionLedger(caller.services.working.ledger, grant, place).mark(body.item_key, body.value)
    return respond(LedgerMark, LedgerMark(marked=True, first=first))


@router.post(
    "/ledger/{conversation_id}/evict", tags=["ledger"], response_model=LedgerEviction,
    responses=documented(*_BODY_PROBLEMS), openapi_extra=takes(Item, _ITEM),
)  # fmt: skip
async def evict_item(caller: CallerDep, conversation_id: PathName, body: ItemBody) -> Response:
    """Forget an item, so that it may be injected again."""
    evicted = False
    if place_and_grant := authorize.in_known_conversation(caller, conversation_id):
        evicted = await InjectionLedger(caller.services.working.ledger, *place_and_grant).evict(body.item_key)
    return respond(LedgerEviction, LedgerEviction(evicted))


@router.get(
    "/v1/conversations/{external_id}/buffer", tags=["conversations"], response_model=Buffer,
    responses=documented(404),
)  # fmt: skip
async def read_buffer(caller: CallerDep, external_id: PathName, query: Annotated[BufferQuery, Query()]) -> Response:
    """Read the last messages of the conversation's place, newest last; a room's conversations share one buffer."""
    place, grant = authorize.in_conversation(caller, external_id)
    messages = await caller.services.working.buffer.read(grant, place, query.limit)
    return respond(Buffer, Buffer(tuple(messages)))


def _as_object(content: dict[str, Any]) -> Response:
    return as_json(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())
