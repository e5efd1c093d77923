"""Items: JSON values under a namespace and a key, in the shapes of LangGraph's store."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredItem:
    """`version` counts the puts of the value. `expires_at` is null where the item has no lifetime."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int = 1
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemHit(StoredItem):
    """`score` is null where nothing was searched for."""

    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemHits:
    """`degraded`: what could not be searched by, and why."""

    items: tuple[ItemHit, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Namespaces:
    namespaces: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What one operation of a batch gave: the field of its kind, and none for a put."""

    item: StoredItem | None = None
    items: tuple[ItemHit, ...] | None = None
    namespaces: tuple[tuple[str, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class ItemResults:
    """In the order of the operations."""

    results: tuple[ItemResult, ...] = field(default_factory=tuple)
