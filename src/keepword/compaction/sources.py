"""The value types of compaction: the source of a summary, and the summary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from keepword.compaction.plan import Tier
from keepword.model import Message

PIPELINE_VERSION = 5
LEVELS: dict[Tier, str] = {"thread": "leaf", "session": "branch", "day": "root", "week": "root"}
DEPTHS: dict[Tier, int] = {"thread": 0, "session": 1, "day": 2, "week": 3}


@dataclass(frozen=True, slots=True)
class ConversationHeading:
    """The conversation that a summary belongs to, as its preamble names it."""

    external_id: str
    agent: str
    channel: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class TierSummary:
    """A summary of one tier, with the messages that it covers."""

    id: UUID
    tier: Tier
    first_seq: int
    last_seq: int
    earliest_at: datetime
    latest_at: datetime
    text: str
    message_tokens: int
    key_decisions: Sequence[str] = ()
    entities_mentioned: Sequence[str] = ()
    tools_called: Sequence[str] = ()

    @property
    def message_count(self) -> int:
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class SummarySource:
    """What one summary is made from: messages for a leaf, the children's summaries above it.

    `sentences` describe tool calls without content, by the message's id. `span` are the first and the last message that
    it stands for, also where these were retracted; without it, those that are here.
    """

    about: ConversationHeading
    tier: Tier
    messages: Sequence[Message] = ()
    children: Sequence[TierSummary] = ()
    sentences: dict[UUID, str] = field(default_factory=dict)
    span: tuple[int, int] | None = None

    @property
    def earliest_at(self) -> datetime:
        return min([child.earliest_at for child in self.children] or [said.created_at for said in self.messages])

    @property
    def latest_at(self) -> datetime:
        return max([child.latest_at for child in self.children] or [said.created_at for said in self.messages])

    @property
    def first_seq(self) -> int:
        if self.span is not None:
            return self.span[0]
        return min([child.first_seq for child in self.children] or [message.seq for message in self.messages])

    @property
    def last_seq(self) -> int:
        if self.span is not None:
            return self.span[1]
        return max([child.last_seq for child in self.children] or [message.seq for message in self.messages])

    @property
    def message_count(self) -> int:
        return sum(child.message_count for child in self.children) or len(self.messages)


def minute(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="minutes") + "Z"
