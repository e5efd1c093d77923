"""The ports of facts. Nothing is read without a Grant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant
from keepword.answers import FactType
from keepword.facts.subject import FactSubject


@dataclass(frozen=True, slots=True)
class StoredFact:
    """`value` is JSON text, as it was written; `type` is the declared one."""

    subject: FactSubject
    key: str
    value: str
    type: FactType | None
    version: int
    source: UUID | None
    confidence: float | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredFactVersion:
    """A fact as it once was; without a value it was deleted."""

    version: int
    value: str | None
    type: FactType | None
    source: UUID | None
    confidence: float | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A value to write, as JSON text.

    `keeps_type` leaves the declared type as it is. `expected` is the version to replace: 0 for none, None for any.
    """

    value: str
    type: FactType | None = None
    keeps_type: bool = True
    source: UUID | None = None
    confidence: float | None = None
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class FactOutcome:
    """The result of a put or a delete, or the reason why nothing changed, and the fact then; version 0 is no fact."""

    did: Literal["made", "changed", "same", "deleted", "outdated", "wrong type", "no source", "absent", "owned"]
    version: int
    type: FactType | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Facts(Protocol):
    async def get(self, grant: Grant, subject: FactSubject, key: str) -> StoredFact | None: ...

    async def about(self, grant: Grant, subject: FactSubject, after: str, limit: int) -> list[StoredFact]:
        """Return a subject's facts by key, those after one key."""
        ...

    async def in_place(self, grant: Grant, after: tuple[str, str], limit: int) -> list[StoredFact]:
        """Return all facts that the grant opens by run_id and key, those after one of them."""
        ...

    async def history(
        self, grant: Grant, subject: FactSubject, key: str, before: int, limit: int
    ) -> list[StoredFactVersion]:
        """Return the versions before one, newest first; deleting a fact does not end its history."""
        ...

    async def put(self, grant: Grant, subject: FactSubject, key: str, draft: FactDraft) -> FactOutcome:
        """Write in one atomic step: of several who expect the same version, one writes."""
        ...

    async def delete(self, grant: Grant, subject: FactSubject, key: str, expected: int | None) -> FactOutcome: ...
