"""Words for time in questions: 60 made from the dates of LoCoMo, and those that LongMemEval asks at its own dates.

    python bench/time_words.py    DATA=folder; SETS=locomo,longmemeval chooses

Each of the 60 asks for a turn by two of its words that other days have, too, and by when it was said, on a day from
which the phrase means the turn's day. With and without `time_words`, and with a wrong phrase. Recipe `fast`.
"""

import asyncio
import gzip
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from _sets import LOCOMO, LONGMEMEVAL, Asked, Scope, Turn, find, locomo, longmemeval
from keepword.embedding.words import read_words
from keepword.period import Calendar
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.scope_cache import ScopeCache
from keepword.recall import Recall, RecallRequest
from keepword.recall.time_words import understand
from recall import Stored, World, turns_of

SEED, A_SCOPE = 18, 6
UTC_ZONE = ZoneInfo("UTC")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Timed:
    """A question, when it is asked, the turn it asks for, and the days that its phrase means."""

    text: str
    at: datetime
    turn: str
    since: datetime
    before: datetime


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _days_ago(said: datetime, days: int) -> tuple[datetime, datetime, datetime]:
    start = _midnight(said)
    return start + days * DAY + timedelta(hours=10), start, start + DAY


def _week(said: datetime, weeks: int) -> tuple[datetime, datetime, datetime]:
    monday = _midnight(said) - said.weekday() * DAY
    return monday + (7 * weeks + 5) * DAY + timedelta(hours=23), monday, monday + 7 * DAY


def _month(said: datetime, months: int) -> tuple[datetime, datetime, datetime]:
    first = _midnight(said).replace(day=1)
    following = (first + 32 * DAY).replace(day=1)
    asked = following if months else following - DAY
    return asked + timedelta(hours=20), first, following


# a phrase, and from the time of a turn: when it is asked, and from when up to when it means
FORMS = [
    lambda said: ("yesterday", _days_ago(said, 1)),
    lambda said: ("two days ago", _days_ago(said, 2)),
    lambda said: (f"on {said:%A}", _days_ago(said, 4)),
    lambda said: (f"last {said:%A}", _days_ago(said, 6)),
    lambda said: ("last week", _week(said, 1)),
    lambda said: ("this week", _week(said, 0)),
    lambda said: ("last month", _month(said, 1)),
    lambda said: (f"in {said:%B}", _month(said, 1)),
    lambda said: (f"on {said.day} {said:%B}", (said + 40 * DAY, *_days_ago(said, 0)[1:])),
    lambda said: ("5 days ago", _days_ago(said, 5)),
]


def timed_questions(scope: Scope, first: int, rng: random.Random) -> Iterator[Timed]:
    turns = [turn for talk in scope.talks for turn in talk]
    days = {turn.id: turn.at.date() for turn in turns}
    words = {turn.id: _words(turn) for turn in turns}
    counts = Counter(stem for held in words.values() for stem in held)
    shuffled = rng.sample(turns, len(turns))
    for number in range(first, first + A_SCOPE):
        phrase, turn, (at, since, before) = _pick(shuffled, words, counts, days, FORMS[number % len(FORMS)])
        shared = sorted(words[turn.id], key=lambda stem: (counts[stem], stem))
        topic = [words[turn.id][stem] for stem in shared if counts[stem] >= 3][:2]
        yield Timed(f"What did {turn.speaker} say {phrase} about {' and '.join(topic)}?", at, turn.id, since, before)


def _pick(turns: list[Turn], words: dict, counts: Counter, days: dict, form: Any) -> tuple[str, Turn, tuple]:
    while turns:
        turn = turns.pop()
        phrase, times = form(turn.at)
        topic = sorted((stem for stem in words[turn.id] if counts[stem] >= 3), key=lambda stem: (counts[stem], stem))[
            :2
        ]
        others = {days[id_] for id_, held in words.items() if set(topic) & held.keys()}
        if len(topic) == 2 and len(others) > 1:
            return phrase, turn, times
    raise ValueError("no turn is left to ask for")


def _words(turn: Turn) -> dict[str, str]:
    forms = read_words(turn.text).stems
    return {stems[0]: word for word, stems in forms.items() if stems and len(word) > 3}


class Clocked:
    """A search whose clock is that of the question."""

    def __init__(self, stored: Stored) -> None:
        self.now = datetime.now(UTC)
        index = PostgresIndex(stored.pool, ScopeCache(stored.pool, 2**30, eager=True))
        self._recall = Recall(index, stored.reader.table, None, Calendar(lambda: self.now, UTC_ZONE))

    async def ask(self, world: World, text: str, at: datetime, **options: Any) -> tuple[list[str], list[datetime]]:
        self.now = at
        found = await self._recall.search(
            world.grant, RecallRequest(text, recipe="fast", limit=20, **options), world.asker
        )
        turns = list(dict.fromkeys(turn for hit in found.results for turn in turns_of(world, hit)))
        return turns, [hit.created_at for hit in found.results]


