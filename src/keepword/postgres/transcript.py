"""The transcript's store."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from keepword.access import Grant, Place
from keepword.errors import Conflict, InvalidInput, NotFound
from keepword.model import Message, Receipt, Retraction
from keepword.postgres.entries import entry_columns
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row
from keepword.transcript.ports import PAGE_BYTES, MessageRange, MessageSlice, PreparedMessage

# PostgreSQL's own ends of time are further out than Python's; these bound every time that a caller can send
EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_LAST_SEQ = 2**63 - 1
_LAST_ID = 2**128 - 1


class PostgresTranscript:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._first_wall = first_wall
        self._sql = Queries("transcript.sql", first_wall=first_wall)

    async def append(self, grant: Grant, place: Place, messages: Sequence[PreparedMessage]) -> list[Receipt]:
        values = {
            "grant": dump(grant.only(place.run_id)),
            "tenant_id": grant.tenant_id,
            "conversation_id": place.conversation_id,
            "count": len(messages),
            "with_events": any(message.digest for message in messages),
            "rows": _dump_rows([_row(ordinal, message) for ordinal, message in enumerate(messages, 1)]),
        } | pack_messages(messages)
        rows = await self._pool.fetch(self._sql["append"], values)
        if not rows:
            raise NotFound(f"no conversation {place.external_id!r}")
        known = {row.event_id: row for row in rows if row.duplicate}
        stored = {row.id: row for row in rows if not row.duplicate}
        for message in messages:
            before = known.get(message.draft.event_id)
            if before is not None and before.contradicts:
                event = message.draft.event_id
                raise Conflict(
                    f"event_id {event!r} is already message {before.id}, with other content; nothing was stored"
                )
        return [read_row(Receipt, known.get(message.draft.event_id) or stored[message.id]) for message in messages]

    async def page(self, grant: Grant, place: Place, span: MessageRange) -> MessageSlice:
        # one conversation has one scope: the grant is asked once, not for every row
        if self._first_wall and not grant.opens(place):
            return MessageSlice([])
        values = _bounds(span, _LAST_SEQ) | {
            "tenant_id": grant.tenant_id,
            "conversation_id": place.conversation_id,
            "conversation": place.external_id,
            "run_id": place.run_id,
            "retracted": grant.retracted,
        }
        name = "page_backward" if span.backward else "page_forward"
        return read_slice(await self._pool.read(grant.only(place.run_id), self._sql.page(name), values))

    async def browse(self, grant: Grant, span: MessageRange) -> MessageSlice:
        values = _bounds(span, _LAST_ID) | grant_values(grant) | {"retracted": grant.retracted}
        values |= {"after_id": UUID(int=values["after_tie"]), "before_id": UUID(int=values["before_tie"])}
        way = "time" if grant.everything or grant.is_broad else "runs"
        name = f"browse_{way}_{'backward' if span.backward else 'forward'}"
        return read_slice(await self._pool.read(grant, self._sql.page(name), values))


def read_slice(rows: Sequence[Row]) -> MessageSlice:
    """Read the rows of a page of messages."""
    is_cut = bool(rows) and rows[-1].found > len(rows)
    return MessageSlice([_message(row) for row in rows], is_cut)


def _message(row: Row) -> Message:
    message = read_row(Message, row)
    if message.retracted is None:
        return message
    return replace(message, retracted=_retraction(message.retracted))


def _retraction(fields: Any) -> Retraction:
    erased_at = fields["erased_at"] and datetime.fromisoformat(fields["erased_at"])
    return Retraction(fields["by"], datetime.fromisoformat(fields["at"]), fields["reason"], erased_at)


def _bounds(span: MessageRange, last_tie: int) -> dict[str, Any]:
    # the tighter of the two bounds leads the index
    after = max(span.after or (EARLIEST, 0), (span.since or EARLIEST, 0))
    until = min(span.until or (LATEST, last_tie), (span.before or LATEST, 0 if span.before else last_tie))
    return {
        "limit": span.limit,
        "page_bytes": PAGE_BYTES,
        "since": span.since or EARLIEST,
        "before": span.before or LATEST,
        "after_time": after[0],
        "after_tie": after[1],
        "before_time": until[0],
        "before_tie": until[1],
        "agent": span.agent,
        "user": span.user,
        "role": span.role,
    }


def _row(ordinal: int, message: PreparedMessage) -> dict[str, Any]:
    draft = message.draft
    return {
        "ordinal": ordinal,
        "id": str(message.id),
        "role": draft.role,
        "user_id": draft.user,
        "agent": draft.agent,
        "content": draft.content,
        "tool_name": draft.tool_name,
        "tool_args": draft.tool_args,
        "tool_result": draft.tool_result,
        "attachments": draft.attachments,
        "metadata": draft.metadata,
        "event_id": draft.event_id,
        "digest": message.digest.hex() if message.digest else None,
        "created_at": draft.created_at.isoformat() if draft.created_at else None,
    }


def pack_messages(messages: Sequence[PreparedMessage]) -> dict[str, Any]:
    rows = [(message.id, entry) for message in messages for entry in message.entries]
    return {"message_ids": [id_ for id_, _ in rows]} | entry_columns(entry for _, entry in rows)


def _dump_rows(rows: list[dict[str, Any]]) -> str:
    try:
        return _dump(rows)
    except ValueError as exc:
        where = next(_unwritable(rows), "messages")
        raise InvalidInput(f"{where} holds a number that JSON does not know (NaN or infinity)", where) from exc


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _unwritable(rows: list[dict[str, Any]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        for field, value in row.items():
            try:
                _dump(value)
            except ValueError:
                yield f"messages.{number}.{field}"
