"""What a million messages cost: disk by part, log, and processor time of append, indexes, embedding and compaction.

    MESSAGES=20000 make bench-cost     writes the table into docs/scale.md

Processor time, not time: on a busy machine it changes least. PostgreSQL's is that of all its processes.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from psycopg import Connection

from _page import DOCS, machine, put
from _service import Served, served
from _vectors import settle
from growth import ROOM, Tenant
from keepword import tokens
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.pool import Limits, Pool

MESSAGES = int(os.environ.get("MESSAGES", "20000"))
EMBEDDED = int(os.environ.get("EMBEDDED", "512"))
BATCH = 32
COMPACTED = 3
_MILLION = 1_000_000
_TICKS = os.sysconf("SC_CLK_TCK")
_PARTS = """
SELECT CASE WHEN relname IN ('messages', 'entries', 'vectors') THEN relname ELSE 'all else' END AS part,
    sum(pg_table_size(c.oid))::int8 AS rows, sum(pg_indexes_size(c.oid))::int8 AS indexes
FROM pg_class c WHERE relnamespace = 'keepword'::regnamespace AND relkind = 'r' GROUP BY 1 ORDER BY 1
"""


def _ticks(pid: int, *, with_children: bool = False) -> int:
    """Return the processor time of a process, and on demand of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return sum(map(int, fields[11 : 15 if with_children else 13]))


class Meter:
    """Processor seconds of this process and of the server, and bytes of the server's log."""

    def __init__(self, home: Path, conn: Connection) -> None:
        self._postmaster = Cluster(home).postmaster_pid() or 0
        self._conn = conn
        self.spent: dict[str, tuple[float, float, float]] = {}

    def _server_seconds(self) -> float:
        children = Path(f"/proc/{self._postmaster}/task/{self._postmaster}/children").read_text().split()
        own = _ticks(self._postmaster, with_children=True)
        return (own + sum(_ticks(int(child)) for child in children)) / _TICKS

    def _log_bytes(self) -> int:
        ((position,),) = self._conn.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").fetchall()
        return int(position)

    @contextmanager
    def measured(self, name: str, messages: int) -> Iterator[None]:
        """Note what a message of `messages` costs inside: own seconds, the server's, and bytes of its log."""
        before = time.process_time(), self._server_seconds(), self._log_bytes()
        yield
        after = time.process_time(), self._server_seconds(), self._log_bytes()
        own, server, log = (late - early for early, late in zip(before, after, strict=True))
        self.spent[name] = own / messages, server / messages, log / messages
        print(
            f"{name}: {own:.1f} s here, {server:.1f} s in PostgreSQL, {log / messages:,.0f} bytes of log each",
            file=sys.stderr,
        )


def sizes(conn: Connection) -> dict[str, tuple[int, int]]:
    conn.execute("VACUUM ANALYZE")
    return {part: (rows, indexes) for part, rows, indexes in conn.execute(_PARTS)}


async def measure(tenant: Tenant, meter: Meter, conn: Connection) -> dict[str, tuple[int, int]]:
    begun = sizes(conn)
    with meter.measured("append, batches of 1,000", MESSAGES):
        for number in range(MESSAGES // ROOM):
            await tenant.fill_room(f"room-{number}")
    with meter.measured("index of instant vectors", MESSAGES):
        settle(conn)
    texts = [tenant.writer.text() for _ in range(EMBEDDED)]
    await tenant.embedder.embed(texts[:BATCH])
    with meter.measured("embed", EMBEDDED):
        for start in range(0, EMBEDDED, BATCH):
            await tenant.embedder.embed(texts[start : start + BATCH])
    with meter.measured("store and index deep vectors", MESSAGES):
        await tenant.deep.store(conn, tenant.pool, 0)
    with meter.measured("compact, without a model", COMPACTED * ROOM):
        for number in range(COMPACTED):
            await tenant.compact(f"room-{number}")
    grown = sizes(conn)
    return {
        part: (rows - begun.get(part, (0, 0))[0], indexes - begun.get(part, (0, 0))[1])
        for part, (rows, indexes) in grown.items()
    }


def report(meter: Meter, parts: dict[str, tuple[int, int]], characters: float) -> None:
    scale = _MILLION / MESSAGES / 2**30
    lines = ["| a million messages on disk, GB | rows | indexes |", "| --- | --- | --- |"]
    for part, (rows, indexes) in parts.items():
        lines.append(f"| {part} | {rows * scale:.2f} | {indexes * scale:.2f} |")
    total = sum(rows + indexes for rows, indexes in parts.values()) * scale
    lines.append(f"| **together** | **{total:.2f}** | |")
    lines += [
        "",
        "| a million messages | service, hours of a processor | PostgreSQL, hours | log, GB |",
        "| --- | --- | --- | --- |",
    ]
    for name, (own, server, log) in meter.spent.items():
        lines.append(
            f"| {name} | {own * _MILLION / 3600:.2f} | {server * _MILLION / 3600:.2f} | {log * _MILLION / 2**30:.2f} |"
        )
    intro = (
        f"`make bench-cost` measured this on {datetime.now(UTC).date()} ({machine()}) with {MESSAGES:,} messages of "
        f"{characters:.0f} characters on average in rooms of {ROOM:,}, scaled to a million. {COMPACTED * ROOM:,} of "
        f"them were compacted, {EMBEDDED:,} embedded; the deep vectors that are stored are made up."
    )
    put("cost", "\n\n".join([intro, "\n".join(lines)]), DOCS / "scale.md")


async def run(service: Served) -> None:
    pool = Pool(service.conninfo, Limits(4, 3600))
    await pool.open()
    tokens.count("")  # its tables are read once, not in what is measured
    with migrate.owner(service.conninfo) as conn:
        conn.execute("SET statement_timeout = 0")
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
        tenant = Tenant(service.conninfo, pool, tenant_id)
        await tenant.furnish()
        meter = Meter(service.home, conn)
        parts = await measure(tenant, meter, conn)
    texts = tenant.texts
    report(meter, parts, sum(map(len, texts)) / len(texts))
    await pool.close()


def main() -> None:
    with served(worker="false") as service, asyncio.Runner() as runner:
        runner.run(run(service))


if __name__ == "__main__":
    main()
