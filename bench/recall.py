"""Recall on LoCoMo and the LongMemEval union, for every recipe and mode, beside BM25 and each vector space alone.

    make bench-recall DATA=folder    SETS=locomo,longmemeval chooses, RUNS=hybrid/fast,compose,... too
    COMPACT=1 compacts everything first, without a model
    MEMORIES=1 extracts memories first, by rules, and compares messages alone with all kinds, by hybrid/fast unless RUNS

The run `compose` tells for LoCoMo how often all evidence is in the composed context; by itself, without deep vectors.
Only the question's text reaches the search. docs/recall.md says what the numbers mean.
"""

import asyncio
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np

from _coverage import AGENT, Coverage, compose_all, product
from _sets import LOCOMO, LONGMEMEVAL, Asked, Scope, find, locomo, longmemeval
from keepword import transcript
from keepword.access import Grant, Place, Viewer, everything_in, grant
from keepword.compaction.compact import Compactor
from keepword.embedding import TextIndexer
from keepword.embedding.embedders import Embedders
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.words import stem, surfaces
from keepword.embedding.worker import Worker
from keepword.errors import InvalidInput
from keepword.language.names import fold
from keepword.memories.operations import Extractor
from keepword.memories.ports import MemorySelection as WantedMemories
from keepword.model import Draft
from keepword.period import Calendar
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.embedded import Cluster
from keepword.postgres.memories import PostgresMemories
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.recall import PostgresIndex, PostgresSpaces
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.recall import RankedHit, Recall, RecallRequest
from keepword.recall.deep import ServedModel
from keepword.recall.ports import Filter, Query
from keepword.recall.question import ask

BATCH = 500
AIMS = {
    ("locomo", "best"): 0.82,
    ("locomo", "fast"): 0.775,
    ("longmemeval", "best"): 0.76,
    ("longmemeval", "fast"): 0.68,
}
RUNS = [
    ("bm25", ""), ("instant alone", ""), ("deep alone", ""), ("hybrid", "fast"), ("hybrid", "best"), ("hybrid", "seed"),
    ("words", "fast"), ("meaning", "fast"), ("meaning", "best"), ("trigram", "fast"),
]  # fmt: skip

ALONE, TOGETHER = "messages alone", "with memories"

Ranking = Callable[["World", Asked], Awaitable[list[str]]]


