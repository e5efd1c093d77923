"""The store of erasures, and what rewrites the database's files after one."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import errors, sql

from keepword.access import Grant, Place
from keepword.answers import Erasure, Retention
from keepword.embedding import Entry
from keepword.erasure.ports import ErasedScope, ErasureStart, ErasureStep, Speakers
from keepword.errors import TookTooLong
from keepword.postgres import migrate
from keepword.postgres.grants import dump
from keepword.postgres.pool import SCHEMA, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.retractions import PostgresRetractions
from keepword.postgres.rows import Row

_SQL = Queries("erasures.sql")
# a table up to this size is written anew, which takes about a second, in which nobody reads it; of a larger one the
# rows are freed, and `keepword db rewrite` writes it anew
REWRITTEN_BYTES = 64 * 2**20
LOCK_SECONDS = 2
# the first transaction of an erasure counts and hides; where that takes longer than a statement may, it gets this long
BEGIN_SECONDS = 120
ATTEMPTS = 5
PAGE_BYTES = 8192
# pages that others drop meanwhile, such as a vacuum of its own; and half a gigabyte at most, which takes seconds
SPARE_PAGES, MOST_PAGES = 2_000, 65_536


class PostgresErasures:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._retractions = PostgresRetractions(pool)

    async def erase_message(
        self, grant: Grant, place: Place, seq: int, of: Speakers, by: str, *, dry_run: bool
    ) -> ErasureStart | None:
        values = {
            "grant": dump(grant.only(place.run_id)), "tenant_id": grant.tenant_id,
            "conversation_id": place.conversation_id, "seq": seq, "user": of.user, "agent": of.agent, "by": by,
            "dry_run": dry_run,
        }  # fmt: skip
        return await self._begin("erase_message", values)

    async def begin_conversation(self, grant: Grant, place: Place, *, dry_run: bool) -> ErasureStart | None:
        values = _values(grant, dry_run=dry_run) | {"conversation_id": place.conversation_id}
        return await self._begin("begin_conversation", values)

    async def begin_user(self, grant: Grant, user: str, *, dry_run: bool) -> ErasureStart | None:
        return await self._begin("begin_user", _values(grant, dry_run=dry_run) | {"user": user})

    async def begin_tenant(self, grant: Grant, *, dry_run: bool) -> ErasureStart | None:
        return await self._begin("begin_tenant", _values(grant, dry_run=dry_run))

    async def find(self, grant: Grant, erasure_id: UUID) -> Erasure | None:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "erasure": erasure_id}
        for row in await self._pool.fetch(_SQL["find"], values):
            return Erasure(*row)
        return None

    async def index_revived(self, grant: Grant, entries: Mapping[UUID, Entry]) -> None:
        await self._retractions.index_revived(grant, entries)

    async def retention(self, grant: Grant, where: UUID | str) -> Retention | None:
        for row in await self._pool.fetch(_SQL["retention"], _at(grant, where)):
            return Retention(*row)
        return None

    async def change_retention(self, grant: Grant, where: UUID | str, days: int | None) -> None:
        await self._pool.fetch(_SQL["change_retention"], _at(grant, where) | {"days": days})

    async def _begin(self, name: str, values: Mapping[str, Any]) -> ErasureStart | None:
        try:
            rows = await self._pool.fetch(_SQL[name], values)
        except TookTooLong:
            rows = await _fetch_within(self._pool, BEGIN_SECONDS, _SQL[name], values)
        ((erasure, counts, revived),) = rows
        return None if counts is None else ErasureStart(erasure, counts, tuple(revived or ()))


class PostgresErasureQueue:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def advance(self, erasure_id: UUID | None, messages: int, seconds: float | None = None) -> ErasureStep | None:
        return await self._step("advance", {"erasure": erasure_id, "messages": messages}, seconds)

    async def expire(self, at: datetime, messages: int, seconds: float | None = None) -> ErasureStep | None:
        return await self._step("expire", {"at": at, "messages": messages}, seconds)

    async def _step(self, name: str, values: Mapping[str, Any], seconds: float | None) -> ErasureStep | None:
        fetch = self._pool.fetch if seconds is None else partial(_fetch_within, self._pool, seconds)
        rows = await fetch(_SQL[name], values)
        for tenant_id, erasure, state, erased_messages, revived in rows:
            return ErasureStep(tenant_id, erasure, state, erased_messages, tuple(revived or ()))
        return None

    async def erased(self) -> Sequence[ErasedScope]:
        return [
            ErasedScope(tenant_id, erasure, kind, tuple(names), tuple(run_ids))
            for tenant_id, erasure, kind, names, run_ids in await self._pool.fetch(_SQL["erased"], {})
        ]

    async def finish(self, scope: ErasedScope) -> None:
        await self._pool.fetch(_SQL["finish"], {"tenant_id": scope.tenant_id, "erasure": scope.erasure_id})

    async def last(self) -> datetime | None:
        ((at,),) = await self._pool.fetch(_SQL["last"], {})
        found: datetime | None = at
        return found


class PostgresProcesses:
    """Where the processes of all services are noted."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def note_process(self, service: UUID, number: int, age_seconds: float, *, is_new: bool) -> bool:
        values = {"service": service, "number": number, "age_seconds": age_seconds, "is_new": is_new}
        ((is_due,),) = await self._pool.fetch(_SQL["note_process"], values)
        return bool(is_due)


