"""LoCoMo's conversations compacted without a model: what each level keeps, and whether every message is reached.

python bench/compaction.py locomo10.json (or LOCOMO=...); the file is not part of the project.
"""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepword import tokens, transcript
from keepword.access import Grant, Viewer, grant
from keepword.compaction.compact import Compactor
from keepword.embedding import TextIndexer
from keepword.faithfulness import named_items
from keepword.model import Draft
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
    SELECT id, conversation_id, leaf_first, leaf_last FROM summaries WHERE tier = 'week'
    UNION ALL
    SELECT s.id, s.conversation_id, s.leaf_first, s.leaf_last FROM summaries s JOIN below b ON s.parent_id = b.id
)
SELECT (SELECT count(*) FROM messages), count(*), count(DISTINCT m.id)
FROM below b JOIN messages m ON m.conversation_id = b.conversation_id AND m.seq BETWEEN b.leaf_first AND b.leaf_last
"""


def read_turns(conversation: dict[str, Any]) -> list[Draft]:
    """Return the turns as messages, a minute apart, from each session's time on."""
    drafts = []
    for number in range(1, 100):
        if f"session_{number}" not in conversation:
            continue
        told = conversation[f"session_{number}_date_time"]
        start = datetime.strptime(f"{told} +0000", "%I:%M %p on %d %B, %Y %z")
        for minute, turn in enumerate(conversation[f"session_{number}"]):
            picture = f" [shares photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            at = start + timedelta(minutes=minute)
            drafts.append(Draft("user", turn["text"] + picture, user=turn["speaker"], created_at=at))
    return drafts


async def settle(pool: Pool, tenant: Any, name: str, conversation: dict[str, Any]) -> Any:
    whole, viewer = Grant(tenant, everything=True), Viewer(tenant, "admin")
    registry, lookup = PostgresRegistry(pool), PostgresPlaceLookup(pool)
    await registry.put_room(whole, name, None)
    await registry.join(whole, name, agent="default")
    for user in (conversation["speaker_a"], conversation["speaker_b"]):
        await registry.put_user(whole, user, None)
        await registry.join(whole, name, user=user)
    await transcript.put(lookup, PostgresConversations(pool), viewer, name, NewConversation(room=name))
    place = await lookup.place(tenant, name)
    drafts = read_turns(conversation)
    for start in range(0, len(drafts), 500):
        opened = grant(viewer, place)
        await transcript.append(PostgresTranscript(pool), READER, opened, viewer, place, drafts[start : start + 500])
    return place


async def measure(conninfo: str, data: list[dict[str, Any]]) -> None:
    with migrate.owner(conninfo) as owner:
        tenant = owner.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()[0]
    pool = Pool(conninfo, Limits(4))
    await pool.open()
    whole, store = Grant(tenant, everything=True), PostgresSummaries(pool, READER)
    places = [await settle(pool, tenant, f"locomo-{n}", one["conversation"]) for n, one in enumerate(data)]
    tokens.count("")  # its tables are read once, not in the time measured
    began = time.perf_counter()
    for place in places:
        await Compactor(store).compact(whole, place.conversation_id, datetime.now(UTC) + timedelta(days=30))
    took = time.perf_counter() - began
    await report(store, whole, places)
    with migrate.owner(conninfo) as owner:
        messages, covered, distinct = owner.execute(_REACHED).fetchone()
    print(f"messages {messages:,}, reached from a week by descent {distinct:,}, in a second leaf {covered - distinct}")
    print(f"took {took:.1f} s, {messages / took:,.0f} messages a second in one process")
    await pool.close()
    assert messages == covered == distinct


def find(text: str) -> set[tuple[str, str]]:
    """Return what must not be lost; dates are written ("7 May 2023") or said ("last Friday")."""
    return {*named_items.find(text).all(), *(("date", date) for date in named_items.spoken_dates(text))}


def read_lines(summary: str) -> set[tuple[str, str]]:
    """Return what stands before the lines of a summary: on which day it was said, and the speaker's name."""
    found = _LINE.findall(summary)
    return {("day", day) for day, _ in found} | {("name", word) for _, who in found for word in named_items.words(who)}


async def report(store: PostgresSummaries, whole: Grant, places: list[Any]) -> None:
    made: dict[str, int] = defaultdict(int)
    sizes: dict[str, list[int]] = {tier: [0, 0] for tier in TIERS}
    kept: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for place in places:
        messages = await store.messages(whole, place.conversation_id, 1, 10**9)
        for summary in await store.tree(whole, place):
            texts = [message.content for message in messages[summary.first_seq - 1 : summary.last_seq]]
            made[summary.tier] += 1
            sizes[summary.tier][0] += sum(map(tokens.count, texts))
            sizes[summary.tier][1] += tokens.count(summary.content)
            said = messages[summary.first_seq - 1 : summary.last_seq]
            source = find("\n".join(texts)) | {("day", f"{message.created_at:%Y-%m-%d}") for message in said}
            shown = find(summary.content) | read_lines(summary.content)
            for kind in KINDS:
                wanted = {item for of, item in source if of == kind}
                kept[summary.tier, kind][0] += len(wanted)
                kept[summary.tier, kind][1] += len(wanted & {item for of, item in shown if of == kind})
    print("level    summaries  source tokens  tokens   share   " + "   ".join(f"{kind}s kept" for kind in KINDS))
    for tier in TIERS:
        before, after = sizes[tier]
        shares = "   ".join(f"{kept[tier, kind][1] / max(1, kept[tier, kind][0]):>10.3f}" for kind in KINDS)
        print(f"{tier:<8} {made[tier]:>9,}  {before:>13,}  {after:>6,}  {after / before:>6.3f}   {shares}")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LOCOMO", "locomo10.json"))
    if not path.is_file():
        print(f"skipped: no {path}; name LoCoMo's locomo10.json as argument or in LOCOMO")
        return
    root = Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        asyncio.run(measure(cluster.conninfo, json.loads(path.read_text(encoding="utf-8"))))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
