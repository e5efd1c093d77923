"""What every system is given: LoCoMo's turns and questions, the turns grown to a large scope, and their vectors."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

CHUNK = 500
DIMENSIONS = 384
ECHO_WORDS = 4
ECHO_STEP = 101


@dataclass(frozen=True)
class Doc:
    id: str
    scope: str
    speaker: str
    said: str
    at: str

    @property
    def text(self) -> str:
        return f"{self.speaker}: {self.said}"


@dataclass(frozen=True)
class Question:
    scope: str
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class World:
    docs: list[Doc]
    questions: list[Question]

    def grown(self, amount: int, scope: str = "grown") -> list[Doc]:
        """Return that many turns of one scope: all of LoCoMo, then again and again, each time a little changed.

        In round r a turn ends with the first four words of the turn 101 times r places after it.
        """
        return [self._nth(number, scope) for number in range(amount)]

    def _nth(self, number: int, scope: str) -> Doc:
        rounds, place = divmod(number, len(self.docs))
        doc = self.docs[place]
        echo = self.docs[(place + ECHO_STEP * rounds) % len(self.docs)].said.split()[:ECHO_WORDS] if rounds else []
        return Doc(f"n{number}", scope, doc.speaker, " ".join([doc.said, *echo]), doc.at)

    def asked(self, amount: int, turns: int) -> list[str]:
        """Return questions whose evidence is among the first turns, evenly from all of them."""
        first = {doc.id for doc in self.docs[:turns]}
        fit = [question.text for question in self.questions if first.issuperset(question.evidence)]
        return [fit[number * len(fit) // amount] for number in range(amount)]


def write(path: Path, world: World) -> None:
    parts = {"docs": [asdict(doc) for doc in world.docs], "questions": [asdict(asked) for asked in world.questions]}
    path.write_text(json.dumps(parts))


def read(path: Path) -> World:
    parts = json.loads(path.read_text())
    questions = [Question(each["scope"], each["text"], tuple(each["evidence"])) for each in parts["questions"]]
    return World([Doc(**each) for each in parts["docs"]], questions)


class Vectors:
    """Vectors by text on disk, made once for all systems: for filling only, what is timed embeds for itself."""

    def __init__(self, folder: Path, texts: list[str]) -> None:
        self._texts = list(dict.fromkeys(texts))
        digest = hashlib.sha256("\0".join(self._texts).encode()).hexdigest()[:16]
        self._path = folder / f"vectors-{digest}.f32"

    def missing(self) -> Iterator[list[str]]:
        done = self._path.stat().st_size // (4 * DIMENSIONS) if self._path.exists() else 0
        done -= done % CHUNK if done < len(self._texts) else 0
        if self._path.exists():
            os.truncate(self._path, done * 4 * DIMENSIONS)
        for start in range(done, len(self._texts), CHUNK):
            yield self._texts[start : start + CHUNK]

    def fill(self, embedder: Any) -> None:
        for number, texts in enumerate(self.missing()):
            with self._path.open("ab") as file:
                file.write(np.array(embedder.embed(texts), np.float32).tobytes())
            if number % 10 == 0:
                print(f"  embedding for the cache: {self._path.stat().st_size // (4 * DIMENSIONS):,}", file=sys.stderr)

    def known(self) -> dict[str, np.ndarray]:
        made = np.fromfile(self._path, np.float32).reshape(-1, DIMENSIONS)
        return dict(zip(self._texts, made, strict=False))