@dataclass
class World:
    """A scope as it was stored: its grant, and which message was which turn."""

    scope: Scope
    set: str
    grant: Grant
    asker: str | None
    turns: dict[UUID, str]
    places: list[Place]
    memories: dict[UUID, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    category: str
    recall: dict[int, float]
    all_10: float
    reciprocal: float
    seconds: float


class Stored:
    def __init__(self, pool: Pool, conninfo: str) -> None:
        self.pool = pool
        self.reader = TextIndexer()
        self.models = Embedders((LocalEmbedder(os.cpu_count() or 1),))
        self.backlog = PostgresBacklog(pool, conninfo)
        self._doors = PostgresPlaceLookup(pool)
        self._conversations = PostgresConversations(pool)
        self._transcript = PostgresTranscript(pool)
        self._registry = PostgresRegistry(pool)

    def recall(self) -> Recall:
        model = ServedModel(PostgresSpaces(self.pool), self.models)
        # as in a service that has searched the place before
        index = PostgresIndex(self.pool, ScopeCache(self.pool, 2**30, eager=True))
        return Recall(index, self.reader.table, model, Calendar(lambda: datetime.now(UTC), ZoneInfo("UTC")))

    async def store(self, scope: Scope, set_: str, tenant_id: UUID) -> World:
        """Put a scope into a room: its people are users, its turns are messages with their own times."""
        owner, viewer = everything_in(tenant_id), Viewer(tenant_id, "admin")
        users = {turn.speaker for talk in scope.talks for turn in talk if turn.role == "user"}
        await self._registry.put_room(owner, scope.name, None)
        await self._registry.put_agent(owner, AGENT, None, None)
        await self._registry.join(owner, scope.name, agent=AGENT)
        for user in users:
            await self._registry.put_user(owner, user, None)
            await self._registry.join(owner, scope.name, user=user)
        turns: dict[UUID, str] = {}
        places = []
        for number, talk in enumerate(scope.talks):
            name = f"{scope.name}-{number}"
            wanted = transcript.NewConversation("room", None, AGENT, scope.name, None, {})
            await transcript.put(self._doors, self._conversations, viewer, name, wanted)
            place = await self._doors.place(tenant_id, name)
            places.append(place)
            opened = grant(viewer, place)
            for start in range(0, len(talk), BATCH):
                some = talk[start : start + BATCH]
                drafts = [
                    Draft(turn.role, turn.text, turn.speaker if turn.role == "user" else None, created_at=turn.at)
                    for turn in some
                ]
                receipts = await transcript.append(self._transcript, self.reader, opened, viewer, place, drafts)
                turns |= {receipt.id: turn.id for receipt, turn in zip(receipts, some, strict=True)}
        asker = next(iter(users)) if len(users) == 1 else None
        return World(scope, set_, opened, asker, turns, places)

    async def compact(self, worlds: list[World]) -> int:
        compactor = Compactor(PostgresSummaries(self.pool, self.reader))
        later = datetime.now(UTC) + timedelta(days=30)
        made = 0
        for world in worlds:
            for place in world.places:
                owner = everything_in(world.grant.tenant_id)
                made += await compactor.compact(owner, place.conversation_id, later)
        return made

    async def extract(self, worlds: list[World]) -> int:
        """Read everything for memories, and note from which turns each comes."""
        store = PostgresMemories(self.pool)
        extractor = Extractor(store, PostgresProfiles(self.pool), self.reader)
        for world in worlds:
            owner = everything_in(world.grant.tenant_id)
            for place in world.places:
                await extractor.extract(owner, place.conversation_id)
            found = await store.select(world.grant, WantedMemories(limit=10_000))
            world.memories = {one.id: [world.turns[id_] for id_ in one.sources] for one in found}
        return sum(len(world.memories) for world in worlds)

    async def settle(self, *, deep: bool) -> None:
        """Let the worker index and embed everything."""
        models = self.models.all if deep else ()
        worker = asyncio.create_task(Worker(self.backlog, models, _Quiet()).run())
        for space in ("instant-v1", "minilm-conversation-v1") if deep else ("instant-v1",):
            while waiting := await self._waiting(space):
                print(f"  {waiting:,} entries wait for {space}", file=sys.stderr)
                await asyncio.sleep(5)
        worker.cancel()

    async def _waiting(self, space: str) -> int:
        depths = {depth.space: depth.waiting for depth in await self.backlog.depths()}
        return depths.get(space, 0)


class _Quiet:
    def embedded(self, space: str, texts: int) -> None: ...

    def failed(self, space: str, entries: int) -> None:
        print(f"  {entries} entries failed in {space}", file=sys.stderr)


def by_search(recall: Recall, mode: str, recipe: str, kinds: tuple[str, ...] | None = None) -> Ranking:
    async def rank(world: World, asked: Asked) -> list[str]:
        request = RecallRequest(asked.text, mode, recipe, limit=20, kinds=kinds)
        try:
            found = await recall.search(world.grant, request, world.asker)
        except InvalidInput:
            if mode in {"trigram", "regex"}:
                return []  # stopped after its time: whoever asks so finds nothing
            raise
        return list(dict.fromkeys(turn for hit in found.results for turn in turns_of(world, hit)))

    return rank


def turns_of(world: World, hit: RankedHit) -> Iterator[str]:
    """Yield the turns that a result stands for. A summary counts for nothing by itself, a memory by its sources."""
    if hit.kind == "message":
        yield world.turns[hit.id]
    yield from world.memories.get(hit.id, ())
    yield from (world.turns[inner.id] for inner in hit.inside if inner.kind == "message")


def by_vectors(stored: Stored, *, deep: bool) -> Ranking:
    """Compare with every vector of the scope: what one space alone is worth."""
    index = PostgresIndex(stored.pool, small=1_000_000)
    model = ServedModel(PostgresSpaces(stored.pool), stored.models)

    async def rank(world: World, asked: Asked) -> list[str]:
        vector = await model.ask(asked.text) if deep else None
        found = await index.candidates(world.grant, Query(ask(asked.text, stored.reader.table), Filter()), vector)
        values = np.nan_to_num(found.deeps, nan=-1.0) if deep else found.instants
        best = found.ids[np.argsort(-values, kind="stable")[:40]].tolist()
        sources = {entry.entry_id: entry.source_id for entry in await index.show(world.grant, best)}
        return list(dict.fromkeys(world.turns[sources[id_]] for id_ in best))[:20]

    return rank


class Bm25:
    """Textbook BM25 (1.2, 0.75) over stems, the speaker's name included."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[str], list[Counter[str]], Counter[str]]] = {}

    async def rank(self, world: World, asked: Asked) -> list[str]:
        ids, counts, frequencies = self._index(world.scope)
        average = statistics.mean(sum(count.values()) for count in counts)
        weights = {
            term: math.log(1 + (len(ids) - frequencies[term] + 0.5) / (frequencies[term] + 0.5))
            for term in set(_stems(asked.text))
        }
        scores = [_bm25(count, weights, average) for count in counts]
        return [ids[place] for place in np.argsort(-np.array(scores), kind="stable")[:20]]

    def _index(self, scope: Scope) -> tuple[list[str], list[Counter[str]], Counter[str]]:
        if scope.name not in self._known:
            turns = [turn for talk in scope.talks for turn in talk]
            counts = [Counter(_stems(f"{turn.speaker}: {turn.text}")) for turn in turns]
            self._known[scope.name] = (
                [turn.id for turn in turns], counts, Counter(term for count in counts for term in count),
            )  # fmt: skip
        return self._known[scope.name]


def _stems(text: str) -> list[str]:
    return [found for word in surfaces(fold(text)) if (found := stem(word))]


def _bm25(count: Counter[str], weights: dict[str, float], average: float) -> float:
    length = 1.2 * (0.25 + 0.75 * sum(count.values()) / average)
    return sum(weight * count[term] * 2.2 / (count[term] + length) for term, weight in weights.items() if term in count)


def judge(asked: Asked, ranked: list[str], seconds: float) -> Score:
    recall = {k: len(asked.evidence & set(ranked[:k])) / len(asked.evidence) for k in (1, 5, 10, 20)}
    first = next((1 / place for place, turn in enumerate(ranked, 1) if turn in asked.evidence), 0.0)
    return Score(asked.category, recall, float(recall[10] == 1), first, seconds)


def line(name: str, scores: Iterable[Score]) -> str:
    made = list(scores)
    means = [statistics.mean(score.recall[k] for score in made) for k in (1, 5, 10, 20)]
    means += [statistics.mean(score.all_10 for score in made), statistics.mean(score.reciprocal for score in made)]
    milliseconds = statistics.median(score.seconds for score in made) * 1000
    cells = " | ".join(f"{mean:.3f}".removeprefix("0") for mean in means)
    return f"| {name} | {len(made)} | {cells} | {milliseconds:.1f} |"


async def measure(worlds: list[World], runs: list[tuple[str, str, Ranking]]) -> dict[tuple[str, str], float]:
    found = {}
    for set_ in dict.fromkeys(world.set for world in worlds):
        print(f"\n## {set_}\n\n| run | questions | R@1 | R@5 | R@10 | R@20 | all@10 | MRR | median ms |")
        print("| --- " * 9 + "|")
        details = []
        for mode, recipe, rank in runs:
            by_category: dict[str, list[Score]] = defaultdict(list)
            for world in (world for world in worlds if world.set == set_):
                for asked in world.scope.questions:
                    started = time.perf_counter()
                    ranked = await rank(world, asked)
                    by_category[asked.category].append(judge(asked, ranked, time.perf_counter() - started))
            name = f"{mode} {recipe}".strip()
            every = [score for scores in by_category.values() for score in scores]
            print(line(name, every), flush=True)
            details += [line(f"{name}: {category}", by_category[category]) for category in sorted(by_category)]
            for k in (10, 20):
                found[set_, f"{name}@{k}"] = statistics.mean(score.recall[k] for score in every)
        print("\nBy category:\n\n| run | questions | R@1 | R@5 | R@10 | R@20 | all@10 | MRR | median ms |")
        print("| --- " * 9 + "|")
        print("\n".join(details))
    return found


def verdicts(found: dict[tuple[str, str], float]) -> None:
    print("\n## Aims\n")
    for (set_, recipe), aim in AIMS.items():
        if (value := found.get((set_, f"hybrid {recipe}@10"))) is not None:
            print(f"{set_} Recall@10 {recipe}: {value:.3f} (aim {aim}): {'met' if value >= aim else 'MISSED'}")


def compare(found: dict[tuple[str, str], float]) -> None:
    """Print what memories add; that is what is asked of them: not to be worse than messages alone."""
    print("\n## Memories\n")
    for (set_, name), alone in found.items():
        run_, is_alone, k = name.partition(f" {ALONE}")
        if is_alone:
            both = found[set_, f"{run_} {TOGETHER}{k}"]
            met = "met" if both >= alone else "MISSED"
            print(f"{set_} {run_} Recall{k}: messages alone {alone:.4f}, with memories {both:.4f}: not worse: {met}")


async def cover(worlds: list[World], conninfo: str, home: Path, *, deep: bool) -> None:
    """Compose a turn for every question of LoCoMo, where its conversation happened."""
    covered = Coverage()
    async with product(conninfo, home, deep=deep) as services:
        for world in (world for world in worlds if world.set == "locomo"):
            await compose_all(
                services.composer, world.grant, world.places[0], world.scope.questions, world.turns, covered
            )
    if covered.seconds:
        covered.report("locomo")


async def run(conninfo: str, data: Path, home: Path) -> None:
    sets = os.environ.get("SETS", "locomo,longmemeval").split(",")
    memories = bool(os.environ.get("MEMORIES"))
    chosen = os.environ.get("RUNS") or ("hybrid/fast" if memories else None)
    pool = Pool(conninfo, Limits(4, 60))
    await pool.open()
    stored = Stored(pool, conninfo)
    worlds: list[World] = []
    with migrate.owner(conninfo) as conn:
        tenants: dict[str, Any] = {
            name: conn.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (name,)).fetchone()[0]
            for name in sets
        }
    if "locomo" in sets and (path := find(data, LOCOMO)):
        worlds += [await stored.store(scope, "locomo", tenants["locomo"]) for scope in locomo(path)]
    if "longmemeval" in sets and (path := find(data, LONGMEMEVAL)):
        worlds.append(await stored.store(longmemeval(path), "longmemeval", tenants["longmemeval"]))
    if not worlds:
        sys.exit(f"no {LOCOMO} or {LONGMEMEVAL} in {data}; name the folder with DATA=")
    if os.environ.get("COMPACT"):
        print(f"{await stored.compact(worlds):,} summaries made")
    if memories:
        print(f"{await stored.extract(worlds):,} memories made")
    recall = stored.recall()
    special: dict[str, Ranking] = {
        "bm25": Bm25().rank,
        "instant alone": by_vectors(stored, deep=False),
        "deep alone": by_vectors(stored, deep=True),
    }
    runs = [
        (mode, recipe, special.get(mode) or by_search(recall, mode, recipe))
        for mode, recipe in RUNS
        if chosen is None or f"{mode}/{recipe}".rstrip("/") in chosen.split(",")
    ]
    if memories:
        runs = [
            (mode, f"{recipe} {name}", by_search(recall, mode, recipe, kinds))
            for mode, recipe, _ in runs
            if mode not in special
            for name, kinds in ((ALONE, ("message",)), (TOGETHER, None))
        ]
    deep = any(mode == "deep alone" or recipe.split()[:1] in (["best"], ["seed"]) for mode, recipe, _ in runs)
    await stored.settle(deep=deep)
    if runs:
        found = await measure(worlds, runs)
        (compare if memories else verdicts)(found)
    if chosen is None or "compose" in chosen.split(","):
        await cover(worlds, conninfo, home, deep=deep)
    await stored.models.aclose()
    await pool.close()


def main() -> None:
    data = Path(os.environ.get("DATA", "../shared/data"))
    root = Path(tempfile.mkdtemp(prefix="kw-recall-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        asyncio.run(run(cluster.conninfo, data, root / "home"))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
