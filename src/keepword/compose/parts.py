"""The items that a composed context is made of, as the layers hand them in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from keepword.answers import LeftOut, LineKind, SectionName

# whose words a message of the transcript is: the agent's own, or anybody else's
TurnRole = Literal["user", "assistant"]
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


@dataclass(frozen=True, slots=True)
class Item:
    """The material of one line. Nothing in `text`, `who` and `where` is trusted.

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
    # recalled: where it was said, which messages a summary covers, and the memories that were read from a message
    conversation: str | None = None
    seqs: tuple[int, int] | None = None
    memories: tuple[str, ...] = ()
    # the tokens that its form in the chat takes beyond its line
    extra_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the agent itself made; `id` is the one that it was stored with."""

    id: str | None
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    id: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message of the transcript; `seq` counts inside its conversation.

    With `call` or `result`, `spoken` is what was said beside it; the item's text tells all of it in words.
    """

    item: Item
    conversation: str
    seq: int
    role: TurnRole
    call: ToolCall | None = None
    result: ToolResult | None = None
    spoken: str = ""


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
class TurnMaterial:
    """The layers' answers for one turn, each best first, but for turns and digests: oldest first.

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
