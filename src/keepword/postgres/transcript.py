"""The transcript's store."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import TupleRow

from keepword.access import Grant, Place
from keepword.errors import Conflict, InvalidInput, NotFound
from keepword.model import Draft, Message, Receipt
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.transcript.ports import Sealed, Span

# PostgreSQL's own ends of time are further out than Python's; these bound every time that a caller can send
EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_FIRST_SEQ = 0
_LAST_SEQ = 2**63 - 1


class PostgresTranscript:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("transcript.sql", first_wall=first_wall)

    async def append(self, grant: Grant, place: Place, messages: Sequence[Sealed]) -> list[Receipt]:
        where = {"tenant_id": grant.tenant_id, "conversation_id": place.conversation_id}
        values = where | _columns(messages)
        async with self._pool.granted(grant.only(place.run_id)) as conn:
            await conn.execute(self._sql["lock"], where)
            cursor = await conn.execute(self._sql["append"], values)
        return _receipts(await cursor.fetchall(), messages, place)

    async def page(self, grant: Grant, place: Place, span: Span) -> list[Message]:
        first, last = span.after, span.until
        values = {
            "tenant_id": grant.tenant_id,
            "conversation_id": place.conversation_id,
            "conversation": place.external_id,
            "run_id": place.run_id,
            "limit": span.limit,
            "since": span.since or EARLIEST,
            "before": span.before or LATEST,
        }
        # the tighter of the two bounds leads the index
        after = max(first or (EARLIEST, _FIRST_SEQ), (span.since or EARLIEST, _FIRST_SEQ))
        until = min(last or (LATEST, _LAST_SEQ), (span.before or LATEST, _FIRST_SEQ if span.before else _LAST_SEQ))
        values |= {
            "after_time": after[0],
            "after_seq": after[1],
            "before_time": until[0],
            "before_seq": until[1],
        }
        cursor = await self._read(
            grant.only(place.run_id), "page_backward" if span.backward else "page_forward", values
        )
        return [Message(*row) for row in await cursor.fetchall()]

    async def _read(self, grant: Grant, name: str, values: dict[str, Any]) -> AsyncCursor[TupleRow]:
        async with self._pool.granted(grant) as conn:
            return await conn.execute(self._sql[name], values)


def _columns(messages: Sequence[Sealed]) -> dict[str, list[Any]]:
    drafts = [message.draft for message in messages]
    return {
        "ordinals": list(range(len(messages))),
        "ids": [message.id for message in messages],
        "digests": [message.digest for message in messages],
        **{plural: [read(draft) for draft in drafts] for plural, read in _COLUMNS.items()},
    }


_COLUMNS: dict[str, Callable[[Draft], Any]] = {
    "roles": lambda d: d.role,
    "users": lambda d: d.user,
    "agents": lambda d: d.agent,
    "contents": lambda d: d.content,
    "tool_names": lambda d: d.tool_name,
    "tool_args": lambda d: None if d.tool_args is None else to_json(d.tool_args, "tool_args"),
    "tool_results": lambda d: d.tool_result,
    "attachments": lambda d: to_json(list(d.attachments), "attachments") if d.attachments else "[]",
    "metadata": lambda d: to_json(d.metadata, "metadata") if d.metadata else "{}",
    "event_ids": lambda d: d.event_id,
    "times": lambda d: d.created_at,
}


def to_json(value: Any, field: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as exc:
        raise InvalidInput(f"{field} holds a number that JSON does not know (NaN or infinity)", field) from exc


def _receipts(rows: Sequence[TupleRow], messages: Sequence[Sealed], place: Place) -> list[Receipt]:
    for ordinal, id_, _, _, _, contradicts in rows:
        if contradicts:
            event = messages[ordinal].draft.event_id
            raise Conflict(f"event_id {event!r} is already message {id_}, with other content; nothing was stored")
    if not rows:
        raise NotFound(f"no conversation {place.external_id!r}")
    return [Receipt(id_, seq, stored_at, duplicate) for _, id_, seq, stored_at, duplicate, _ in rows]
