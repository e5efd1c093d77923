"""Three sets compacted without a model: what each level keeps, what a context shows by summaries, what is reached.

DATA=folder python bench/compaction.py [locomo] [longmemeval] [tau-bench]        AMOUNT=60

LoCoMo whole; of LongMemEval the sessions of so many questions, each question's in one conversation; of tau-bench so
many conversations. Their files are not part of the project. A question's evidence words are the stems of the turns that
answer it; they are looked for in the summaries of a context for a window of 8,000 tokens.
"""

import asyncio
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from _coverage import product
from _sets import LOCOMO, LONGMEMEVAL, find, haystacks, locomo
from compaction_model import drafts as tau_drafts
from keepword import tokens, transcript
from keepword.access import Grant, Viewer, grant
from keepword.compaction.compact import Compactor
from keepword.compose import ComposeRequest
from keepword.embedding import TextIndexer
from keepword.embedding.words import stem, surfaces
from keepword.faithfulness import named_items
from keepword.model import Draft, Message
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation

READER = TextIndexer()
TIERS = ("thread", "session", "day", "week")
KINDS = ("name", "number", "date", "identifier", "day")
_LINE = re.compile(r"^- (\d{4}-\d\d-\d\d)T\S+ ([^:\s]+):", re.MULTILINE)
_REACHED = """
WITH RECURSIVE below AS (
    SELECT id, conversation_id, leaf_first, leaf_last FROM summaries WHERE parent_id IS NULL
    UNION ALL
    SELECT s.id, s.conversation_id, s.leaf_first, s.leaf_last FROM summaries s JOIN below b ON s.parent_id = b.id
)
SELECT (SELECT count(*) FROM messages), count(*), count(DISTINCT m.id)
FROM below b JOIN messages m ON m.conversation_id = b.conversation_id AND m.seq BETWEEN b.leaf_first AND b.leaf_last
"""


AMOUNT = int(os.environ.get("AMOUNT", "60"))
WINDOW_TOKENS = 8_000
_TAU = "gpt-4o-airline.json"


@dataclass
class Talk:
    """A conversation: its messages, and the questions about it, each with the texts that answer it."""

    name: str
    drafts: list[Draft]
    questions: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def users(self) -> list[str]:
        return sorted({draft.user for draft in self.drafts if draft.user})


def of_locomo(data: Path) -> Iterator[Talk]:
    path = find(data, LOCOMO)
    for scope in locomo(path) if path else ():
        said = [turn for turns in scope.talks for turn in turns]
        texts = {turn.id: turn.text for turn in said}
        # a minute apart, from each session's time on
        drafts = [
            Draft("user", one.text, user=one.speaker, created_at=one.at + timedelta(seconds=59 * one.at.second))
            for one in said
        ]
        yield Talk(scope.name, drafts, [(one.text, [texts[id_] for id_ in one.evidence]) for one in scope.questions])


def of_longmemeval(data: Path) -> Iterator[Talk]:
    path = find(data, LONGMEMEVAL)
    for number, (asked, evidence, turns) in enumerate(haystacks(path) if path else ()):
        if number == AMOUNT:
            return
        drafts = [
            Draft(one.role, one.text, user="ann" if one.role == "user" else None, created_at=one.at) for one in turns
        ]
        yield Talk(f"longmemeval-{number}", drafts, [(asked, [one.text for one in turns if one.id in evidence])])


def of_tau_bench(data: Path) -> Iterator[Talk]:
    path = data / "tau_bench" / _TAU
    said = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    for number, one in enumerate(said[:AMOUNT]):
        yield Talk(f"tau-{number}", tau_drafts(one["traj"]))


SETS = {"locomo": of_locomo, "longmemeval": of_longmemeval, "tau-bench": of_tau_bench}


async def settle(pool: Pool, tenant: Any, talk: Talk) -> Any:
    whole, viewer = Grant(tenant, everything=True), Viewer(tenant, "admin")
    registry, lookup = PostgresRegistry(pool), PostgresPlaceLookup(pool)
    await registry.put_room(whole, talk.name, None)
    await registry.join(whole, talk.name, agent="default")
    for user in talk.users:
        await registry.put_user(whole, user, None)
        await registry.join(whole, talk.name, user=user)
    await transcript.put(lookup, PostgresConversations(pool), viewer, talk.name, NewConversation(room=talk.name))
    place = await lookup.place(tenant, talk.name)
    for start in range(0, len(talk.drafts), 500):
        opened = grant(viewer, place)
        said = talk.drafts[start : start + 500]
        await transcript.append(PostgresTranscript(pool), READER, opened, viewer, place, said)
    return place


