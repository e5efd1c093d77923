"""A synthesized answer: sentences with citations."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Citation:
    """A finding: the message, summary, memory or landmark, and its number in the answer."""

    number: int
    kind: str
    id: UUID
    conversation: str | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class CitedSentence:
    text: str
    cites: Sequence[Citation]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """`text` is all sentences with their numbers.

    `shortened` are the findings of which the model read only the beginning, `left_out` counts those that it did not
    read at all: its window had no room.
    """

    text: str
    sentences: Sequence[CitedSentence]
    model: str
    shortened: Sequence[Citation] = ()
    left_out: int = 0
