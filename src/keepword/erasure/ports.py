"""What retracting needs from a store. Nothing is changed without a Grant."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant, Place
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
