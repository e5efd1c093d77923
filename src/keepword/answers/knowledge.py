"""What is kept beside the transcript: facts, memories, working memory, ledger."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from keepword.model import Visibility

FactType = Literal["string", "number", "integer", "boolean", "object", "array"]
ScopeKind = Literal["user", "project", "room", "global"]
MemoryType = Literal["correction", "preference", "decision", "fact", "task", "action"]
# whose word a memory is
SaidBy = Literal["user", "agent"]
# why the rules take nothing from a sentence, whatever it says
Refusal = Literal["secret", "question", "guess", "reported", "points elsewhere", "too long"]
# what a memory is at the moment; all but valid ones are out of searches, profiles and contexts
MemoryState = Literal["valid", "superseded", "expired", "deleted"]
MemoryEvent = Literal["added", "merged", "superseded", "changed", "deleted", "restored", "expired", "rated"]
Feedback = Literal["positive", "negative", "very_negative"]


@dataclass(frozen=True, slots=True)
class Fact:
    """`scope_id` is null for a global one; `type` is the declared one."""

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
    value: Annotated[Any, Field(description="null if it was deleted")]
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
    """`times` counts how often it was said; without `valid_to` it is true now.

    One of a project has no conversation and no user, and an agent only if one told it.
    """

    id: UUID
    conversation: str | None
    run_id: str
    visibility: Visibility
    user: str | None
    agent: str | None
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
    metadata: dict[str, Any]
    categories: tuple[str, ...]
    expires_at: datetime | None
    feedback: Feedback | None
    feedback_reason: str | None
    state: MemoryState
    said_by: Annotated[SaidBy, Field(description="whose word it is; an agent's has no user")]


@dataclass(frozen=True, slots=True)
class DeletedMemories:
    """How many memories matched, and how many of them were deleted: none by a dry run, at most 1,000 by one call."""

    matched: int
    deleted: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    memories: tuple[Memory, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class MemoryHit:
    score: float
    memory: Memory


@dataclass(frozen=True, slots=True)
class MemoryHits:
    results: tuple[MemoryHit, ...]


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    version: int
    event: MemoryEvent
    type: MemoryType
    content: str
    importance: float
    confidence: float
    superseded_by: UUID | None
    by: str | None
    written_at: datetime
    metadata: dict[str, Any]
    categories: tuple[str, ...]
    expires_at: datetime | None
    feedback: Feedback | None
    feedback_reason: str | None


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """The newest is first."""

    versions: tuple[MemoryVersion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class WorkingMemorySize:
    """What the memory holds now."""

    bytes: int
    fields: int


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    injected: bool
    value: str | None


@dataclass(frozen=True, slots=True)
class LedgerMark:
    marked: Annotated[bool, Field(description="always true: it is in the ledger now")]
    first: Annotated[bool, Field(description="true to exactly one of all callers: the one who may inject")]


@dataclass(frozen=True, slots=True)
class LedgerEviction:
    evicted: Annotated[bool, Field(description="false if it was not there")]
