"""What the calls return: frozen values with the fields of the HTTP answers, and none more."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from keepword.model import Conversation, Message, Receipt, Role, Visibility

EntryKind = Literal["message", "summary", "memory", "landmark"]
FactType = Literal["string", "number", "integer", "boolean", "object", "array"]
ScopeKind = Literal["user", "project", "room", "global"]
MemoryType = Literal["correction", "preference", "decision", "fact", "task", "action"]
Mode = Literal["hybrid", "words", "meaning", "trigram", "regex"]
SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Receipts:
    messages: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Cursors are None where there is nothing more in that direction now."""

    messages: tuple[Message, ...]
    next: str | None
    previous: str | None


@dataclass(frozen=True, slots=True)
class ConversationPage:
    conversations: tuple[Conversation, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class BufferedMessage:
    id: UUID
    conversation: str
    seq: int
    role: Role
    user: str | None
    agent: str | None
    ts: datetime
    text: str
    tool_name: str | None
    tool_args: Any
    tool_result: str | None
    attachments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The newest is last."""

    messages: tuple[BufferedMessage, ...]


@dataclass(frozen=True, slots=True)
class User:
    id: str
    name: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class UserPage:
    users: tuple[User, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Agent:
    """`context_window` is in tokens."""

    slug: str
    name: str | None
    context_window: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AgentPage:
    agents: tuple[Agent, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One version of a file; without content it was deleted then."""

    name: str
    version: int
    content: str | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class AgentFiles:
    files: tuple[AgentFile, ...]


@dataclass(frozen=True, slots=True)
class Room:
    id: str
    name: str | None
    project: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RoomPage:
    rooms: tuple[Room, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Participants:
    users: tuple[str, ...]
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str | None
    isolated: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectPage:
    projects: tuple[Project, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Members:
    """The conversations (sessions and direct ones) and rooms that are in a project now."""

    conversations: tuple[str, ...]
    rooms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectPut:
    """`opened` are the members that a project which is no longer isolated does not shield any more."""

    project: Project
    made: bool
    opened: Members


@dataclass(frozen=True, slots=True)
class Signal:
    """`share` is what it added to the score, `rank` the place by this signal alone."""

    value: float
    weight: float
    share: float
    rank: int


@dataclass(frozen=True, slots=True)
class Term:
    weight: float
    match: float
    by: Literal["own", "similar", "beside"] | None


@dataclass(frozen=True, slots=True)
class Reason:
    arms: tuple[str, ...]
    signals: dict[str, Signal]
    terms: dict[str, Term]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn beside a hit."""

    entry_id: int
    kind: EntryKind
    source_id: UUID
    part: int
    run_id: str
    conversation: str | None
    seq: int | None
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    importance: float
    text: str


@dataclass(frozen=True, slots=True)
class Inside:
    """What matches in what a summary was made from."""

    kind: EntryKind
    id: UUID
    score: float
    text: str
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    seq: int | None
    entry: int


@dataclass(frozen=True, slots=True)
class Hit:
    """`id` is that of the message, summary, memory or landmark; `why` is there if `explain` was asked for."""

    kind: EntryKind
    id: UUID
    part: int
    score: float
    text: str
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    run_id: str
    conversation: str | None
    seq: int | None
    entry: int
    context: tuple[Turn, ...]
    why: Reason | None
    inside: tuple[Inside, ...]


@dataclass(frozen=True, slots=True)
class Cite:
    number: int
    kind: EntryKind
    id: UUID
    conversation: str | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    cites: tuple[Cite, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """An answer whose every sentence rests on findings, by their numbers in `text`."""

    text: str
    sentences: tuple[Sentence, ...]
    model: str


@dataclass(frozen=True, slots=True)
class Found:
    """The best first. Nothing found is an answer; `hint` then says what to try."""

    results: tuple[Hit, ...]
    searched: dict[str, Any]
    degraded: tuple[str, ...]
    hint: str | None
    answer: Synthesis | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Alerts first: what needs somebody. All but the census is the tenant's, for its owner alone."""

    alerts: tuple[str, ...]
    queues: dict[str, Any]
    compaction: dict[str, Any]
    coverage: dict[str, Any]
    census: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """`links` are the ids of what says the same and was left out for it."""

    kind: str
    id: str
    text: str
    tokens: int
    score: float
    reason: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """`tokens` are those of its heading and its lines."""

    name: SectionName
    heading: str
    tokens: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class AnthropicCall:
    system: str
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Composed:
    """The context of one turn. `injected_tokens` count against the budget; `share` is of the window.

    `degraded` names the layers that were left out and why; `compacted` tells how many messages were just summarised.
    """

    text: str
    messages: tuple[ChatMessage, ...]
    anthropic: AnthropicCall
    sections: tuple[Section, ...]
    tokens: int
    injected_tokens: int
    window_tokens: int
    share: float
    template: str
    degraded: tuple[str, ...]
    compacted: int


@dataclass(frozen=True, slots=True)
class Fact:
    """`scope_id` is None for a global one; `type` is the declared one."""

    scope_kind: ScopeKind
    scope_id: str | None
    key: str
    value: Any
    type: FactType | None
    version: int
    source: UUID | None
    confidence: float | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FactPage:
    facts: tuple[Fact, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FactVersion:
    version: int
    deleted: bool
    value: Any
    type: FactType | None
    source: UUID | None
    confidence: float | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class FactHistory:
    """The newest is first."""

    versions: tuple[FactVersion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """`times` counts how often it was said; without `valid_to` it is true now."""

    id: UUID
    conversation: str
    run_id: str
    visibility: Visibility
    user: str | None
    agent: str
    type: MemoryType
    content: str
    importance: float
    confidence: float
    times: int
    version: int
    valid_from: datetime
    said_at: datetime
    valid_to: datetime | None
    superseded_by: UUID | None
    model: str
    created_at: datetime
    updated_at: datetime
    sources: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    memories: tuple[Memory, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FoundMemory:
    score: float
    memory: Memory


@dataclass(frozen=True, slots=True)
class FoundMemories:
    results: tuple[FoundMemory, ...]


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    version: int
    event: Literal["added", "merged", "superseded", "changed", "deleted"]
    type: MemoryType
    content: str
    importance: float
    confidence: float
    superseded_by: UUID | None
    by: str | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """The newest is first."""

    versions: tuple[MemoryVersion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """What a working memory holds now."""

    bytes: int
    fields: int


@dataclass(frozen=True, slots=True)
class Checked:
    injected: bool
    value: str | None


@dataclass(frozen=True, slots=True)
class Marked:
    marked: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Evicted:
    evicted: bool
