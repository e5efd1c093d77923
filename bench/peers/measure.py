"""Measure one system in one phase, in that system's own environment: `measure.py SYSTEM PHASE PLAN RESULT`.

Phases: `recall` (LoCoMo, a scope for each conversation), `bulk` (turns stored at once, embedded for true) and `size:N`
(single appends and searches beside N turns in one scope, embedded for true). Only filling takes vectors from the cache.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from embedder import Embedder
from world import Doc, Question, Vectors, World, read

WARM = 10
DEPTH = 20
PATIENCE_SECONDS = 60
ENOUGH = 20


class System(Protocol):
    """What a system has to do. `variants` are its ways to search; `kept` says when an append is on disk.

    What is filled is findable at once, or when the system has settled.
    """

    variants: tuple[str, ...]
    kept: str
    findable_at_once: bool
    appends: int

    def prepare(self, docs: list[Doc]) -> None: ...
    def fill(self, docs: list[Doc]) -> None: ...
    def append(self, doc: Doc) -> None: ...
    def search(self, scope: str, text: str, amount: int, variant: str) -> list[str]: ...
    def settle(self) -> None: ...
    def told(self, docs: list[Doc]) -> dict[str, float]: ...
    def memory_mb(self) -> float: ...
    def disk_mb(self) -> float: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Plan:
    world: Path
    cache: Path
    grown: int
    searches: int
    appends: int
    bulk: int
    batch: int

    def texts(self, world: World) -> list[str]:
        said = [doc.text for doc in world.docs] + [question.text for question in world.questions]
        return said + [doc.text for doc in world.grown(self.grown)]


@dataclass
class Bench:
    """All that a system is opened with."""

    plan: Plan
    world: World
    folder: Path
    embedder: Embedder

    def remember(self) -> None:
        self.embedder.known = Vectors(self.plan.cache, self.plan.texts(self.world)).known()

    def forget(self) -> None:
        """Embed for true from now on, and give the memory of the cache back: it is not the system's."""
        self.embedder.known = {}
        gc.collect()
        with suppress(OSError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def batches(docs: list[Doc], size: int) -> Iterator[list[Doc]]:
    for start in range(0, len(docs), size):
        yield docs[start : start + size]


def timed(action: Callable[..., Any], *args: Any) -> float:
    started = time.perf_counter()
    action(*args)
    return time.perf_counter() - started


def spread(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    late = ordered[int(len(ordered) * 0.95)]
    return {"median_ms": statistics.median(ordered) * 1e3, "p95_ms": late * 1e3, "samples": len(ordered)}


def recall(system: System, bench: Bench) -> dict[str, Any]:
    bench.remember()
    for docs in batches(bench.world.docs, bench.plan.batch):
        system.fill(docs)
    system.settle()
    return {"recall": {variant: judged(system, bench.world.questions, variant) for variant in system.variants}}


def judged(system: System, questions: list[Question], variant: str) -> dict[str, float]:
    marks = [mark(asked, system.search(asked.scope, asked.text, DEPTH, variant)) for asked in questions]
    return {name: statistics.mean(each[name] for each in marks) for name in marks[0]} | {"questions": len(marks)}


def mark(asked: Question, found: list[str]) -> dict[str, float]:
    evidence, ranked = set(asked.evidence), list(dict.fromkeys(found))
    shares = {f"r{k}": len(evidence & set(ranked[:k])) / len(evidence) for k in (1, 5, 10, 20)}
    first = next((1 / place for place, id_ in enumerate(ranked, 1) if id_ in evidence), 0.0)
    return shares | {"all10": float(shares["r10"] == 1), "mrr": first}


def bulk(system: System, bench: Bench) -> dict[str, Any]:
    """Store turns in the largest portions that the system takes; Keepword also says when the last was embedded."""
    docs = bench.world.grown(bench.plan.bulk)
    # who speaks where is set up and the model loaded before the clock starts
    system.prepare(docs)
    bench.embedder.one("a text")
    started = time.perf_counter()
    for some in batches(docs, bench.plan.batch):
        system.fill(some)
    stored = time.perf_counter() - started
    system.settle()
    settled = time.perf_counter() - started
    findable = stored if system.findable_at_once else settled
    return {"bulk_rate": len(docs) / findable, "settled_rate": len(docs) / settled, "bulk_turns": len(docs)}


def size(system: System, bench: Bench, turns: int) -> dict[str, Any]:
    bench.remember()
    filling = sum(timed(system.fill, docs) for docs in batches(bench.world.grown(turns), bench.plan.batch))
    system.settle()
    bench.forget()
    searches = searching(system, bench, turns)
    memory, disk = system.memory_mb(), system.disk_mb()
    new = bench.world.grown(turns + WARM + bench.plan.appends)[turns:]
    appends = in_time(timed(system.append, doc) for doc in new[: system.appends])
    kept = appends[WARM:] or appends
    more = bench.world.grown(turns + 2 * (WARM + bench.plan.appends))[turns + len(new) :]
    return {
        "search": {variant: spread(taken) for variant, taken in searches.items()}, "append": spread(kept),
        "memory_mb": memory, "disk_mb": disk, "fill_seconds": filling, **system.told(more),
    }  # fmt: skip


def searching(system: System, bench: Bench, turns: int) -> dict[str, list[float]]:
    texts = bench.world.asked(bench.plan.searches, min(turns, len(bench.world.docs)))
    taken: dict[str, list[float]] = {}
    for variant in system.variants:
        searches = (timed(system.search, "grown", text, DEPTH, variant) for text in texts[:WARM] + texts)
        taken[variant] = in_time(searches)[WARM:]
    return taken


def in_time(samples: Iterator[float]) -> list[float]:
    """Take all samples; of a slow system as many as a minute has, but enough for a median."""
    found: list[float] = []
    for sample in samples:
        found.append(sample)
        if sum(found) > PATIENCE_SECONDS and len(found) >= WARM + ENOUGH:
            break
    return found


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # a service that was started is stopped as well
    name, phase, plan_path, result = sys.argv[1:]
    told = json.loads(Path(plan_path).read_text())
    plan = Plan(Path(told.pop("world")), Path(told.pop("cache")), **told)
    bench = Bench(plan, read(plan.world), Path(os.environ["PEERS_FOLDER"]), Embedder())
    module = importlib.import_module(f"systems.{name}")
    system: System = module.open_system(bench, phase)
    try:
        if phase.startswith("size:"):
            found = size(system, bench, int(phase.removeprefix("size:")))
        else:
            found = {"recall": recall, "bulk": bulk}[phase](system, bench)
    finally:
        system.close()
    about = {"kept": system.kept, "versions": module.versions(), "day": datetime.now(UTC).date().isoformat()}
    Path(result).write_text(json.dumps(found | about))


if __name__ == "__main__":
    main()