async def _fetch_within(pool: Pool, seconds: float, query: LiteralString, values: Mapping[str, Any]) -> list[Row]:
    """Fetch with a time limit of its own."""
    async with pool.connection() as conn, conn.transaction():
        await conn.execute(_SQL["limit_time"], {"milliseconds": int(seconds * 1000)})
        return await (await conn.execute(query, values)).fetchall()


def _at(grant: Grant, where: UUID | str) -> dict[str, Any]:
    of = (
        {"room": None, "conversation_id": where}
        if isinstance(where, UUID)
        else {"room": where, "conversation_id": None}
    )
    return {"grant": dump(grant), "tenant_id": grant.tenant_id} | of


def _values(grant: Grant, *, dry_run: bool) -> dict[str, Any]:
    return {"grant": dump(grant), "tenant_id": grant.tenant_id, "dry_run": dry_run}


def rewrite_files(conninfo: str, tables: Iterable[str], most_bytes: int | None = REWRITTEN_BYTES) -> bool:
    """Write the files of tables anew, so that nothing of deleted rows is left in them; False if some are in use.

    A page of a table keeps the bytes of a row that is gone until others take their place, and `VACUUM` alone does not
    overwrite them. Tables above `most_bytes` are vacuumed only: to write them anew locks them for as long.
    """
    with migrate.connect(conninfo) as login:
        if _count(login, "readers_since"):
            return False
    with migrate.owner(conninfo) as conn:
        conn.execute("SELECT set_config('lock_timeout', %s, false)", (f"{LOCK_SECONDS}s",))
        sizes = {table: _count(conn, "table_size", {"table": f"{SCHEMA}.{table}"}) for table in tables}
        results = [
            _rewrite(conn, table, is_small=most_bytes is None or size <= most_bytes) for table, size in sizes.items()
        ]
        _overwrite_buffers(conn, sum(sizes.values()))
        return all(results)


def _overwrite_buffers(conn: psycopg.Connection[Any], dropped_bytes: int) -> None:
    """Write over the shared buffers of dropped files: they keep the bytes until another page is read into them.

    The server hands them out again first, so a table that is as large as those files, and never committed, takes them.
    """
    pages = min(MOST_PAGES, dropped_bytes // PAGE_BYTES + SPARE_PAGES)
    # a name of its own: another worker's would be waited for
    name = sql.Identifier(SCHEMA, f"filler_{conn.info.backend_pid}")
    with conn.transaction(force_rollback=True):
        conn.execute(sql.SQL(_SQL["make_filler"]).format(name))
        conn.execute(sql.SQL(_SQL["fill_pages"]).format(name), {"pages": pages})


def _rewrite(conn: psycopg.Connection[Any], table: str, *, is_small: bool) -> bool:
    how = "VACUUM (FULL, ANALYZE)" if is_small else "VACUUM (ANALYZE)"
    for _ in range(ATTEMPTS):
        try:
            conn.execute(sql.SQL(how + " {}").format(sql.Identifier(SCHEMA, table)))
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            continue
        return True
    return False


def _count(conn: psycopg.Connection[Any], name: str, values: Mapping[str, Any] | None = None) -> int:
    row = conn.execute(_SQL[name], values).fetchone()
    return int(row[0] or 0) if row else 0
