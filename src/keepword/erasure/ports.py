"""What retracting and erasing need from a store. Nothing is changed without a Grant."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant, Place
from keepword.answers import Erasure, ErasureKind, ErasureState, Retention
from keepword.embedding import Entry

RetractOutcome = Literal["retracted", "before", "erased", "absent", "of another"]
RestoreOutcome = Literal["restored", "not retracted", "erased", "absent", "of another"]


@dataclass(frozen=True, slots=True)
class Speakers:
    """Whose messages the caller may take back: this user's and this agent's; with neither, everybody's."""

    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Retracted:
    """`revived` are memories that are true again, because what superseded them went."""

    outcome: RetractOutcome
    message_id: UUID | None
    at: datetime | None
    revived: tuple[UUID, ...] = ()


class Retractions(Protocol):
    async def retract(
        self, grant: Grant, place: Place, seq: int, of: Speakers, by: str, reason: str | None
    ) -> Retracted: ...

    async def restore(self, grant: Grant, place: Place, seq: int, of: Speakers) -> RestoreOutcome: ...

    async def index_revived(self, grant: Grant, entries: Mapping[UUID, Entry]) -> None:
        """Let searches find memories that are true again."""
        ...


@dataclass(frozen=True, slots=True)
class ErasureStep:
    """What one batch did. `revived` are memories of the tenant that are true again."""

    tenant_id: UUID
    erasure_id: UUID
    state: ErasureState
    erased_messages: int
    revived: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasedScope:
    """An erasure without rows that are left, and the names and places of what it erased; of a tenant, it is all."""

    tenant_id: UUID
    erasure_id: UUID
    kind: ErasureKind
    names: tuple[str, ...]
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErasureStart:
    """`id` is None in a dry run."""

    id: UUID | None
    counts: Mapping[str, int]
    revived: tuple[UUID, ...] = ()


class Erasures(Protocol):
    """Each `begin` hides what it erases at once; the queue deletes it, a batch at a time.

    All of `begin` return None for what is not there, or is being erased already. With `dry_run` they count alone.
    """

    async def erase_message(
        self, grant: Grant, place: Place, seq: int, of: Speakers, by: str, *, dry_run: bool
    ) -> ErasureStart | None: ...

    async def begin_conversation(self, grant: Grant, place: Place, *, dry_run: bool) -> ErasureStart | None: ...

    async def begin_user(self, grant: Grant, user: str, *, dry_run: bool) -> ErasureStart | None: ...

    async def begin_tenant(self, grant: Grant, *, dry_run: bool) -> ErasureStart | None: ...

    async def find(self, grant: Grant, erasure_id: UUID) -> Erasure | None: ...

    async def index_revived(self, grant: Grant, entries: Mapping[UUID, Entry]) -> None: ...

    async def retention(self, grant: Grant, where: UUID | str) -> Retention | None:
        """Tell how long a conversation, by its internal id, or a room keeps its messages; the tenant's owner may."""
        ...

    async def change_retention(self, grant: Grant, where: UUID | str, days: int | None) -> None: ...


class ErasureQueue(Protocol):
    """The erasures of all tenants that go on: ids and numbers alone."""

    async def advance(self, erasure_id: UUID | None, messages: int, seconds: float | None = None) -> ErasureStep | None:
        """Erase a batch of this erasure, or of the oldest; None if there is nothing to do, or another does it.

        Raises TookTooLong after so many seconds, or after those that any statement has.
        """
        ...

    async def expire(self, at: datetime, messages: int, seconds: float | None = None) -> ErasureStep | None:
        """Erase a batch of what its tenant keeps no longer; None if there is nothing, or another does it."""
        ...

    async def erased(self) -> Sequence[ErasedScope]:
        """Return those whose rows are gone and whose files are still to be rewritten."""
        ...

    async def finish(self, scope: ErasedScope) -> None: ...

    async def last(self) -> datetime | None:
        """Return when something was erased last, in any tenant."""
        ...


class PersonalData(Protocol):
    """All that is kept of one user."""

    def chunks(self, grant: Grant, user: str) -> AsyncGenerator[bytes]:
        """Yield JSON lines, all as they are at one moment; none where nobody of that name is there."""
        ...


class OutsideStore(Protocol):
    """What is kept of conversations outside of the database."""

    async def wipe(self, scope: ErasedScope) -> None: ...
