"""How append, search, compose and compaction grow with what a tenant holds, in rooms of 2,000 messages.

    make bench-growth                       10,000, 100,000 and a million messages
    make bench-growth SIZES=10000,100000    a quick run

The tenant grows from size to size; the room that is searched and composed for stays as it is. Indexes of vectors are
dropped while the tenant grows and built again; the deep vectors are those of a sample, repeated with noise.
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
from uuid import UUID

import numpy as np

from _page import machine, put, put_plot
from _plot import curves, short
from _service import Connection, Served, milliseconds, served, timed, verdict
from compose import furnish
from keepword import tokens, transcript
from keepword.access import Viewer, everything_in, grant
from keepword.compaction.compact import Compactor
from keepword.embedding import Reader
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.reading import pack_vector
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.packed import Vectors
from keepword.postgres.places import PostgresConversations, PostgresDoors
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from search import NOISE, SAMPLE, Writer

SIZES = tuple(map(int, os.environ.get("SIZES", "10000,100000,1000000").split(",")))
ROOM = 2_000
BATCH = 1_000
PORTION = 5_000
QUERIES = 200
APPENDS = 300
COMPACTED = 3  # rooms at each size, each of them once
WARM = 10
AGENT = "helper"
PEOPLE = ("ann", "bob")
SEARCHED = "room-0"
MAX_GROWTH = 2.0
_DROP = "DROP INDEX IF EXISTS vectors_instant_v1, vectors_minilm_l6_v2_int8"
_INSTANT = """
CREATE INDEX vectors_instant_v1 ON vectors USING hnsw ((vector::halfvec(256)) halfvec_ip_ops)
WITH (ef_construction = 100) WHERE space_id = 1
"""
_DEEP = """
CREATE INDEX vectors_minilm_l6_v2_int8 ON vectors USING hnsw ((vector::halfvec(384)) halfvec_ip_ops)
WITH (ef_construction = 100) WHERE space_id = 2
"""
_INTRO = """## Growth

`make bench-growth` measured this on {day} ({machine}): rooms of {room:,} messages in one tenant that grows, over HTTP,
the embedding of the question included (alone as well: it can't grow, so what it grows is noise). Compaction is without
a model. Filled and indexed: {filled}.
"""
_STORE = "SELECT store_vectors(2::int2, %(ids)s::int8[], %(parts)s::int2[], %(vectors)b)"
_WITHOUT_DEEP = "SELECT id FROM entries WHERE id > %s ORDER BY id"


class Tenant:
    """The tenant that grows, filled through the transcript's own append."""

    def __init__(self, conninfo: str, pool: Pool, tenant_id: UUID) -> None:
        self._conninfo, self.pool, self.id = conninfo, pool, tenant_id
        self._owner, self._viewer = everything_in(tenant_id), Viewer(tenant_id, "admin")
        self._registry, self._doors = PostgresRegistry(pool), PostgresDoors(pool)
        self._writer, self._reader = Writer(1), Reader()
        self._noise, self._last_entry = np.random.default_rng(3), 0
        self._sample, self._embedder = np.empty(0), LocalEmbedder(1)
        self.rooms = 0
        self.texts: list[str] = []

    async def furnish(self) -> None:
        await self._registry.put_agent(self._owner, AGENT, None, None)
        for user in PEOPLE:
            await self._registry.put_user(self._owner, user, None)
            told = "\n".join(self._writer.text() for _ in range(20))
            await PostgresProfiles(self.pool).insert(self._owner, user, told)
        texts = [self._writer.text() for _ in range(SAMPLE)]
        self._sample = np.array(await self._embedder.embed(texts), np.float32)

    async def grow(self, messages: int) -> None:
        with migrate.owner(self._conninfo) as conn:
            conn.execute(_DROP)
        while self.rooms * ROOM < messages:
            await self._fill_room(f"room-{self.rooms}")
            self.rooms += 1
            if self.rooms % 50 == 0:
                print(f"  {self.rooms * ROOM:,} of {messages:,} appended", file=sys.stderr)

    async def _fill_room(self, room: str) -> None:
        await self._registry.put_room(self._owner, room, None)
        await self._registry.join(self._owner, room, agent=AGENT)
        for user in PEOPLE:
            await self._registry.join(self._owner, room, user=user)
        wanted = transcript.NewConversation("room", None, AGENT, room, None, {})
        await transcript.put(self._doors, PostgresConversations(self.pool), self._viewer, room, wanted)
        place, store = await self._doors.place(self.id, room), PostgresTranscript(self.pool)
        for _ in range(ROOM // BATCH):
            drafts = [Draft("user", self._writer.text(), user=PEOPLE[number % 2]) for number in range(BATCH)]
            await transcript.append(store, self._reader, grant(self._viewer, place), self._viewer, place, drafts)
            if room == SEARCHED:
                self.texts += [draft.content for draft in drafts]

    async def index(self) -> None:
        with migrate.owner(self._conninfo) as conn:
            conn.execute("SET maintenance_work_mem = '3GB'")
            conn.execute("SET statement_timeout = 0")
            while conn.execute("SELECT settle_entries(20000)").fetchone() != (0,):
                pass
            conn.execute("SELECT flush_lexemes()")
            conn.execute(_INSTANT)
            await self._store_deep([row[0] for row in conn.execute(_WITHOUT_DEEP, (self._last_entry,))])
            conn.execute(_DEEP)
            conn.execute("VACUUM ANALYZE")

    async def _store_deep(self, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), PORTION):
            some = list(ids[start : start + PORTION])
            made = self._sample[self._noise.integers(0, SAMPLE, len(some))]
            made += NOISE * self._noise.normal(size=made.shape).astype(np.float32) / np.sqrt(made.shape[1])
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            vectors = Vectors(pack_vector(vector) for vector in made)
            await self.pool.fetch(_STORE, {"ids": some, "parts": [0] * len(some), "vectors": vectors})
        self._last_entry = max(ids, default=self._last_entry)

    def questions(self) -> list[str]:
        return [self._writer.query(text) for text in self.texts[:: ROOM // QUERIES]]

    async def yardstick(self) -> list[float]:
        """Embed the questions alone: what grows here is the machine's noise."""
        taken = []
        for question in self.questions():
            started = time.perf_counter()
            await self._embedder.embed_query(question)
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
    report({size: await measure(service, tenant, step, size) for step, size in enumerate(SIZES)})
    await pool.close()


def main() -> None:
    with served(worker="false") as service, asyncio.Runner() as runner:
        runner.run(run(service))


if __name__ == "__main__":
    main()
