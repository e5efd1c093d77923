"""What the walls cost: the same reads with and without row-level security and grant, in one run.

MESSAGES sets how many messages there are (default 100,000).
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from _service import served, verdict
from keepword.access import Grant, Place, Viewer, grant
from keepword.ids import new_id
from keepword.postgres.places import PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import PageRequest, browse, read

SESSIONS = 2000
OTHERS = 50
ROUNDS = 600
TEXT = "We agreed to move the launch to the second week of March, and Priya will tell the partners on Monday. "


def fill(conninfo: str, messages: int) -> UUID:
    """Make a project of many short sessions, and other sessions that hold the other half of the messages."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SET search_path = keepword, pg_temp")
        tenant = conn.execute("SELECT id FROM tenants").fetchone()[0]
        conn.execute("INSERT INTO users (tenant_id, id) VALUES (%s, 'u')", (tenant,))
        conn.execute("INSERT INTO projects (tenant_id, id) VALUES (%s, 'p')", (tenant,))
        short, long = messages // (SESSIONS * 2), messages // (OTHERS * 2)
        names = [(f"in-{n}", "p", short) for n in range(SESSIONS)] + [(f"out-{n}", None, long) for n in range(OTHERS)]
        ids = {name: new_id() for name, *_ in names}
        with conn.cursor().copy(
            "COPY conversations (tenant_id, id, external_id, kind, user_id, agent, project_id, last_seq) FROM STDIN"
        ) as copy:
            for name, project, size in names:
                copy.write_row((tenant, ids[name], name, "session", "u", "default", project, size))
        with conn.cursor().copy(
            "COPY messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, agent, content,"
            " attachments, metadata, created_at) FROM STDIN"
        ) as copy:
            # as they would come in: in turns, and all until the end
            turns = sorted((seq / size, name, seq) for name, _, size in names for seq in range(1, size + 1))
            for share, name, seq in turns:
                when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=share)
                run = f"session:{name}"
                row = (tenant, new_id(), ids[name], seq, run, "public", "user", "default", TEXT, "[]", "{}", when)
                copy.write_row(row)
        conn.execute("ANALYZE")
    return tenant


class OpenQueries(Queries):
    """The queries without the first wall and without a grant."""

    def __init__(self, file: str) -> None:
        super().__init__(file, first_wall=False)

    def read(self, name: str) -> Any:
        return self[name]


class OpenPool(Pool):
    """Connections of a superuser, whom no policy binds."""

    @staticmethod
    def _login(conninfo: str) -> str:
        return conninfo

    async def _configure(self, conn: Any) -> None:
        await super()._configure(conn)
        await conn.execute("SET ROLE NONE")

    async def read(self, grant: Grant, query: Any, values: dict[str, Any]) -> Any:  # noqa: ARG002
        async with self.connection() as conn:
            return await (await conn.execute(query, values)).fetchall()


class OpenTranscript(PostgresTranscript):
    """The same store, without its walls."""

    def __init__(self, pool: OpenPool) -> None:
        super().__init__(pool)
        self._sql = OpenQueries("transcript.sql")


async def medians(*actions: Callable[[], Awaitable[Any]]) -> list[float]:
    """Time the actions in turns, so that whatever else the machine does falls on all."""
    samples: list[list[float]] = [[] for _ in actions]
    for number in range(ROUNDS):
        for action, taken in zip(actions, samples, strict=True):
            started = time.perf_counter()
            await action()
            if number >= ROUNDS // 10:
                taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in samples]


async def measure(conninfo: str, tenant: UUID) -> None:
    pool, open_pool = Pool(conninfo, Limits()), OpenPool(conninfo, Limits())
    await pool.open()
    await open_pool.open()
    store, lookup = PostgresTranscript(pool), PostgresPlaceLookup(pool)
    viewer = Viewer(tenant, "agent", "default", "u")
    inside, alone = await lookup.place(tenant, "in-7"), await lookup.place(tenant, "out-7")
    await walls(store, OpenTranscript(open_pool), grant(viewer, alone), alone)
    await breadth(store, lookup, viewer, inside, alone)
    await pool.close()
    await open_pool.close()


async def walls(walled: PostgresTranscript, unwalled: OpenTranscript, opened: Grant, place: Place) -> None:
    for limit in (50, 200):
        request = PageRequest(limit, "desc")
        with_walls, without = await medians(
            *(lambda store=store, request=request: read(store, opened, place, request) for store in (walled, unwalled))
        )
        print(f"  page of {limit}: with both walls {with_walls * 1000:.3f} ms, without any {without * 1000:.3f} ms")
        verdict(f"walled / open, page of {limit}", with_walls / without, 1.15)


async def breadth(
    store: PostgresTranscript, lookup: PostgresPlaceLookup, viewer: Viewer, inside: Place, alone: Place
) -> None:
    async def everything_in(place: Place) -> None:
        found = await lookup.place(viewer.tenant_id, place.external_id)
        await browse(store, grant(viewer, found), PageRequest(50, "desc"))

    many, one = await medians(lambda: everything_in(inside), lambda: everything_in(alone))
    print(f"  browsing: one session {one * 1000:.3f} ms, a project of {SESSIONS:,} {many * 1000:.3f} ms")
    verdict("project / one session", many / one, 2)


def main() -> None:
    with served() as service:
        messages = int(os.environ.get("MESSAGES", "100000"))
        tenant = fill(service.conninfo, messages)
        print(f"  {messages:,} messages, half of them in one project of {SESSIONS:,} sessions")
        asyncio.run(measure(service.conninfo, tenant))


if __name__ == "__main__":
    main()
