"""Search over HTTP, beside the time that the deep model takes to embed the query: the yardstick, in the same run.

    ENTRIES=1000000 python bench/search.py      a smaller number leaves out the largest scope
    KEEP=folder ENTRIES=… python bench/search.py      fills the folder; a second call measures what is there

One tenant: rooms of 600, 2,000 and 50,000 messages, and the rest in a fourth room; the whole tenant is the largest
scope. A folder that `make bench-growth KEEP=folder` left serves as well. The index of the instant space is filled by
the worker's own function, that of the deep one with vectors that are made up.
"""

import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from uuid import UUID

import numpy as np

from _service import Served, served, verdict
from _vectors import DEEP_SPACE, DeepVectors, build, drop_indexes, settle
from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.embedding import TextIndexer
from keepword.embedding.instant import tokenizer
from keepword.embedding.onnx import LocalEmbedder
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.transcript import PostgresTranscript
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import ask

ENTRIES = int(os.environ.get("ENTRIES", "100000"))
ROOMS = {"small": 600, "room": 2_000, "large": 50_000}
QUERIES = 200
TALK = 2_000  # messages a conversation
BATCH = 1_000
SAMPLE = 2_000
# times the yardstick: median in the first three scopes, 95th percentile in the last
AIMS = {"fast": {"small": 1, "room": 1, "large": 1.5, "all": 6}, "best": {"small": 2, "room": 2, "large": 3, "all": 8}}
MIN_RECALL = 0.97
WARM = 10
COPIED = frozenset({"small", "room", "large"})
COPYING_SECONDS = 3


