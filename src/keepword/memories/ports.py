"""What the semantic layer needs from a store. Nothing is read without a Grant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from keepword.access import Grant
from keepword.answers import DeletedMemories, Feedback, Memory, MemoryType, MemoryVersion
from keepword.embedding import Entry
from keepword.memories.consolidate import MemoryChanges, ValidMemory
from keepword.model import Message

MemoryOutcome = Literal["changed", "deleted", "restored", "absent", "outdated", "superseded", "twin"]


@dataclass(frozen=True, slots=True)
class PendingConversation:
    """A conversation of a scope, and the last `seq` that was read."""

    conversation_id: UUID
    conversation: str
    kind: str
    user: str | None
    done_seq: int


@dataclass(frozen=True, slots=True)
class ExtractionState:
    """A conversation's scope. What is decided on it holds as long as `revision` stays.

    `agents_word`: the tenant also wants what agents say to be remembered.
    """

    run_id: str
    revision: int
    read_at: datetime
    waiting: Sequence[PendingConversation]
    agents_word: bool = False


@dataclass(frozen=True, slots=True)
class CurrentMemories:
    """The valid memories of a scope. What is decided on them holds as long as `revision` stays."""

    revision: int
    valid: Sequence[ValidMemory]


@dataclass(frozen=True, slots=True)
class UnreadMessages:
    """The next unread messages of a conversation, and the messages before them as context.

    `unvouched` are the messages that were stored by a caller who does not vouch for their users.
    """

    waiting: PendingConversation
    messages: Sequence[Message]
    before: Sequence[Message]
    unvouched: frozenset[UUID] = frozenset()

    @property
    def last_seq(self) -> int:
        return self.messages[-1].seq


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is read at once: messages in all, of each conversation, and before them."""

    most: int
    each: int
    context: int


@dataclass(frozen=True, slots=True)
class MemoryWording:
    """What a memory is changed to say, and how it is found."""

    type: MemoryType
    content: str
    importance: float
    confidence: float
    digest: bytes
    entry: Entry
    metadata: dict[str, Any] = field(default_factory=dict)
    categories: Sequence[str] = ()
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemorySelection:
    """Which memories to list; without `as_of`, those that are valid now. `filter` is a tree of filters.write_filter."""

    type: MemoryType | None = None
    user: str | None = None
    agent: str | None = None
    as_of: datetime | None = None
    after: tuple[datetime, UUID] | None = None
    limit: int = 50
    filter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """Which memories a page has that is asked for by its number, the newest first; `user` narrows by an index.

    `known`: how many of them the caller has already; where no others pass the filter, none are read.
    """

    filter: dict[str, Any]
    limit: int
    offset: int = 0
    user: str | None = None
    known: int = 0


@dataclass(frozen=True, slots=True)
class EntityCount:
    """A user, agent, app or run as mem0's clients name them, and how many valid memories it has."""

    kind: str
    name: str
    memories: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class AddStatus:
    """What became of messages that were added together: `id` is that of the last one."""

    id: UUID
    conversation: str
    said_at: datetime
    is_read: bool
    memory_ids: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class ReadRange:
    """What was read, and by whom: a model or the rules."""

    unread: UnreadMessages
    model: str


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """What one transaction writes: memories extracted from a conversation, and memories that callers added."""

    changes: MemoryChanges
    entries: Mapping[UUID, Entry]
    read: Sequence[ReadRange] = ()
    by: str | None = None


class Memories(Protocol):
    async def scope(self, grant: Grant, conversation_id: UUID) -> ExtractionState | None:
        """Return the conversation's scope, with the conversations in it that wait to be read, and this one."""
        ...

    async def unread(
        self, grant: Grant, waiting: Sequence[PendingConversation], portion: BatchLimits
    ) -> list[UnreadMessages]:
        """Return what was said next in any of the conversations: nothing that is left was said earlier."""
        ...

    async def current(self, grant: Grant, conversation_id: UUID) -> CurrentMemories | None:
        """Return what is valid in the conversation's scope, and the scope's revision, both of one moment."""
        ...

    async def valid(self, grant: Grant, run_id: str) -> list[ValidMemory]: ...

    async def stored_pairs(self, grant: Grant, message_ids: Sequence[UUID]) -> set[tuple[UUID, bytes]]:
        """Return the pairs of a message and a memory that was extracted from it, also of ended and deleted memories."""
        ...

    async def store(self, grant: Grant, conversation_id: UUID, revision: int, writing: MemoryWrite) -> bool:
        """Write all or nothing; False if something else was written since the scope had this revision."""
        ...

    async def project_revision(self, grant: Grant, project: str) -> int | None:
        """Return the revision of a project's scope for whoever may write in it; None if there is no such project."""
        ...

    async def store_in_project(self, grant: Grant, project: str, revision: int, writing: MemoryWrite) -> bool:
        """Write what was told of a project, as `store` does."""
        ...

    async def settle(self, grant: Grant, conversation_id: UUID, read_at: datetime) -> None:
        """Note that everything is read, unless messages were appended since then."""
        ...

    async def change(
        self, grant: Grant, memory_id: UUID, to: MemoryWording, expected: int | None, by: str | None
    ) -> MemoryOutcome: ...

    async def delete(self, grant: Grant, memory_id: UUID, expected: int | None, by: str | None) -> MemoryOutcome: ...

    async def restore(
        self, grant: Grant, memory_id: UUID, entry: Entry, expected: int | None, by: str | None
    ) -> MemoryOutcome: ...

    async def rate(
        self, grant: Grant, memory_id: UUID, feedback: Feedback | None, reason: str | None, by: str | None
    ) -> MemoryOutcome: ...

    async def delete_matching(
        self, grant: Grant, filter_: dict[str, Any], limit: int, by: str | None, *, dry_run: bool
    ) -> DeletedMemories:
        """Delete the memories that pass a filter and that the grant may write, in one transaction."""
        ...

    async def get(self, grant: Grant, memory_ids: Sequence[UUID], *, deleted: bool = False) -> list[Memory]:
        """Return those that may be read; with `deleted`, deleted ones as well."""
        ...

    async def of_entries(self, grant: Grant, entry_ids: Sequence[int], passing: dict[str, Any]) -> dict[int, Memory]:
        """Return, by the numbers of their entries, the memories that may be read and pass a filter."""
        ...

    async def select(self, grant: Grant, selection: MemorySelection) -> list[Memory]: ...

    async def page(self, grant: Grant, selection: NumberedPage) -> tuple[int, list[Memory]]:
        """Return how many pass the filter, and those of the page."""
        ...

    async def entities(self, grant: Grant, limit: int) -> list[EntityCount]: ...

    async def mem0_sessions(self, grant: Grant, names: Sequence[str | None], limit: int) -> list[str]:
        """Return sessions of mem0's clients by user, agent, app and run; `*` is everybody, None leaves one open."""
        ...

    async def adds(self, grant: Grant, message_ids: Sequence[UUID]) -> list[AddStatus]:
        """Return how far the adds are that end with these messages; retracted ones are left out."""
        ...

    async def history(self, grant: Grant, memory_id: UUID, before: int, limit: int) -> list[MemoryVersion]: ...

    async def there(self, grant: Grant, run_id: str, message_ids: Sequence[UUID]) -> set[UUID]:
        """Return which of the messages belong to the scope."""
        ...
