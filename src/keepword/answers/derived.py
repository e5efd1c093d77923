"""What is made from what was said: summaries that lead down to the exact words, and landmarks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from keepword.model import Message

LandmarkKind = Literal["decision", "spec", "code", "action", "question", "link", "pin"]

# an agent that stores a summary may give an object or null
Details = tuple[Any, ...] | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Summary:
    """`share` is how much of what it names is in its sources; `reason` says why a model's summary was not taken."""

    id: UUID
    conversation: str
    tier: str
    kind: str
    depth: int
    parent: UUID | None
    content: str
    message_count: int
    earliest_at: datetime
    latest_at: datetime
    first_seq: int | None
    last_seq: int | None
    key_decisions: Details
    entities_mentioned: Details
    tools_called: Details
    agent: str
    user: str | None
    model: str
    share: float
    reason: str | None
    pipeline_version: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SummaryNode:
    summary: Summary
    children: "tuple[SummaryNode, ...]"


@dataclass(frozen=True, slots=True)
class SummaryTree:
    """What no parent has taken yet stands beside the others, in order."""

    summaries: tuple[SummaryNode, ...]


@dataclass(frozen=True, slots=True)
class MadeSummaries:
    """A conversation's summaries after a call that made them; `left` messages have none, and wait for the next call."""

    summaries: tuple[SummaryNode, ...]
    left: int


@dataclass(frozen=True, slots=True)
class SummaryWithSources:
    """A summary with what it was made from: the summaries below it, or for a leaf its messages."""

    summary: Summary
    children: tuple[Summary, ...]
    messages: tuple[Message, ...]
    next: Annotated[str | None, Field(description="where the messages go on, if they did not fit")]


@dataclass(frozen=True, slots=True)
class Landmark:
    """Something that was said, pinned word for word; `pinned_by` is null where Keepword found it."""

    id: UUID
    conversation: str
    message: UUID
    kind: LandmarkKind
    text: str
    role: str
    user: str | None
    agent: str | None
    said_at: datetime
    pinned_by: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LandmarkPage:
    landmarks: tuple[Landmark, ...]
    next: str | None
