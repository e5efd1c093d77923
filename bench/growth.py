"""How append, search, compose and compaction grow with what a tenant holds, in rooms of 2,000 messages.

    make bench-growth                       10,000, 100,000 and a million messages
    make bench-growth SIZES=10000,100000    a quick run
    make bench-growth KEEP=folder           what it filled stays, with rooms for bench/search.py

The tenant grows from size to size; the room that is searched and composed for stays as it is. Indexes of vectors are
dropped while the tenant grows and built again; the deep vectors are made up.
"""

import asyncio
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import numpy as np

from _page import machine, put, put_plot
from _plot import curves, short
from _service import Connection, Served, milliseconds, served, timed, verdict
from _vectors import DeepVectors, build, drop_indexes, settle
from compose import furnish
from keepword import tokens, transcript
from keepword.access import Viewer, everything_in, grant
from keepword.compaction.compact import Compactor
from keepword.embedding import TextIndexer
from keepword.embedding.onnx import LocalEmbedder
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from search import ROOMS as SEARCHED_ROOMS
from search import SAMPLE, Writer, fill

SIZES = tuple(map(int, os.environ.get("SIZES", "10000,100000,1000000").split(",")))
KEEP = Path(os.environ["KEEP"]) if os.environ.get("KEEP") else None
ROOM = 2_000
BATCH = 1_000
QUERIES = 200
APPENDS = 300
COMPACTED = 3  # rooms at each size, each of them once
WARM = 10
AGENT = "helper"
PEOPLE = ("ann", "bob")
SEARCHED = "room-0"
MAX_GROWTH = 2.0
_INTRO = """## Growth

`make bench-growth` measured this on {day} ({machine}): rooms of {room:,} messages in one tenant that grows, over HTTP,
the embedding of the question included (alone as well: it can't grow, so what it grows is noise). Compaction is without
a model. Filled and indexed: {filled}.
"""


