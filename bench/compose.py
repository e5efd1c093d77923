"""Compose end to end beside search alone: the same queries in the same run, one after the other and 32 at once.

    MESSAGES=50000 python bench/compose.py

One tenant with rooms of 2,000 messages each; every room has facts, landmarks and a summary, its people have profiles.
"""

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from _service import Connection, Served, milliseconds, served, verdict
from _vectors import build, drop_indexes, settle
from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.transcript import PostgresTranscript
from search import Writer

MESSAGES = int(os.environ.get("MESSAGES", "50000"))
ROOM = 2_000
BATCH = 1_000
QUERIES = 200
AGENTS = 32
EACH = 8
WARM = 10


async def fill(conninfo: str) -> list[tuple[str, str]]:
    """Write the tenant; return pairs of a conversation and a question about something that was said in it."""
    pool = Pool(conninfo, Limits(4, 600))
    await pool.open()
    with migrate.owner(conninfo) as conn:
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
    writer, asked = Writer(1), list[tuple[str, str]]()
    registry, owner = PostgresRegistry(pool), everything_in(tenant_id)
    await registry.put_agent(owner, "helper", None, None)
    for user in ("ann", "bob"):
        await registry.put_user(owner, user, None)
        await PostgresProfiles(pool).write(owner, user, "\n".join(writer.text() for _ in range(20)), None)
    for number in range(MESSAGES // ROOM):
        asked += await fill_room(pool, tenant_id, f"room-{number}", writer)
    await pool.close()
    return asked


async def fill_room(pool: Pool, tenant_id: UUID, room: str, writer: Writer) -> list[tuple[str, str]]:
    owner, viewer, registry, lookup = everything_in(tenant_id), Viewer(tenant_id, "admin"), *_stores(pool)
    await registry.put_room(owner, room, None)
    await registry.join(owner, room, agent="helper")
    for user in ("ann", "bob"):
        await registry.join(owner, room, user=user)
    wanted = transcript.NewConversation("room", None, "helper", room, None, {})
    await transcript.put(lookup, PostgresConversations(pool), viewer, room, wanted)
    place, store, reader = await lookup.place(tenant_id, room), PostgresTranscript(pool), TextIndexer()
    texts: list[str] = []
    for _ in range(ROOM // BATCH):
        drafts = [Draft("user", writer.text(), user=("ann", "bob")[n % 2]) for n in range(BATCH)]
        await transcript.append(store, reader, grant(viewer, place), viewer, place, drafts)
        texts += [draft.content for draft in drafts]
    return [(room, writer.query(text)) for text in texts[:: ROOM // 10]]


def _stores(pool: Pool) -> tuple[PostgresRegistry, PostgresPlaceLookup]:
    return PostgresRegistry(pool), PostgresPlaceLookup(pool)


def furnish(connection: Connection, rooms: set[str]) -> None:
    writer = Writer(3)
    for room in sorted(rooms):
        for number in range(10):
            connection.json("PUT", f"/v1/facts/room/{room}/fact_{number}", {"value": writer.text()})
        page = connection.json("GET", f"/v1/conversations/{room}/messages?limit=5")
        for message in page["messages"]:
            body = {"conversation": room, "message": message["id"], "kind": "decision"}
            connection.json("POST", "/v1/landmarks", body)
        told = {"agent_id": "helper", "conversation_id": room, "summary": "\n".join(writer.text() for _ in range(20))}
        connection.json("POST", "/episodic/store", told)


def search(connection: Connection, room: str, query: str) -> None:
    _call(connection, "/v1/search", {"query": query, "conversation": room})


def compose(connection: Connection, room: str, query: str) -> None:
    _call(connection, "/v1/compose", {"message": query, "conversation": room})


def _call(connection: Connection, path: str, body: dict[str, str]) -> None:
    status, answer = connection.request("POST", path, json.dumps(body).encode())
    if status != 200 or json.loads(answer)["degraded"]:
        sys.exit(f"{path} failed: {status} {answer[:300]!r}")


def one_by_one(service: Served, asked: list[tuple[str, str]]) -> tuple[list[float], list[float]]:
    connection, taken = service.connect(), ([], [])
    for number, pair in enumerate(asked[:WARM] + asked):
        # in turns, so that a noisy moment hits both
        for times, action in zip(taken, (search, compose), strict=True):
            started = time.perf_counter()
            action(connection, *pair)
            if number >= WARM:
                times.append(time.perf_counter() - started)
    return taken


def at_once(service: Served, action: Callable[[Connection, str, str], None], asked: list[tuple[str, str]]) -> float:
    """Return how many requests a second 32 agents get together."""

    def run(agent: int) -> None:
        connection = service.connect()
        for number in range(EACH):
            action(connection, *asked[(agent * EACH + number) % len(asked)])

    started = time.perf_counter()
    with ThreadPoolExecutor(AGENTS) as pool:
        list(pool.map(run, range(AGENTS)))
    return AGENTS * EACH / (time.perf_counter() - started)


def main() -> None:
    with served(worker="false") as service:
        asked = asyncio.run(fill(service.conninfo))
        with migrate.owner(service.conninfo) as conn:
            definitions = drop_indexes(conn)
            settle(conn)
            build(conn, definitions)
        furnish(service.connect(), {room for room, _ in asked})
        with migrate.owner(service.conninfo) as conn:
            conn.execute("ANALYZE")
        searches, composes = one_by_one(service, (asked * QUERIES)[:QUERIES])
        print(f"{MESSAGES:,} messages in the tenant, {ROOM:,} in the room\n  search   {milliseconds(searches)}")
        print(f"  compose  {milliseconds(composes)}")
        verdict("median, times search", statistics.median(composes) / statistics.median(searches), 1.6)
        late = int(QUERIES * 0.95)
        verdict("95th percentile, times search", sorted(composes)[late] / sorted(searches)[late], 2.5)
        rates = [[at_once(service, action, asked) for action in (search, compose)] for _ in range(3)]
        found, made = (statistics.median(each) for each in zip(*rates, strict=True))
        print(f"  {AGENTS} agents at once, without an error: search {found:.0f}, compose {made:.0f} a second")
        verdict("throughput, of search's", made / found, 0.8, at_least=True)


if __name__ == "__main__":
    main()
