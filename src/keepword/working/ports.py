"""The ports of working memory, ledger and buffer. Nothing is read without a Grant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from keepword.access import Grant, Place
from keepword.answers import BufferedMessage
from keepword.transcript.ports import MessageBuffer


@dataclass(frozen=True, slots=True)
class FieldsSize:
    """The size of a memory after a put, or the size that the put would have made: `stored` tells which."""

    stored: bool
    bytes: int
    fields: int
    held_bytes: int


class Fields(Protocol):
    """A conversation's fields as stored text, by name. An expired memory is as gone as one that never was."""

    async def get(self, grant: Grant, place: Place) -> dict[str, str]:
        """Return all fields, none if there is no memory; refreshes its lifetime."""
        ...

    async def put(self, grant: Grant, place: Place, stored: Mapping[str, str], ttl_seconds: int | None) -> FieldsSize:
        """Merge in one atomic step, or change nothing where the limits would be passed.

        A lifetime that is given stays the memory's own; without one, the memory keeps what it has.
        """
        ...

    async def delete(self, grant: Grant, place: Place, names: Sequence[str]) -> None:
        """Delete those of the named fields that are there, in one atomic step; refreshes the lifetime."""
        ...

    async def clear(self, grant: Grant, place: Place) -> None: ...


class Ledger(Protocol):
    """What was already injected into a conversation; it never expires."""

    async def get(self, grant: Grant, place: Place) -> dict[str, str]: ...

    async def check(self, grant: Grant, place: Place, item_key: str) -> str | None: ...

    async def mark(self, grant: Grant, place: Place, item_key: str, value: str) -> bool:
        """Return True to exactly one of all who mark the item; the last value stays."""
        ...

    async def mark_all(self, grant: Grant, place: Place, marks: Mapping[str, str]) -> None:
        """Mark many items with their values, in one atomic step."""
        ...

    async def evict(self, grant: Grant, place: Place, item_key: str) -> bool: ...


class Buffer(MessageBuffer, Protocol):
    """The last messages of a place, newest last. An append notes what it stored."""

    async def read(self, grant: Grant, place: Place, limit: int) -> list[BufferedMessage]: ...

    async def forget(self, grant: Grant, place: Place) -> None:
        """Drop the cached messages; a reader fills the buffer again from the transcript."""
        ...


class Snapshots(Protocol):
    """The transcript behind a cached buffer. A version names the messages that a place has."""

    async def version(self, grant: Grant, place: Place) -> str: ...

    async def snapshot(self, grant: Grant, place: Place) -> tuple[str, list[BufferedMessage]]:
        """Return a version and exactly the last messages that belong to it."""
        ...


@dataclass(frozen=True, slots=True)
class WorkingStores:
    """The three ports on one engine."""

    fields: Fields
    ledger: Ledger
    buffer: Buffer