async def measure(conninfo: str, home: Path, sets: dict[str, list[Talk]]) -> None:
    with migrate.owner(conninfo) as owner:
        tenant = owner.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()[0]
    pool = Pool(conninfo, Limits(4))
    await pool.open()
    whole, store = Grant(tenant, everything=True), PostgresSummaries(pool, READER)
    tokens.count("")  # its tables are read once, not in the time measured
    for name, talks in sets.items():
        places = [await settle(pool, tenant, talk) for talk in talks]
        began = time.perf_counter()
        for place in places:
            await Compactor(store).compact(whole, place.conversation_id, datetime.now(UTC) + timedelta(days=30))
        took = time.perf_counter() - began
        said = sum(len(talk.drafts) for talk in talks)
        print(f"\n## {name}: {len(talks)} conversations, {said:,} messages, {said / took:,.0f} a second\n")
        await report(store, whole, places)
        if any(talk.questions for talk in talks):
            await cover(
                conninfo, home, whole, dict(zip((one.external_id for one in places), talks, strict=True)), places
            )
    with migrate.owner(conninfo) as owner:
        messages, covered, distinct = owner.execute(_REACHED).fetchone()
    print(f"\nmessages {messages:,}, reached by descent {distinct:,}, in a second leaf {covered - distinct}")
    await pool.close()
    assert messages == covered == distinct


async def cover(conninfo: str, home: Path, whole: Grant, talks: Sequence[tuple[Any, Talk]]) -> None:
    """Compose a turn for each question and look for its evidence's words among the lines of summaries."""
    shares, sizes = list[float](), list[int]()
    async with product(conninfo, home, deep=False) as services:
        for place, talk in talks:
            for asked, evidence in talk.questions:
                request = ComposeRequest(asked, "default", dry_run=True, window_tokens=WINDOW_TOKENS)
                composed = await services.composer.compose(whole, place, request)
                lines = [line.text for one in composed.sections if one.name == "summary" for line in one.lines]
                shown, wanted = stems("\n".join(lines)), stems("\n".join(evidence))
                shares.append(len(shown & wanted) / max(1, len(wanted)))
                sizes.append(sum(map(tokens.count, lines)))
    print(f"{len(shares):,} questions: {statistics.mean(shares):.3f} of the evidence's words are in the summaries of a "
          f"context, {statistics.mean(sizes):,.0f} tokens on average")  # fmt: skip


def stems(text: str) -> set[str]:
    return {stem(word) or word for word in surfaces(text.casefold()) if len(word) > 2}


def find_items(text: str) -> set[tuple[str, str]]:
    """Return what must not be lost; dates are written ("7 May 2023") or said ("last Friday")."""
    return {*named_items.find(text).all(), *(("date", date) for date in named_items.spoken_dates(text))}


def read_lines(summary: str) -> set[tuple[str, str]]:
    """Return what stands before the lines of a summary: on which day it was said, and the speaker's name."""
    found = _LINE.findall(summary)
    return {("day", day) for day, _ in found} | {("name", word) for _, who in found for word in named_items.words(who)}


def text_of(message: Message) -> str:
    called = json.dumps(message.tool_args) if message.tool_args else ""
    return " ".join(part for part in (message.content, called, message.tool_result) if part)


async def report(store: PostgresSummaries, whole: Grant, places: list[Any]) -> None:
    made: dict[str, int] = defaultdict(int)
    sizes: dict[str, list[int]] = {tier: [0, 0] for tier in TIERS}
    kept: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for place in places:
        messages = await store.messages(whole, place.conversation_id, 1, 10**9)
        for summary in await store.tree(whole, place):
            texts = [text_of(message) for message in messages[summary.first_seq - 1 : summary.last_seq]]
            made[summary.tier] += 1
            sizes[summary.tier][0] += sum(map(tokens.count, texts))
            sizes[summary.tier][1] += tokens.count(summary.content)
            said = messages[summary.first_seq - 1 : summary.last_seq]
            source = find_items("\n".join(texts)) | {("day", f"{message.created_at:%Y-%m-%d}") for message in said}
            shown = find_items(summary.content) | read_lines(summary.content)
            for kind in KINDS:
                wanted = {item for of, item in source if of == kind}
                kept[summary.tier, kind][0] += len(wanted)
                kept[summary.tier, kind][1] += len(wanted & {item for of, item in shown if of == kind})
    print("level    summaries  source tokens  tokens   share   " + "   ".join(f"{kind}s kept" for kind in KINDS))
    for tier in TIERS:
        if not made[tier]:
            continue
        before, after = sizes[tier]
        shares = "   ".join(f"{kept[tier, kind][1] / max(1, kept[tier, kind][0]):>10.3f}" for kind in KINDS)
        print(f"{tier:<8} {made[tier]:>9,}  {before:>13,}  {after:>6,}  {after / before:>6.3f}   {shares}")


def main() -> None:
    data = Path(os.environ.get("DATA", "../shared/data"))
    sets = {name: list(SETS[name](data)) for name in sys.argv[1:] or SETS}
    if not any(sets.values()):
        print(f"skipped: none of the sets is in {data}; name the folder with DATA=")
        return
    root = Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        asyncio.run(measure(cluster.conninfo, root / "service", {name: talks for name, talks in sets.items() if talks}))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
