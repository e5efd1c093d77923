"""The 70 % rule over windows of 2k to 128k tokens, with and without agent files that fill their quarter.

    python bench/compose_windows.py        WINDOWS=2000,16000 chooses

Each cell is a fresh conversation of 40 messages whose tokens are a given share of the agent's window, composed once.
"""

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from _service import Connection, served
from keepword import tokens

WINDOWS = [int(each) for each in os.environ.get("WINDOWS", "2000,4000,8000,16000,32000,48000,64000,128000").split(",")]
# of the window; a message is shown by at most 16,000 characters, so that 40 can't fill a large window twice
LOADS = (0.35, 0.91, 1.1, 1.96)
MOST_MESSAGE_TOKENS = 3_400
MESSAGES = 40
COMPACT_ABOVE = 0.7
FILES_SHARE = 0.25
# the attribution that stands before each line
LINE_TOKENS = 28
LEAST_MESSAGE_TOKENS = 45
UNLIMITED = 100_000_000

_NAMES = "Ann Bob Karl Mira Oslo Lisbon Harbour Turbine Postgres Redis Friday Monday".split()
_VERBS = "moves checks repairs orders measures paints ships counts records delays".split()
_THINGS = "the blue crane|the spare pump|the north gate|the backup server|the rope|the invoice|the lamp|the map".split(
    "|"
)


@dataclass(frozen=True, slots=True)
class Cell:
    window: int
    load: float
    files: bool

    @property
    def messages(self) -> int:
        """Forty, but fewer where forty short ones would already be more than the share."""
        return min(MESSAGES, max(1, int(self.load * self.window / LEAST_MESSAGE_TOKENS)))

    @property
    def message_tokens(self) -> int:
        return int(self.load * self.window / self.messages) - LINE_TOKENS

    @property
    def is_possible(self) -> bool:
        return self.message_tokens <= MOST_MESSAGE_TOKENS


class Speaker:
    """Says sentences that differ; every tenth message holds a decision."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def message(self, size_tokens: int) -> str:
        self._number += 1
        text = f"Decision: we keep plan {self._number}. " if self._number % 10 == 0 else ""
        while True:
            longer = text + self._sentence()
            if text and tokens.count(longer) > size_tokens:
                return text.strip()
            text = longer

    def _sentence(self) -> str:
        pick = self._random.choice
        number = self._random.randrange(10_000)
        return f"{pick(_NAMES)} {pick(_VERBS)} {pick(_THINGS)} number {number} before {pick(_NAMES)} comes. "


def talk(connection: Connection, cell: Cell) -> str:
    name = f"w{cell.window}-{int(cell.load * 100)}-{int(cell.files)}"
    speaker = Speaker(cell.window)
    connection.json("PUT", f"/v1/agents/{name}", {"context_window": cell.window})
    if cell.files:
        content = "\n".join(speaker.message(20) for _ in range(cell.window // 40))
        connection.json("PUT", f"/v1/agents/{name}/files/SOUL.md", {"content": content})
    connection.json("PUT", f"/v1/conversations/{name}", {"agent": name})
    texts = [speaker.message(cell.message_tokens) for _ in range(cell.messages)]
    said = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]
    connection.json("POST", f"/v1/conversations/{name}/messages", said)
    return name


def compose(connection: Connection, cell: Cell) -> tuple[str, int, dict[str, Any]]:
    """Compose once; also return what everything takes where nothing has to be cut."""
    name = talk(connection, cell)
    body = {"conversation": name, "message": "Which plan do we keep?", "workspace_tokens": UNLIMITED}
    # nothing is found that is not in the transcript: what remains are files, which get a quarter
    quarter = int(cell.window * FILES_SHARE)
    uncut = {"window_tokens": UNLIMITED, "workspace_tokens": quarter, "dry_run": True}
    whole = connection.json("POST", "/v1/compose", body | uncut)
    return name, whole["tokens"], connection.json("POST", "/v1/compose", body)


def row(cell: Cell, uncut: int, made: dict[str, Any], summaries: list[dict[str, Any]]) -> Iterator[str]:
    sections = {section["name"]: section for section in made["sections"]}
    raw = [line for line in sections.get("transcript", {"lines": []})["lines"] if line["kind"] == "message"]
    stored = tokens.count("\n".join(one["summary"]["content"] for one in summaries))
    shown = sections["summary"]["tokens"] if "summary" in sections else 0
    missing = cell.messages - len(raw) - sum(one["summary"]["message_count"] for one in summaries)
    gaps = [each for each in made.get("left_out", []) if (each["section"], each["kind"]) == ("transcript", "message")]
    named = sum(each["count"] for each in gaps if each["reason"] != "summarised")
    must_fire = uncut > COMPACT_ABOVE * cell.window
    fired = made["compacted"] > 0
    right = fired == must_fire and bool(shown) == fired and named == missing and made["tokens"] <= cell.window
    yield f"{cell.window:,}"
    yield "yes" if cell.files else "no"
    yield f"{cell.messages} of {cell.message_tokens:,}"
    yield f"{uncut / cell.window:.0%}"
    yield "yes" if must_fire else "no"
    yield f"{made['compacted']}"
    yield f"{len(raw)}"
    yield f"{shown:,} of {stored:,}" if summaries else "-"
    yield f"{missing}"
    yield f"{named}"
    yield f"{made['share']:.0%}"
    yield "as the rule says" if right else "WRONG"


_HEAD = ("window", "files", "messages of tokens", "all, uncut", "must fire", "compacted", "raw shown",
         "summary tokens shown", "messages missing", "named", "window used", "verdict")  # fmt: skip


def main() -> None:
    cells = [Cell(window, load, files) for window in WINDOWS for files in (False, True) for load in LOADS]
    print(f"| {' | '.join(_HEAD)} |\n|{' --- |' * len(_HEAD)}")
    wrong = 0
    with served(worker="false", embedding="none") as service:
        connection = service.connect()
        for cell in (each for each in cells if each.is_possible):
            name, uncut, made = compose(connection, cell)
            summaries = connection.json("GET", f"/v1/conversations/{name}/summaries")["summaries"]
            told = list(row(cell, uncut, made, summaries))
            wrong += told[-1] == "WRONG"
            print(f"| {' | '.join(told)} |", flush=True)
    print(f"\n{wrong} cells are not as the rule says")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