class Tenant:
    """The tenant that grows, filled through the transcript's own append."""

    def __init__(self, conninfo: str, pool: Pool, tenant_id: UUID) -> None:
        self._conninfo, self.pool, self.id = conninfo, pool, tenant_id
        self._owner, self._viewer = everything_in(tenant_id), Viewer(tenant_id, "admin")
        self._registry, self._doors = PostgresRegistry(pool), PostgresPlaceLookup(pool)
        self.writer, self._reader = Writer(1), TextIndexer()
        self.embedder, self._last_entry = LocalEmbedder(1), 0
        self._dropped: list[str] = []
        self.rooms, self.others = 0, 0
        self.texts: list[str] = []
        self._anywhere: list[str] = []

    async def furnish(self) -> None:
        await self._registry.put_agent(self._owner, AGENT, None, None)
        for user in PEOPLE:
            await self._registry.put_user(self._owner, user, None)
            told = "\n".join(self.writer.text() for _ in range(20))
            await PostgresProfiles(self.pool).write(self._owner, user, told, None)
        texts = [self.writer.text() for _ in range(SAMPLE)]
        self.deep = await DeepVectors.like(self.embedder, self._reader.table, texts)

    async def grow(self, messages: int) -> None:
        with migrate.owner(self._conninfo) as conn:
            self._dropped = drop_indexes(conn)
        while self.rooms * ROOM + self.others < messages:
            await self.fill_room(f"room-{self.rooms}")
            self.rooms += 1
            if self.rooms % 50 == 0:
                print(f"  {self.rooms * ROOM:,} of {messages:,} appended", file=sys.stderr)

    async def widen(self) -> dict[str, list[str]]:
        """Write the rooms of other sizes that bench/search.py measures; return questions about each."""
        others = {room: amount for room, amount in SEARCHED_ROOMS.items() if room != "room"}
        self.others = sum(others.values())
        return await fill(self.pool, self.id, others)

    async def fill_room(self, room: str) -> None:
        await self._registry.put_room(self._owner, room, None)
        await self._registry.join(self._owner, room, agent=AGENT)
        for user in PEOPLE:
            await self._registry.join(self._owner, room, user=user)
        wanted = transcript.NewConversation("room", None, AGENT, room, None, {})
        await transcript.put(self._doors, PostgresConversations(self.pool), self._viewer, room, wanted)
        place, store = await self._doors.place(self.id, room), PostgresTranscript(self.pool)
        for _ in range(ROOM // BATCH):
            drafts = [Draft("user", self.writer.text(), user=PEOPLE[number % 2]) for number in range(BATCH)]
            await transcript.append(store, self._reader, grant(self._viewer, place), self._viewer, place, drafts)
            self._anywhere.append(drafts[0].content)
            if room == SEARCHED:
                self.texts += [draft.content for draft in drafts]

    async def index(self) -> None:
        with migrate.owner(self._conninfo) as conn:
            settle(conn)
            self._last_entry = await self.deep.store(conn, self.pool, self._last_entry)
            build(conn, self._dropped)

    def questions(self) -> list[str]:
        return [self.writer.query(text) for text in self.texts[:: ROOM // QUERIES]]

    def questions_anywhere(self) -> list[str]:
        return [self.writer.query(text) for text in self._anywhere[:: max(1, len(self._anywhere) // QUERIES)]]

    async def yardstick(self) -> list[float]:
        """Embed the questions alone: what grows here is the machine's noise."""
        taken = []
        for question in self.questions():
            started = time.perf_counter()
            await self.embedder.embed_query(question)
            taken.append(time.perf_counter() - started)
        return taken[WARM:]

    async def compact(self, room: str) -> float:
        """Return the seconds that a message of the room takes."""
        place = await self._doors.place(self.id, room)
        compactor = Compactor(PostgresSummaries(self.pool, self._reader))
        started = time.perf_counter()
        await compactor.compact(self._owner, place.conversation_id, datetime.now(UTC) + timedelta(days=30))
        return (time.perf_counter() - started) / ROOM


def ask(connection: Connection, path: str, body: Mapping[str, str]) -> None:
    status, answer = connection.request("POST", path, json.dumps(body).encode())
    if status != 200 or json.loads(answer)["degraded"]:
        sys.exit(f"{path} failed: {status} {answer[:300]!r}")


def asking(connection: Connection, questions: Sequence[str]) -> dict[str, list[float]]:
    """Search and compose in turns, so that a noisy moment hits all."""
    taken: dict[str, list[float]] = {"search (best)": [], "search (fast)": [], "compose": []}
    for question in [*questions[:WARM], *questions]:
        about = {"conversation": SEARCHED}
        bodies = {
            "search (best)": ("/v1/search", about | {"query": question, "recipe": "best"}),
            "search (fast)": ("/v1/search", about | {"query": question, "recipe": "fast"}),
            "compose": ("/v1/compose", about | {"message": question}),
        }
        for name, (path, body) in bodies.items():
            taken[name].append(timed(ask, connection, path, body))
    return {name: times[WARM:] for name, times in taken.items()}


def appending(connection: Connection, room: str, texts: Sequence[str]) -> list[float]:
    taken = []
    for text in texts:
        body = json.dumps({"role": "user", "user": PEOPLE[0], "content": text}).encode()
        started = time.perf_counter()
        status, answer = connection.request("POST", f"/v1/conversations/{room}/messages", body)
        taken.append(time.perf_counter() - started)
        if status != 201:
            sys.exit(f"append failed: {status} {answer[:300]!r}")
    return taken[WARM:]


async def measure(service: Served, tenant: Tenant, step: int, size: int) -> tuple[dict[str, list[float]], float]:
    """Grow to the size and measure there; return the times by operation, and how long growing took."""
    started = time.monotonic()
    await tenant.grow(size)
    appended = time.monotonic() - started
    if step == 0:
        furnish(service.connect(), {SEARCHED})
    await tenant.index()
    filling = time.monotonic() - started
    print(f"{size:,} messages: appended in {appended:.0f} s, indexed in {filling - appended:.0f} s", flush=True)
    connection = service.connect()
    taken = asking(connection, tenant.questions())
    taken["embedding a question"] = await tenant.yardstick()
    # rooms that no other step touches: each is as large as the searched one
    own = [f"room-{tenant.rooms - 1 - number}" for number in range(COMPACTED + 1)]
    taken["append"] = appending(connection, own[0], tenant.texts[: APPENDS + WARM])
    taken["compaction, a message"] = [await tenant.compact(room) for room in own[1:]]
    for name, times in taken.items():
        print(f"  {name:<24} {milliseconds(times)}", flush=True)
    return taken, filling


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Fit a power to the points: the slope of their logarithms."""
    if len(points) < 2:
        return math.nan
    return float(np.polyfit([math.log(x) for x, _ in points], [math.log(y) for _, y in points], 1)[0])


def report(measured: Mapping[int, tuple[dict[str, list[float]], float]]) -> None:
    names = next(iter(measured.values()))[0].keys()
    lines = {
        name: [(float(size), statistics.median(taken[name]) * 1e3) for size, (taken, _) in measured.items()]
        for name in names
    }
    sizes = list(measured)
    head = "| median in ms | " + " | ".join(f"{size:,}" for size in sizes) + " | growth | exponent |"
    rows = [head, "| --- " * (len(sizes) + 3) + "|"]
    verdicts = []
    for name, points in lines.items():
        growth, power = points[-1][1] / points[0][1], exponent(points)
        cells = [short(value) for _, value in points]
        rows.append(f"| {name} | " + " | ".join(cells) + f" | {growth:.2f} | {power:.2f} |")
        if name.startswith(("search", "compose")):
            verdict(f"{name}, growth from {sizes[0]:,} to {sizes[-1]:,}", growth, MAX_GROWTH)
            met = "met" if growth < MAX_GROWTH else "MISSED"
            verdicts.append(f"- {name} grows {growth:.2f} times (aim below {MAX_GROWTH:g}): {met}")
    filled = ", ".join(f"{size:,} in {seconds:.0f} s" for size, (_, seconds) in measured.items())
    drawn = put_plot("growth", curves("Median time by messages in the tenant", "messages", "milliseconds", lines))
    intro = _INTRO.format(day=datetime.now(UTC).date(), machine=machine(), room=ROOM, filled=filled)
    put("growth", "\n\n".join([intro.strip(), "\n".join(rows), drawn, "\n".join(verdicts)]))


async def run(service: Served) -> None:
    pool = Pool(service.conninfo, Limits(4, 3600))
    await pool.open()
    with migrate.owner(service.conninfo) as conn:
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
    tenant = Tenant(service.conninfo, pool, tenant_id)
    await tenant.furnish()
    tokens.count("")  # its tables are read once, not in the time measured
    measured, queries = {}, dict[str, list[str]]()
    for step, size in enumerate(SIZES):
        if KEEP and size == SIZES[-1]:
            queries = await tenant.widen()
        measured[size] = await measure(service, tenant, step, size)
    report(measured)
    if KEEP:
        queries |= {"room": tenant.questions(), "all": tenant.questions_anywhere()}
        (KEEP / "queries.json").write_text(json.dumps(queries))
    await pool.close()


def main() -> None:
    with served(KEEP, worker="false") as service, asyncio.Runner() as runner:
        runner.run(run(service))


if __name__ == "__main__":
    main()
