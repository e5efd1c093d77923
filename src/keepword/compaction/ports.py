"""What compaction needs from a store. Nothing is read or written without a Grant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from keepword.access import Grant, Place
from keepword.answers import Landmark, LandmarkKind, Summary
from keepword.compaction.landmarks import DetectedLandmark
from keepword.compaction.plan import MessageOutline, Tier
from keepword.compaction.sources import ConversationHeading, TierSummary
from keepword.compaction.toolcalls import ToolSentence
from keepword.model import Message
from keepword.transcript.ports import MessageSlice, Position

Task = Literal["describe", "landmark"]
# JSON; only what an agent stored may be an object or null
Details = Sequence[Any] | Mapping[str, Any] | None
Pinned = Literal["pinned", "pinned before", "no message", "no words", "other words"]


@dataclass(frozen=True, slots=True)
class CompactionState:
    """What the compactor reads of a conversation: messages without a leaf, summaries without a parent."""

    about: ConversationHeading
    active: bool
    updated_at: datetime
    last_seq: int
    uncovered: Sequence[MessageOutline]
    orphans: dict[Tier, Sequence[TierSummary]]


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary to store: `model` or rules that wrote it, and the ids of its `children`.

    `is_empty`: all that it stands for was retracted, and it is never shown.
    """

    summary: TierSummary
    message_count: int
    model: str
    share: float
    reason: str | None
    children: Sequence[UUID]
    is_empty: bool = False


# how the reason of a leaf begins that was quoted inside a turn: the model's version is still to be made
LATE_REASON_PREFIX = "quoted inside a turn"


@dataclass(frozen=True, slots=True)
class LateLeaf:
    id: UUID
    first_seq: int
    last_seq: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NextLook:
    """When the conversation is due again, decided by a worker that read up to `seen_seq`."""

    seen_seq: int
    due_seq: int
    next_at: datetime | None
    done: bool


@dataclass(frozen=True, slots=True)
class TaskMessage:
    seq: int
    role: str
    content: str
    tool_name: str | None
    tool_args: Any


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """A summary that an agent wrote."""

    id: UUID
    content: str
    key_decisions: Details
    entities_mentioned: Details
    tools_called: Details
    agent: str | None
    user: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class HiddenSummary:
    """A summary that lost its words because one of its messages was retracted, or given back."""

    id: UUID
    tier: Tier
    first_seq: int
    last_seq: int


class Summaries(Protocol):
    async def state(self, grant: Grant, conversation_id: UUID, version: int) -> CompactionState | None: ...

    async def messages(self, grant: Grant, conversation_id: UUID, first_seq: int, last_seq: int) -> list[Message]: ...

    async def sentences(self, grant: Grant, conversation_id: UUID, first_seq: int, last_seq: int) -> dict[int, str]: ...

    async def store(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        """Return False if it, or another of the same messages, is stored already, or if its version was replaced."""
        ...

    async def settle(self, grant: Grant, conversation_id: UUID, version: int, settled: NextLook) -> None: ...

    async def served(self, grant: Grant, conversation_id: UUID) -> tuple[int, int] | None:
        """Return the version that is served, and the last `seq` that its leaves cover."""
        ...

    async def replace(self, grant: Grant, conversation_id: UUID, version: int) -> bool:
        """Serve a version instead of an older one; return False if the older one covers more messages."""
        ...

    async def late(self, grant: Grant, conversation_id: UUID, version: int) -> list[LateLeaf]:
        """Return the leaves that were quoted inside a turn and wait for the model's version."""
        ...

    async def improve(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        """Replace the text of a quoted leaf; False if a model's text is there already."""
        ...

    async def to_remake(self, grant: Grant, conversation_id: UUID) -> list[HiddenSummary]:
        """Return the summaries that have to be made again, from the lowest tier on."""
        ...

    async def kept_children(self, grant: Grant, conversation_id: UUID, summary_id: UUID) -> list[TierSummary]:
        """Return a summary's children without those that are hidden."""
        ...

    async def remake(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        """Give a hidden summary its words again; False if its messages changed meanwhile."""
        ...

    async def wake(self, grant: Grant, conversation_id: UUID) -> None:
        """Make the conversation due now."""
        ...

    async def get(self, grant: Grant, summary_id: UUID) -> Summary | None: ...

    async def children(self, grant: Grant, summary_id: UUID) -> list[Summary]: ...

    async def sources(self, grant: Grant, summary_id: UUID, after: Position | None = None) -> MessageSlice:
        """Return the messages that a leaf covers, in the order of time, after a position."""
        ...

    async def tree(self, grant: Grant, place: Place) -> list[Summary]:
        """Return the summaries of the version that is served."""
        ...

    async def tops(self, grant: Grant, place: Place, limit: int) -> list[Summary]:
        """Return the newest summaries without a parent, newest first, also those that agents wrote."""
        ...

    async def tell(self, grant: Grant, place: Place, summary: AgentSummary) -> bool: ...

    async def told(self, grant: Grant, place: Place) -> list[Summary]: ...


class Tasks(Protocol):
    async def pending(self, grant: Grant, conversation_id: UUID, task: Task, most: int) -> list[TaskMessage]: ...

    async def fail(self, grant: Grant, conversation_id: UUID, task: Task, seq: int) -> None:
        """Count a failure of a message's task: it is tried again after the others, three times in all."""
        ...

    async def store_sentence(self, grant: Grant, conversation_id: UUID, seq: int, sentence: ToolSentence) -> None: ...

    async def store_landmarks(
        self, grant: Grant, conversation_id: UUID, seq: int, landmarks: Sequence[DetectedLandmark]
    ) -> None: ...


class Landmarks(Protocol):
    async def pin(
        self, grant: Grant, place: Place, message_id: UUID, kind: LandmarkKind, text: str | None, by: str | None
    ) -> tuple[UUID, Pinned]: ...

    async def unpin(self, grant: Grant, landmark_id: UUID, by: str | None) -> bool: ...

    async def get(self, grant: Grant, landmark_id: UUID) -> Landmark | None: ...

    async def list(
        self, grant: Grant, kind: LandmarkKind | None, after: tuple[datetime, UUID] | None, limit: int
    ) -> list[Landmark]: ...

    async def latest(self, grant: Grant, limit: int) -> tuple[Sequence[Landmark], int]:
        """Return the newest first, and how many there are."""
        ...
