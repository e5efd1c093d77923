"""How well memories are extracted: precision and recall on a written set, duplicates, contradictions.

The set was written before the rules, by the same hand; they were built on one half of it, and the other was held out.
By now both halves and the fresh set were read while the rules were changed. The blind set was written by somebody who
had not read the rules, then the rules were changed without a look at what they do on it: its first figure, before that,
was precision .976 and recall .723. Who wrote it knew its texts while changing the rules, so its figure is optimistic.
`--model URL NAME [AMOUNT]` measures the model's path on a sample of the held out half instead, 30 exchanges by default,
or as many as it gets through in MINUTES=10.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from keepword.llm import chat
from keepword.memories.consolidate import ValidMemory, consolidate
from keepword.memories.extract import NAME, find
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.rules import extract
from keepword.model import Message
from keepword.secret_text import has_secret
from keepword.transcript.secrets_hidden import hide_secrets

SET = Path(__file__).parent / "extraction" / "exchanges.json"
FRESH = SET.with_name("fresh.json")
BLIND = SET.with_name("blind.json")
# written with a gap `{}`, so that scanners of repositories do not take them for leaked ones
SECRETS = SET.with_name("secrets.json")
BEGAN = datetime(2026, 4, 18, 9, tzinfo=UTC)
_SPACE = UUID(int=7)
MINUTES = float(os.environ.get("MINUTES", "10"))


@dataclass
class Count:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    typed: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


def messages(said: Sequence[Sequence[str]], number: int, user: str = "ann") -> list[Message]:
    return [
        Message(
            uuid5(_SPACE, f"{number}/{turn}"), "set", turn, role, user if role == "user" else None, "ada", text,
            "recall" if role == "tool" else None, None, None, (), {}, None,
            BEGAN + timedelta(minutes=number, seconds=turn),
        )
        for turn, (role, text) in enumerate(said, 1)
    ]  # fmt: skip


def holds(text: str, terms: Iterable[str]) -> bool:
    """Tell whether each term occurs; of `one|another` one is enough."""
    folded = text.casefold()
    return all(any(way.casefold() in folded for way in term.split("|")) for term in terms)


def judge(count: Count, exchange: dict[str, Any], found: Sequence[ExtractedMemory]) -> None:
    left = list(exchange["keep"])
    for memory in found:
        kept = next((one for one in left if holds(memory.text, one["terms"])), None)
        if kept is None:
            count.wrong += 1
            count.errors.append(f"  wrong:  {memory.type}: {memory.text}")
        else:
            left.remove(kept)
            count.right += 1
            count.typed += kept["type"] == memory.type
    count.missed += len(left)
    count.errors += [
        f"  missed: {one['type']}: {', '.join(one['terms'])} in {exchange['said'][0][1]!r}" for one in left
    ]


def measure(exchanges: Sequence[dict[str, Any]]) -> dict[str, Count]:
    counts = {half: Count() for half in ("building", "held out", "fresh", "blind")}
    for number, exchange in enumerate(exchanges):
        judge(counts[exchange["half"]], exchange, extract(messages(exchange["said"], number)))
    return counts


def run_twice(exchanges: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Return how many memories there are after one run over everything, and how many a second run adds."""
    valid: dict[UUID, ValidMemory] = {}
    sizes = []
    for _ in range(2):
        before = len(valid)
        for number, exchange in enumerate(exchanges):
            _apply(valid, extract(messages(exchange["said"], number, f"user{number}")))
        sizes.append(len(valid) - before)
    return sizes[0], sizes[1]


def _apply(valid: dict[UUID, ValidMemory], found: Sequence[ExtractedMemory]) -> list[ValidMemory]:
    changes = consolidate(list(valid.values()), found)
    valid.update(
        {
            new.id: ValidMemory(new.id, new.extracted.type, new.extracted.text, new.extracted.at)
            for new in changes.added
            if not new.valid_to
        }
    )
    return [valid.pop(gone.id) for gone in changes.superseded]