async def measure_locomo(stored: Stored, worlds: list[World]) -> None:
    rng = random.Random(SEED)
    clocked = Clocked(stored)
    counts: Counter[str] = Counter()
    for place, world in enumerate(worlds):
        for asked in timed_questions(world.scope, place * A_SCOPE, rng):
            counts["questions"] += 1
            said = understand(asked.text, asked.at, UTC_ZONE)
            is_right = said is not None and (said.since, said.before) == (asked.since, asked.before)
            counts["right window"] += is_right
            if not is_right:
                print(f"  {asked.text} at {asked.at:%Y-%m-%d}: {said}", file=sys.stderr)
            for name, at, options in (
                ("on", asked.at, {}), ("off", asked.at, {"time_words": False}),
                ("hard", asked.at, {"since": asked.since, "before": asked.before}),
                ("wrong", asked.at + 14 * DAY, {}),
            ):  # fmt: skip
                turns, times = await clocked.ask(world, asked.text, at, **options)
                counts[f"{name}: first in window"] += bool(times) and asked.since <= times[0] < asked.before
                counts[f"{name}: turn in 3"] += asked.turn in turns[:3]
                counts[f"{name}: turn in 10"] += asked.turn in turns[:10]
    _print("LoCoMo, 60 questions with words for time", counts)


async def measure_order(stored: Stored, worlds: list[World]) -> None:
    """Ask when a word was first or last said, of words that few turns have."""
    rng = random.Random(SEED)
    clocked = Clocked(stored)
    counts: Counter[str] = Counter()
    for world in worlds:
        turns = [turn for talk in world.scope.talks for turn in talk]
        held: dict[str, list[Turn]] = {}
        surface: dict[str, str] = {}
        for turn in turns:
            for stem, word in _words(turn).items():
                held.setdefault(stem, []).append(turn)
                surface[stem] = word
        some = sorted(stem for stem, of in held.items() if 3 <= len(of) <= 8)
        for stem in rng.sample(some, 10):
            for order, truth in (("first", held[stem][0]), ("last", held[stem][-1])):
                text, at = f"When did we {order} talk about {surface[stem]}?", turns[-1].at + 30 * DAY
                text = text.replace("did we last talk", "did we last talk")
                counts["questions"] += 1
                for name, options in (("on", {}), ("off", {"time_words": False})):
                    ranked, _ = await clocked.ask(world, text, at, **options)
                    counts[f"{name}: right turn first"] += ranked[:1] == [truth.id]
                    counts[f"{name}: right turn in 3"] += truth.id in ranked[:3]
    _print("LoCoMo, first and last", counts)


async def measure_longmemeval(stored: Stored, world: World, dates: dict[str, datetime]) -> None:
    """Ask what LongMemEval asks on the day when it asks it, where its words say when."""
    clocked = Clocked(stored)
    totals: Counter[str] = Counter()
    for asked in world.scope.questions:
        at = dates[asked.text]
        said = understand(asked.text, at, UTC_ZONE)
        kinds = [] if said is None else [k for k, v in (("window", said.since), ("order", said.order)) if v]
        if not kinds:
            continue
        for name, options in (("on", {}), ("off", {"time_words": False})):
            turns, _ = await clocked.ask(world, asked.text, at, **options)
            found = _recall(asked, turns)
            for kind in kinds:
                totals[f"{kind}, {name}: Recall@10"] += found
        for kind in kinds:
            totals[f"{kind}, questions"] += 1
    means = {
        name: total / totals[f"{name.split(',')[0]}, questions"] if "Recall" in name else total
        for name, total in totals.items()
    }
    _print("LongMemEval at its own dates, questions that say when", means)


def _recall(asked: Asked, turns: list[str]) -> float:
    return len(asked.evidence & set(turns[:10])) / len(asked.evidence)


def _print(title: str, counts: dict[str, float]) -> None:
    print(f"\n## {title}\n")
    for name, value in counts.items():
        print(f"{name}: {value if isinstance(value, int) else round(value, 3)}", flush=True)


def question_dates(path: Path) -> dict[str, datetime]:
    samples = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    return {
        one["question"]: datetime.strptime(one["question_date"], "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
        for one in samples
    }


async def run(conninfo: str, data: Path) -> None:
    sets = os.environ.get("SETS", "locomo,longmemeval").split(",")
    pool = Pool(conninfo, Limits(4, 60))
    await pool.open()
    stored = Stored(pool, conninfo)
    with migrate.owner(conninfo) as conn:
        tenants = {
            name: conn.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (name,)).fetchone()[0]
            for name in sets
        }
    if "locomo" in sets and (path := find(data, LOCOMO)):
        worlds = [await stored.store(scope, "locomo", tenants["locomo"]) for scope in locomo(path)]
        await stored.settle(deep=False)
        await measure_locomo(stored, worlds)
        await measure_order(stored, worlds)
    if "longmemeval" in sets and (path := find(data, LONGMEMEVAL)):
        world = await stored.store(longmemeval(path), "longmemeval", tenants["longmemeval"])
        await stored.settle(deep=False)
        await measure_longmemeval(stored, world, question_dates(path))
    await stored.models.aclose()
    await pool.close()


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="kw-time-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        asyncio.run(run(cluster.conninfo, Path(os.environ.get("DATA", "../shared/data"))))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
