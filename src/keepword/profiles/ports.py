"""The ports of profiles. Nothing is read without a Grant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant

ProfileType = Literal["user", "workspace"]


@dataclass(frozen=True, slots=True)
class Profile:
    """`user` is None for the workspace's. Its `memory` is made of the lines that its reader may see."""

    id: UUID
    type: ProfileType
    user: str | None
    memory: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line, and where it comes from: a memory with the messages it was said in, or the owner's hand.

    `position` is its place in the text that was written by hand; a memory that was remembered later has none.
    `repeats` are the memories that a line of that text repeats, told to the owner alone.
    """

    profile_id: UUID
    user: str | None
    text: str
    position: int | None
    updated_at: datetime
    is_filler: bool = False
    repeats: Sequence[UUID] = ()
    memory: UUID | None = None
    type: str = ""
    importance: float = 0.0
    said_at: datetime | None = None
    run_id: str = ""
    sources: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which profiles, in which order, and which page of them, counted from 1.

    `sorts` are up to three of created_at, updated_at and type, with a minus in front for the other way round.
    """

    number: int = 1
    size: int = 50
    sorts: tuple[str, ...] = ("created_at",)
    type: ProfileType | None = None
    user: str | None = None


class Profiles(Protocol):
    async def get(self, grant: Grant, id_: UUID) -> Profile | None: ...

    async def page(self, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
        """Return a page and how many there are on all pages."""
        ...

    async def lines(self, grant: Grant, limit: int) -> list[ProfileLine]:
        """Return the lines of all profiles that the grant opens, of each up to `limit`, the most important first."""
        ...

    async def write(self, grant: Grant, user: str | None, memory: str, by: str | None) -> UUID:
        """Write the text of a user's profile, or with None of the workspace's, as a whole."""
        ...

    async def delete(self, grant: Grant, id_: UUID, by: str | None) -> None: ...
