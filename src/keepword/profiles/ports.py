"""What profiles need from a store. Nothing is read without a Grant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant

MemoryType = Literal["user", "workspace"]


@dataclass(frozen=True, slots=True)
class Profile:
    """`user` is None for the workspace's."""

    id: UUID
    type: MemoryType
    user: str | None
    memory: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """Which profiles, in which order, and which page of them, counted from 1.

    `sorts` are up to three of created_at, updated_at and type, with a minus in front for the other way round.
    """

    number: int = 1
    size: int = 50
    sorts: tuple[str, ...] = ("created_at",)
    type: MemoryType | None = None
    user: str | None = None


class Profiles(Protocol):
    async def get(self, grant: Grant, id_: UUID) -> Profile | None: ...

    async def page(self, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
        """Return a page and how many there are on all pages."""
        ...

    async def insert(self, grant: Grant, user: str | None, memory: str) -> Profile | None:
        """Return None if there is one already."""
        ...

    async def change(self, grant: Grant, id_: UUID, memory: str) -> Profile | None: ...

    async def delete(self, grant: Grant, id_: UUID) -> bool: ...

    async def upsert(self, grant: Grant, user: str | None, memory: str, source_time: datetime) -> bool:
        """Make or replace it in one step; False if what is there comes from a later source."""
        ...