class Writer:
    """Texts with words as frequent as in a language: a rank-frequency law over the tokenizer's own words."""

    def __init__(self, seed: int) -> None:
        vocabulary = sorted(tokenizer().get_vocab().items(), key=lambda pair: pair[1])
        self._words = [word for word, number in vocabulary if number >= 1996 and word.isalpha()]
        self._random = random.Random(seed)
        weights = [1 / (rank + 2.7) for rank in range(len(self._words))]
        self._cumulative = list(np.cumsum(weights))

    def text(self) -> str:
        # a message keeps to its topic: some of its words come from one stretch of the vocabulary
        topic = 40 * self._random.randrange(len(self._words) // 40)
        own = self._random.choices(self._words[topic : topic + 40], k=self._random.randint(5, 12))
        common = self._random.choices(self._words, cum_weights=self._cumulative, k=self._random.randint(4, 14))
        words = own + common
        self._random.shuffle(words)
        return " ".join(words).capitalize() + "."

    def query(self, text: str) -> str:
        words = text.lower().rstrip(".").split()
        return "what did we say about " + " ".join(self._random.sample(words, min(5, len(words)))) + "?"


def sizes() -> dict[str, int]:
    rest = ENTRIES - sum(ROOMS.values())
    return ROOMS | ({"rest": rest} if rest > 0 else {})


async def fill(pool: Pool, tenant_id: UUID, rooms: Mapping[str, int]) -> dict[str, list[str]]:
    """Write these rooms; return questions about what was said in each."""
    owner, viewer = everything_in(tenant_id), Viewer(tenant_id, "admin")
    registry, lookup, conversations = PostgresRegistry(pool), PostgresPlaceLookup(pool), PostgresConversations(pool)
    store, reader, writer = PostgresTranscript(pool), TextIndexer(), Writer(1)
    queries: dict[str, list[str]] = {}
    await registry.put_agent(owner, "helper", None, None)
    for room, amount in rooms.items():
        await registry.put_room(owner, room, None)
        await registry.join(owner, room, agent="helper")
        picked: list[str] = []
        for start in range(0, amount, TALK):
            name = f"{room}-{start // TALK}"
            wanted = transcript.NewConversation("room", None, "helper", room, None, {})
            await transcript.put(lookup, conversations, viewer, name, wanted)
            place = await lookup.place(tenant_id, name)
            for first in range(start, min(start + TALK, amount), BATCH):
                drafts = [Draft("assistant", writer.text()) for _ in range(min(BATCH, amount - first))]
                await transcript.append(store, reader, grant(viewer, place), viewer, place, drafts)
                picked += [draft.content for draft in random.Random(first).sample(drafts, 2)]
            if start % 100_000 == 0 and start:
                print(f"  {start:,} of {amount:,} in {room}", file=sys.stderr)
        random.Random(7).shuffle(picked)
        queries[room] = [writer.query(picked[number % len(picked)]) for number in range(QUERIES)]
    return queries


async def index(conninfo: str, pool: Pool, embedder: LocalEmbedder) -> None:
    writer = Writer(2)
    vectors = await DeepVectors.like(embedder, TextIndexer().table, [writer.text() for _ in range(SAMPLE)])
    with migrate.owner(conninfo) as conn:
        definitions = drop_indexes(conn)
        settle(conn)
        await vectors.store(conn, pool)
        build(conn, definitions)


def times(service: Served, scope: str, recipe: str, queries: list[str]) -> list[float]:
    connection = service.connect()
    taken = []
    for place, query in enumerate(queries[:WARM] + queries):
        if place == 2 and scope in COPIED:
            # the second search of a scope has it copied, beside; wait for that, as an agent waits for a person
            time.sleep(COPYING_SECONDS)
        body = {"query": query, "recipe": recipe} | ({} if scope == "all" else {"conversation": f"{scope}-0"})
        raw = json.dumps(body).encode()
        started = time.perf_counter()
        status, answer = connection.request("POST", "/v1/search", raw)
        if place >= WARM:
            taken.append(time.perf_counter() - started)
        found = json.loads(answer)
        if status != 200 or found["degraded"] or not found["results"]:
            sys.exit(f"search failed: {status} {answer[:300]!r}")
    return taken


async def yardstick(embedder: LocalEmbedder, queries: list[str]) -> list[float]:
    taken = []
    for query in queries[:10] + queries:
        started = time.perf_counter()
        await embedder.embed_query(query)
        taken.append(time.perf_counter() - started)
    return taken[10:]


async def index_recall(
    pool: Pool, tenant_id: UUID, scope: str, queries: list[str], embedder: LocalEmbedder
) -> list[str]:
    """Compare the ten nearest that a search finds with those of an exact one, inside the grant.

    Twice: in the copy that a process keeps of a scope up to 60,000 entries, and through the database's indexes.
    """
    lookup, reader = PostgresPlaceLookup(pool), TextIndexer()
    viewer = Viewer(tenant_id, "admin")
    place = None if scope == "all" else await lookup.place(tenant_id, f"{scope}-0")
    opened = everything_in(tenant_id) if place is None else grant(viewer, place)
    exact = PostgresIndex(pool, small=10**9)
    cache = ScopeCache(pool, 2**30, eager=True)
    ways = {"index": PostgresIndex(pool, small=-1), "copy": PostgresIndex(pool, cache)}
    if scope == "all":
        del ways["copy"]
    lines = []
    for (way, arms), name in product(ways.items(), ("instant", "deep")):
        shares = []
        for query in queries[: 20 if scope == "all" else 50]:
            vector = DeepQuery(DEEP_SPACE, await embedder.embed_query(query)) if name == "deep" else None
            # no words: only what the vectors' arm finds
            question = replace(ask("", reader.table), text=query, vector=ask(query, reader.table).vector)
            looked_for = Query(question, Filter(), name == "instant", DEEP_SPACE if vector else None)
            tens = []
            for index in (arms, exact):
                found = await (await index.begin(opened, looked_for)).candidates(vector)
                values = found.deeps if name == "deep" else found.instants
                tens.append(set(found.ids[np.argsort(-np.nan_to_num(values, nan=-9), kind="stable")[:10]].tolist()))
            shares.append(len(tens[0] & tens[1]) / max(1, len(tens[1])))
        mean = statistics.mean(shares)
        met = "met" if mean >= MIN_RECALL else "MISSED"
        lines.append(f"{scope:>6} {name:>7} recall@10 of the {way}: {mean:.3f} (aim {MIN_RECALL}): {met}")
    await cache.aclose()
    return lines


async def prepare(
    conninfo: str, known: dict[str, list[str]] | None
) -> tuple[Pool, UUID, LocalEmbedder, dict[str, list[str]]]:
    pool = Pool(conninfo, Limits(4, 3600))
    await pool.open()
    with migrate.owner(conninfo) as conn:
        (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
    embedder = LocalEmbedder(1)
    if known:
        return pool, tenant_id, embedder, known
    started = time.monotonic()
    queries = await fill(pool, tenant_id, sizes())
    queries["all"] = queries["rest"] if "rest" in queries else queries["large"]
    print(f"appended {sum(sizes().values()):,} in {time.monotonic() - started:.0f} s")
    started = time.monotonic()
    await index(conninfo, pool, embedder)
    print(f"indexed in {time.monotonic() - started:.0f} s")
    return pool, tenant_id, embedder, queries


def main() -> None:
    keep = Path(os.environ["KEEP"]) if "KEEP" in os.environ else None
    notes = keep / "queries.json" if keep else None
    known = json.loads(notes.read_text()) if notes and notes.exists() else None
    with served(keep, worker="false") as service, asyncio.Runner() as runner:
        pool, tenant_id, embedder, queries = runner.run(prepare(service.conninfo, known))
        if notes and not known:
            notes.write_text(json.dumps(queries))
            return
        scopes = ["small", "room", "large", *(["all"] if "rest" in sizes() else [])]
        measured = {}
        for scope in scopes:
            # in turns, so that a noisy moment hits both
            yard = runner.run(yardstick(embedder, queries[scope]))
            for recipe in AIMS:
                measured[scope, recipe] = (times(service, scope, recipe, queries[scope]), yard)
        for (scope, recipe), (taken, yard) in measured.items():
            base = statistics.median(yard)
            median, late = statistics.median(taken), sorted(taken)[int(0.95 * len(taken))]
            print(
                f"{scope:>6} {recipe}: median {median * 1e3:.2f} ms, 95th percentile {late * 1e3:.2f} ms, "
                f"embedding the query {base * 1e3:.2f} ms"
            )
            value = (late if scope == "all" else median) / base
            verdict(f"{scope} {recipe}, times the yardstick", value, aim=AIMS[recipe][scope])
        for scope in scopes:
            print("\n".join(runner.run(index_recall(pool, tenant_id, scope, queries[scope], embedder))))
        runner.run(pool.close())


if __name__ == "__main__":
    main()
