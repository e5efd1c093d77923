"""Working memory, ledger and buffer on PostgreSQL."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from keepword.access import Grant, Place
from keepword.answers import BufferedMessage
from keepword.model import Message
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row
from keepword.transcript.ports import PAGE_BYTES
from keepword.working import buffer, fields
from keepword.working.access_checks import require_read
from keepword.working.ports import FieldsSize

_SQL = Queries("working.sql")


class PostgresFields:
    def __init__(self, pool: Pool, clock: Callable[[], datetime], *, first_wall: bool = True) -> None:
        self._pool = pool
        self._clock = clock
        self._sql = Queries("working.sql", first_wall=first_wall)
        self._first_wall = first_wall

    async def get(self, grant: Grant, place: Place) -> dict[str, str]:
        if self._first_wall:
            require_read(grant, place)
        values = (place.run_id, self._clock())
        fields: dict[str, str] | None = await _call(self._pool, self._sql["get"], grant, place, values)
        return fields or {}

    async def put(self, grant: Grant, place: Place, stored: Mapping[str, str], ttl_seconds: int | None) -> FieldsSize:
        if self._first_wall:
            require_read(grant, place)
        values = (
            *_label(place), json.dumps(dict(stored), ensure_ascii=False), ttl_seconds,
            fields.DEFAULT_TTL_SECONDS, fields.MAX_BYTES, fields.MAX_FIELDS, self._clock(),
        )  # fmt: skip
        (row,) = await _rows(self._pool, self._sql["put"], grant, place, values)
        return FieldsSize(row.stored, row.bytes, row.amount, row.held_bytes or 0)

    async def delete(self, grant: Grant, place: Place, names: Sequence[str]) -> None:
        if self._first_wall:
            require_read(grant, place)
        values = (*_label(place), list(names), self._clock())
        await _call(self._pool, self._sql["delete"], grant, place, values)

    async def clear(self, grant: Grant, place: Place) -> None:
        if self._first_wall:
            require_read(grant, place)
        async with self._pool.granted(grant.only(place.run_id)) as conn:
            await conn.execute(self._sql["lock"], _where(grant, place))
            await conn.execute(self._sql["clear"], _where(grant, place))


async def sweep(pool: Pool, now: datetime) -> int:
    """Delete the working memories of all tenants that had expired by then, and return how many. Reads need no sweep."""
    async with pool.connection() as conn:
        cursor = await conn.execute(_SQL["sweep"], (now,))
        ((freed,),) = await cursor.fetchall()
    return int(freed)


class PostgresLedger:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("working.sql", first_wall=first_wall)
        self._first_wall = first_wall

    async def get(self, grant: Grant, place: Place) -> dict[str, str]:
        if self._first_wall:
            require_read(grant, place)
        rows = await self._pool.read(grant.only(place.run_id), self._sql.read("ledger"), _where(grant, place))
        return {row.item_key: row.value for row in rows}

    async def check(self, grant: Grant, place: Place, item_key: str) -> str | None:
        if self._first_wall:
            require_read(grant, place)
        values = _where(grant, place) | {"item_key": item_key}
        rows = await self._pool.read(grant.only(place.run_id), self._sql.read("check"), values)
        return rows[0].value if rows else None

    async def mark(self, grant: Grant, place: Place, item_key: str, value: str) -> bool:
        return item_key in await self._mark(grant, place, {item_key: value})

    async def mark_all(self, grant: Grant, place: Place, marks: Mapping[str, str]) -> None:
        await self._mark(grant, place, marks)

    async def evict(self, grant: Grant, place: Place, item_key: str) -> bool:
        if self._first_wall:
            require_read(grant, place)
        async with self._pool.granted(grant.only(place.run_id)) as conn:
            cursor = await conn.execute(self._sql["evict"], _where(grant, place) | {"item_key": item_key})
        return bool(await cursor.fetchall())

    async def _mark(self, grant: Grant, place: Place, marks: Mapping[str, str]) -> list[str]:
        """Mark the items and return those that were not marked before."""
        if self._first_wall:
            require_read(grant, place)
        values = (*_label(place), json.dumps(dict(marks), ensure_ascii=False))
        new: list[str] = await _call(self._pool, self._sql["mark"], grant, place, values)
        return new


class PostgresBuffer:
    """Reads the transcript itself, by its index: there is no copy that could be behind."""

    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("working.sql", first_wall=first_wall)
        self._first_wall = first_wall

    async def read(self, grant: Grant, place: Place, limit: int) -> list[BufferedMessage]:
        rows = await self._last(grant, place, "buffer", limit)
        return [_message(row) for row in reversed(rows)]

    async def version(self, grant: Grant, place: Place) -> str:
        if self._first_wall:
            require_read(grant, place)
        async with self._pool.connection() as conn:
            cursor = await conn.execute(self._sql["version"], (grant.tenant_id, place.conversation_id))
            ((version,),) = await cursor.fetchall()
        return str(version)

    async def snapshot(self, grant: Grant, place: Place) -> tuple[str, list[BufferedMessage]]:
        rows = await self._last(grant, place, "snapshot", buffer.SIZE)
        return rows[0].version if rows else "", [_message(row) for row in reversed(rows)]

    def note(self, grant: Grant, place: Place, messages: Sequence[Message]) -> None:
        pass

    async def forget(self, grant: Grant, place: Place) -> None:
        pass

    async def _last(self, grant: Grant, place: Place, name: str, limit: int) -> list[Row]:
        if self._first_wall:
            require_read(grant, place)
        values = _where(grant, place) | {"limit": limit, "page_bytes": PAGE_BYTES}
        return await self._pool.read(grant.only(place.run_id), self._sql.page(name), values)


def _message(row: Row) -> BufferedMessage:
    return read_row(BufferedMessage, row._replace(attachments=tuple(row.attachments)))


async def _call(pool: Pool, query: LiteralString, grant: Grant, place: Place, values: tuple[Any, ...]) -> Any:
    return (await _rows(pool, query, grant, place, values))[0][0]


async def _rows(pool: Pool, query: LiteralString, grant: Grant, place: Place, values: tuple[Any, ...]) -> list[Row]:
    """Call a function that works under a grant of its own, for one conversation."""
    first = (dump(grant.only(place.run_id)), grant.tenant_id, place.conversation_id)
    return await pool.fetch(query, (*first, *values))


def _label(place: Place) -> tuple[str, str, str | None]:
    return place.run_id, place.visibility, place.user if place.visibility == "private" else None


def _where(grant: Grant, place: Place) -> dict[str, Any]:
    return {"tenant_id": grant.tenant_id, "conversation_id": place.conversation_id, "run_id": place.run_id}
