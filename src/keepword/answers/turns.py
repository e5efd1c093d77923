"""What is kept of a composed turn, and who may see what: answers for those who look at it later."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from keepword.answers.compose import LeftOut, LineKind, SectionName
from keepword.answers.search import Source
from keepword.model import Kind, Reach, Visibility


@dataclass(frozen=True, slots=True)
class SectionSize:
    """`lines` is how many there were."""

    name: SectionName
    tokens: int
    lines: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A composed turn without its lines. `asked` is the message that was asked, where it was stored before."""

    id: UUID
    conversation: str
    agent: str
    user: str | None
    asked: UUID | None
    template: str
    recipe: str
    reach: Reach | None
    window_tokens: int
    tokens: int
    injected_tokens: int
    proposed_tokens: int
    compacted: int
    sections: tuple[SectionSize, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TurnPage:
    """The newest is first."""

    turns: tuple[Turn, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A line of a turn, with its text as it reads now; of one that may not be read now, only its kind and size."""

    kind: LineKind
    tokens: int
    readable: bool
    id: str | None = None
    score: float | None = None
    reason: str | None = None
    text: Annotated[str | None, Field(description="null also for what described the place of the turn")] = None
    conversation: str | None = None
    seq: int | None = None
    who: str | None = None
    said_at: datetime | None = None
    changed: Annotated[bool, Field(description="whether its text was written again after the turn")] = False


@dataclass(frozen=True, slots=True)
class TurnSection:
    name: SectionName
    tokens: int
    lines: tuple[TurnLine, ...]


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """`previous` is the turn before it in the same conversation."""

    turn: Turn
    question: Annotated[Source | None, Field(description="the message that was asked, if it may be read")]
    question_from: Annotated[
        Literal["asked", "next"] | None,
        Field(description="`next`: it was stored after the turn, as the next message of a user in the conversation"),
    ]
    previous: UUID | None
    sections: tuple[TurnSection, ...]
    left_out: tuple[LeftOut, ...]
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a message is seen in the place, and why."""

    message: UUID
    sees: bool
    because: str


@dataclass(frozen=True, slots=True)
class AccessReport:
    """What a viewer may read in a place: `reads` says it in words."""

    conversation: str
    kind: Kind
    run_id: str
    agent: str | None
    user: str | None
    enters: bool
    reach: Reach | None
    reads: tuple[str, ...]
    writes: bool
    run_ids: tuple[str, ...]
    visibilities: tuple[Visibility, ...]
    verdicts: tuple[Verdict, ...]
