"""What items need from a store. Nothing is read without a Grant, which opens the items of one owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from keepword.access import Grant
from keepword.answers import ItemHit, StoredItem
from keepword.embedding.text_indexer import Entry
from keepword.items.filters import ItemFilter
from keepword.items.namespaces import LabelMatch
from keepword.recall.ports import DeepQuery
from keepword.recall.question import Question
from keepword.recall.score import Candidates


@dataclass(frozen=True, slots=True)
class ItemAddress:
    """`path` is the namespace as the store keeps it: each label with a dot behind it."""

    path: str
    key: str


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A value to store, or without one an item to delete. `entries` are what is searched of it."""

    address: ItemAddress
    value: dict[str, Any] | None
    indexed: tuple[str, ...] | None = None
    ttl_seconds: float | None = None
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """Which items: those under a path that pass the filter."""

    path: str
    filter: ItemFilter


@dataclass(frozen=True, slots=True)
class ItemParts:
    """The searchable parts of items: candidates, and of each row the item that it belongs to."""

    candidates: Candidates
    items: Sequence[UUID]


class ItemStore(Protocol):
    """With `refresh` a read begins the lifetime of what it returns anew."""

    async def get(
        self, grant: Grant, addresses: Sequence[ItemAddress], refresh: Sequence[bool]
    ) -> list[StoredItem | None]:
        """Return the items in the order of their addresses, None for those that are not there."""
        ...

    async def put(self, grant: Grant, changes: Sequence[ItemChange]) -> None:
        """Store and delete, all or nothing. No address comes twice."""
        ...

    async def page(
        self, grant: Grant, selection: ItemSelection, limit: int, offset: int, *, refresh: bool
    ) -> list[ItemHit]:
        """Return items, the last changed first."""
        ...

    async def parts(
        self, grant: Grant, selection: ItemSelection, question: Question, deep: DeepQuery | None
    ) -> ItemParts:
        """Return what can be searched; of very many parts the nearest."""
        ...

    async def named(self, grant: Grant, ids: Sequence[UUID], *, refresh: bool) -> dict[UUID, StoredItem]: ...

    async def namespaces(
        self, grant: Grant, matches: Sequence[LabelMatch], max_depth: int | None, limit: int, offset: int
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that pass all matches, cut to `max_depth` labels, each once and in order."""
        ...