def resolve(pairs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the contradictions that were not resolved."""
    failed = []
    for number, pair in enumerate(pairs):
        valid: dict[UUID, ValidMemory] = {}
        first = messages([["user", pair["first"]]], 2 * number)
        _apply(valid, extract(first))
        gone = _apply(valid, extract(messages([["user", pair["then"]]], 2 * number + 1), first))
        now = [held.text for held in valid.values()]
        if not (len(gone) == len(now) == 1 and holds(gone[0].text, pair["old"]) and holds(now[0], pair["new"])):
            failed.append(f"  {pair['first']} / {pair['then']}: valid {now}, in history {[held.text for held in gone]}")
    return failed


def keep_secrets() -> list[str]:
    """Return the memories that hold a secret of the set, and the texts in which one is not hidden."""
    failed = []
    for number, row in enumerate(json.loads(SECRETS.read_text())):
        said, secret = row["said"].replace("{}", ""), row["secret"].replace("{}", "")
        hidden = hide_secrets(messages([["user", said]], number))
        failed += [one.text for one in extract(hidden) if secret in one.text]
        failed += [one.content for one in hidden if secret in one.content]
    return failed


def count_false_alarms(path: Path) -> tuple[int, int]:
    """Return how many of LoCoMo's turns are taken for secrets, none of which holds one, and how many there are."""
    conversations = [one["conversation"] for one in json.loads(path.read_text())]
    sessions = (turns for one in conversations for turns in one.values() if isinstance(turns, list))
    texts = [turn["text"] for turns in sessions for turn in turns]
    return sum(map(has_secret, texts)), len(texts)


async def ask(exchanges: Sequence[dict[str, Any]], url: str, model: str, amount: int) -> None:
    """Print how the model does on exchanges spread over the held out half."""
    held_out = [(number, one) for number, one in enumerate(exchanges) if one["half"] == "held out"]
    sample = held_out[:: max(1, len(held_out) // amount)][:amount]
    by_model, by_rules, fallen, done = Count(), Count(), 0, 0
    began = time.perf_counter()
    async with chat.Chat(chat.Endpoint(url, model, None, 8192, 300)) as client:
        for number, exchange in sample:
            if (left := 60 * MINUTES - (time.perf_counter() - began)) <= 0:
                break
            print(f"{done + 1} of {len(sample)}, {60 * MINUTES - left:.0f} s: {exchange['said'][0][1]!r}", flush=True)
            made = await find(messages(exchange["said"], number), (), client)
            print(*(f"    {one.type}: {one.text}" for one in made.memories), sep="\n", flush=True)
            done += 1
            fallen += made.model == NAME
            judge(by_model, exchange, made.memories)
            judge(by_rules, exchange, extract(messages(exchange["said"], number)))
    for name, count in ((f"model {model}", by_model), ("rules", by_rules)):
        print(f"{name}, {done} exchanges: precision {count.precision:.3f}, recall {count.recall:.3f}")
    print(f"the model gave no readable answer {fallen} times, and the rules answered")
    print(*by_model.errors, sep="\n")


def _exchanges(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [*made["exchanges"], *json.loads(FRESH.read_text()), *json.loads(BLIND.read_text())]


def main() -> None:
    made = json.loads(SET.read_text())
    exchanges, pairs = _exchanges(made), made["contradictions"]
    if "--model" in sys.argv:
        url, model, *amount = sys.argv[sys.argv.index("--model") + 1 :]
        asyncio.run(ask(exchanges, url, model, int(amount[0]) if amount else 30))
        return
    print(f"{len(exchanges)} exchanges, {sum(len(one['keep']) for one in exchanges)} memories to keep")
    for half, count in measure(exchanges).items():
        print(
            f"{half:>9}: precision {count.precision:.3f}, recall {count.recall:.3f}, right type "
            f"{count.typed / max(1, count.right):.3f} ({count.right} right, {count.wrong} wrong, {count.missed} missed)"
        )
        if "-v" in sys.argv or ("-b" in sys.argv and half == "building"):
            print(*count.errors, sep="\n")
    first, second = run_twice(exchanges)
    print(f"run twice: {first} memories, {second} more after the second run")
    failed = resolve(pairs)
    print(f"contradictions: {len(pairs) - len(failed)} of {len(pairs)} resolved with the old value in history")
    if failed:
        print(*failed, sep="\n")
    kept = keep_secrets()
    print(f"secrets: {len(kept)} of {len(json.loads(SECRETS.read_text()))} kept", *kept, sep="\n")
    if locomo := os.environ.get("LOCOMO"):
        alarms, turns = count_false_alarms(Path(locomo))
        print(f"false alarms on LoCoMo: {alarms} of {turns:,} turns")


if __name__ == "__main__":
    main()
