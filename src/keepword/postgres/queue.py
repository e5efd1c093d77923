"""The job queue, for all tenants: it holds ids only."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from procrastinate import PsycopgConnector

from keepword.access import Grant
from keepword.answers import FailedJob
from keepword.postgres.grants import dump
from keepword.postgres.logins import as_application
from keepword.postgres.pool import APP_ROLE, SEARCH_PATH, Connection, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_rows
from keepword.stats.ports import RetrySelection

# more than a worker does in a second, few enough to be enqueued in one
MOST_JOBS = 2_000


class PostgresQueue:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("queue.sql")

    async def enqueue(self, at: datetime, due_messages: int, silence: timedelta) -> int:
        """Enqueue a job for each conversation with something to do and no job; return how many."""
        values = {"at": at, "due_messages": due_messages, "silence": silence, "most": MOST_JOBS}
        return int((await self._pool.fetch(self._sql["enqueue"], values))[0][0])

    async def enqueue_exchanges(self, at: datetime, silence: timedelta, longest: timedelta, many: int) -> int:
        """Enqueue a job for each scope that is to be read for memories and has none; return how many."""
        values = {"at": at, "silence": silence, "longest": longest, "many": many, "most": MOST_JOBS}
        return int((await self._pool.fetch(self._sql["enqueue_exchanges"], values))[0][0])

    async def balance_tenants(self) -> int:
        """Order waiting jobs fairly among tenants; return how many changed their priority."""
        return int((await self._pool.fetch(self._sql["balance_tenants"], {}))[0][0])

    async def waiting(self) -> int:
        """Return how many jobs could run now."""
        return int((await self._pool.fetch(self._sql["waiting"], {}))[0][0])

    async def reclaim(self, after_seconds: float) -> int:
        """Let the jobs of workers that died run again; return how many."""
        return int((await self._pool.fetch(self._sql["reclaim"], {"seconds": after_seconds}))[0][0])

    async def note(self, tenant_id: UUID, conversation_id: UUID, task: str, error: str | None) -> None:
        values = {"tenant_id": tenant_id, "conversation_id": conversation_id, "task": task, "error": error}
        await self._pool.fetch(self._sql["note"], values)


class PostgresFailedWork:
    """What failed of a tenant's background work, for its owner."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("queue.sql")

    async def page(self, grant: Grant, after: int | None, limit: int) -> Sequence[FailedJob]:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "after": after, "limit": limit}
        return read_rows(FailedJob, await self._pool.fetch(self._sql["failed_jobs"], values))

    async def retry(self, grant: Grant, selection: RetrySelection, *, dry_run: bool) -> int:
        values = asdict(selection) | {"grant": dump(grant), "tenant_id": grant.tenant_id, "dry_run": dry_run}
        return int((await self._pool.fetch(self._sql["retry_failed_work"], values))[0][0])


def connector(conninfo: str, connections: int) -> PsycopgConnector:
    """Return the library's own connections, as the application role."""
    return PsycopgConnector(
        conninfo=as_application(conninfo),
        kwargs={"application_name": "keepword-worker"},
        configure=_configure,
        min_size=1,
        max_size=connections,
    )


async def _configure(conn: Connection) -> None:
    await conn.set_autocommit(True)
    await conn.execute(
        "SELECT set_config('search_path', %s, false), set_config('timezone', 'UTC', false), "
        "set_config('role', %s, false)",
        (SEARCH_PATH, APP_ROLE),
    )


@dataclass(frozen=True, slots=True)
class QueueLine:
    """How a task is doing. `pending` counts what is to be done: messages, or conversations to compact."""

    task: str
    pending: int
    waiting: int
    running: int
    failed: int
    oldest: datetime | None
    last_error: str | None


def queue_status(owner: psycopg.Connection[Any]) -> list[QueueLine]:
    return [QueueLine(*row) for row in owner.execute(Queries("queue.sql")["status"]).fetchall()]


def retry_failed(owner: psycopg.Connection[Any], task: str | None, error: str | None, *, dry_run: bool) -> int:
    """Let failed jobs run again, or with `dry_run` only count them."""
    return _count(owner, "retry_failed", {"task": task, "error": error, "dry_run": dry_run})


def backfill_sentences(owner: psycopg.Connection[Any], *, dry_run: bool) -> int:
    """Note every tool call without a sentence; idempotent. With `dry_run` only count them."""
    if dry_run:
        return _count(owner, "count_undescribed", {})
    return owner.execute(Queries("queue.sql")["backfill"]).rowcount


def recompact(owner: psycopg.Connection[Any], version: int, *, dry_run: bool) -> int:
    """Note every conversation whose summaries are of an older version; idempotent. With `dry_run` only count them."""
    outdated = _count(owner, "count_outdated", {"version": version})
    if not dry_run:
        owner.execute(Queries("queue.sql")["recompact"], {"version": version})
    return outdated


def _count(owner: psycopg.Connection[Any], name: str, values: dict[str, Any]) -> int:
    row = owner.execute(Queries("queue.sql")[name], values).fetchone()
    return int(row[0]) if row else 0
