"""A sample of what the rules keep of what people said to assistants, to be read and judged by eye.

DATA=folder python bench/extraction_sample.py [SEED]        AMOUNT=100

Takes the human turns of LongMemEval and of tau-bench, three memories to one; their files are not part of the project.
"""

import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from _sets import LONGMEMEVAL, find, longmemeval
from extraction import messages
from keepword.memories.rules import extract

AMOUNT = int(os.environ.get("AMOUNT", "100"))


def of_longmemeval(path: Path) -> Iterator[Sequence[Sequence[str]]]:
    for turns in longmemeval(path).talks:
        yield [(turn.role, turn.text) for turn in turns]


def of_tau_bench(folder: Path) -> Iterator[Sequence[Sequence[str]]]:
    for path in sorted(folder.glob("**/*.json")):
        for one in json.loads(path.read_text(encoding="utf-8")):
            said = [turn for turn in one["traj"] if turn["role"] in {"user", "assistant"}]
            yield [(turn["role"], turn.get("content") or "") for turn in said]


def read(talks: Iterator[Sequence[Sequence[str]]], name: str) -> list[str]:
    human, kept = 0, []
    for number, said in enumerate(talks):
        human += sum(role == "user" for role, _ in said)
        kept += [f"{name} | {one.type}: {one.text}" for one in extract(messages(said, number))]
    print(f"{name}: {len(kept)} memories of {human:,} human turns")
    return kept


def main() -> None:
    data = Path(os.environ.get("DATA", "../shared/data"))
    path, folder = find(data, LONGMEMEVAL), data / "tau_bench"
    if path is None or not folder.is_dir():
        print(f"skipped: no {LONGMEMEVAL} or no tau_bench in {data}; name the folder with DATA=")
        return
    chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for kept, amount in (
        (read(of_longmemeval(path), "LongMemEval"), AMOUNT * 3 // 4),
        (read(of_tau_bench(folder), "tau-bench"), AMOUNT - AMOUNT * 3 // 4),
    ):
        print(*chance.sample(kept, min(amount, len(kept))), sep="\n")


if __name__ == "__main__":
    main()
