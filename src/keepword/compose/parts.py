"""What a composed context is made of: items as layers hand them in, lines and sections as agents read them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip
ORDER: tuple[SectionName, ...] = get_args(SectionName)
TITLES: dict[SectionName, str] = {
    "workspace": "WORKSPACE",
    "session": "SESSION CONTEXT",
    "facts": "FACTS",
    "profile": "PROFILE",
    "recall": "RECALL",
    "landmarks": "LANDMARKS",
    "summary": "EPISODIC SUMMARY",
    "transcript": "RAW TRANSCRIPT",
    "invocation": "CURRENT INVOCATION",
}


LineKind = Literal[
    "file", "place", "field", "fact", "profile", "message", "summary", "memory", "landmark", "more", "invocation"
]
ChatRole = Literal["system", "user", "assistant"]
# the chat message in which quoted sections stand
QuotesIn = Literal["user", "system"]
# "summarised": a summary that is shown stands for it; "older": before the last messages, and in no summary yet
LeftOutReason = Literal["over the budget", "over the window", "injected before", "repeated", "summarised", "older"]


@dataclass(frozen=True, slots=True)
class Item:
    """What a line may be made of. Nothing in `text`, `who` and `where` is trusted.

    `links` are ids of what says the same and is left out for it; `entry` is what recall counts the use of.
    `similarity`: how near it comes to the message in meaning, up to 1, where that is known.
    """

    kind: LineKind
    id: str
    text: str
    score: float = 1.0
    reason: str = ""
    who: str = ""
    where: str = ""
    when: datetime | None = None
    links: tuple[str, ...] = ()
    entry: int | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message of the transcript; `seq` counts inside its conversation."""

    item: Item
    conversation: str
    seq: int
    role: ChatRole


@dataclass(frozen=True, slots=True)
class SummaryItem:
    """A summary whose lines may be taken in part; `first_seq` and `last_seq` are None for one that was told.

    `decisions` are its key decisions. `replaces` tells that messages gave way to it in this turn.
    """

    item: Item
    conversation: str
    first_seq: int | None = None
    last_seq: int | None = None
    decisions: tuple[str, ...] = ()
    replaces: bool = False

    def covers(self, turn: TranscriptMessage) -> bool:
        if self.first_seq is None or self.last_seq is None or self.conversation != turn.conversation:
            return False
        return self.first_seq <= turn.seq <= self.last_seq


@dataclass(frozen=True, slots=True)
class LandmarkItem:
    """A landmark, and the message that it is a part of."""

    item: Item
    message: UUID


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many of a kind a section does not show, and why; "line" counts lines of a text that is shown in part.

    Messages also say which: `first_seq` and `last_seq` count inside `conversation`.
    """

    section: SectionName
    kind: LineKind | Literal["line"]
    count: int
    reason: LeftOutReason
    conversation: str | None = None
    first_seq: int | None = None
    last_seq: int | None = None


@dataclass(frozen=True, slots=True)
class TurnMaterial:
    """What the layers know for one turn, each best first, but for turns and digests: oldest first.

    `replaced` are the turns that gave way to a summary; `left_out` is what was left out before anything is filled.
    """

    place: Sequence[Item] = ()
    fields: Sequence[Item] = ()
    files: Sequence[Item] = ()
    facts: Sequence[Item] = ()
    profiles: Sequence[Item] = ()
    recall: Sequence[Item] = ()
    pinned: Sequence[LandmarkItem] = ()
    pinned_total: int = 0
    digests: Sequence[SummaryItem] = ()
    turns: Sequence[TranscriptMessage] = ()
    replaced: Sequence[TranscriptMessage] = ()
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """All in tokens. `injected` is for working memory, facts, profiles and recall together."""

    window: int
    injected: int = 4_000
    landmarks: int = 1_000
    workspace: int = 8_000
    summary: int = 8_000


# From here on lists and tuples, not sequences: what is answered is written as JSON, and these are written fastest.


@dataclass(frozen=True, slots=True)
class Line:
    """`text` is as it is rendered; `links` are the ids of what it stands for beside its own source."""

    kind: LineKind
    id: str
    text: str
    tokens: int
    score: float
    reason: str
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """`tokens` are those of its heading and its lines."""

    name: SectionName
    heading: str
    tokens: int
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True)
class AnthropicCall:
    system: str
    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class ComposedContext:
    """The context of one turn. `injected_tokens` count against the budget; `share` is of the window.

    `degraded` names the layers that were left out and why; `compacted` tells how many messages were just summarised.
    `proposed_tokens` are those of everything before messages gave way and before anything was cut to fit the window;
    `left_out` names what is not shown.
    """

    text: str
    messages: list[ChatMessage]
    anthropic: AnthropicCall
    sections: list[Section]
    tokens: int
    injected_tokens: int
    window_tokens: int
    share: float
    template: str
    degraded: list[str] = field(default_factory=list)
    compacted: int = 0
    proposed_tokens: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
