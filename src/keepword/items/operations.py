"""Reading, writing and searching items within a grant."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from pydantic_core import to_json

from keepword.access import Grant
from keepword.answers import ItemHit, ItemHits, ItemResult, StoredItem
from keepword.embedding import text_indexer
from keepword.embedding.chunk import split
from keepword.embedding.instant import InstantTable
from keepword.embedding.text_indexer import Entry, message_parts
from keepword.errors import Forbidden, InvalidInput, TooLarge
from keepword.items.filters import read_filter
from keepword.items.namespaces import LabelMatch, check_key, check_labels, check_namespace
from keepword.items.paths import MAX_PATH_CHARS, MAX_PATHS, texts_of
from keepword.items.ports import ItemAddress, ItemChange, ItemSelection, ItemStore
from keepword.items.ranking import rank
from keepword.recall.deep import ask_in_time
from keepword.recall.ports import DeepModel
from keepword.recall.question import ask
from keepword.recall.search import MAX_QUERY_BYTES
from keepword.slices import Runner, in_thread

MAX_VALUE_BYTES = 1024 * 1024
MAX_VALUE_DEPTH = 64
MAX_LIMIT = 1000
MAX_OFFSET = 100_000
MAX_OPERATIONS = 1000
# each is a read of its own, of up to 8 MiB
MAX_SEARCHES = 20
MAX_TTL_MINUTES = 525_600 * 100
MIN_TTL_SECONDS = 0.001
# short enough for one chunk of most models
PART_CHARS = 1000
# more than this is read in another process, in calls of that size
INLINE_CHARS = 8000


@dataclass(frozen=True, slots=True)
class GetItem:
    namespace: tuple[str, ...]
    key: str
    refresh_ttl: bool = True


@dataclass(frozen=True, slots=True)
class PutItem:
    """Without a value the item is deleted. `index`: the paths that are searched, None for all, empty for nothing."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any] | None
    index: tuple[str, ...] | None = None
    ttl_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class SearchItems:
    namespace_prefix: tuple[str, ...]
    filter: dict[str, Any] | None = None
    query: str | None = None
    limit: int = 10
    offset: int = 0
    refresh_ttl: bool = True


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    matches: tuple[LabelMatch, ...] = ()
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Operation = GetItem | PutItem | SearchItems | ListNamespaces


class Items:
    def __init__(self, store: ItemStore, table: InstantTable, model: DeepModel | None) -> None:
        self._store = store
        self._table = table
        self._model = model

    async def get(self, grant: Grant, wanted: GetItem) -> StoredItem | None:
        (item,) = await self._get(grant, [wanted])
        return item

    async def put(self, grant: Grant, changes: Sequence[PutItem], run: Runner = in_thread) -> None:
        """Store and delete, all or nothing; of several changes of one item the last counts. `run` reads long texts."""
        if grant.writes is None:
            raise Forbidden("a reader's key reads items and writes none; use a key with the role agent or admin")
        last = {_address(change): change for change in changes}
        entries = await _index(grant, list(last.values()), run)
        await self._store.put(grant, [_change(*pair, found) for pair, found in zip(last.items(), entries, strict=True)])

    async def search(self, grant: Grant, wanted: SearchItems) -> ItemHits:
        """Find items: by a query all that pass the filter, best first; without one the last changed first."""
        _check_page(wanted.limit, wanted.offset)
        path = check_labels(wanted.namespace_prefix, "namespace_prefix")
        selection = ItemSelection(path, read_filter(wanted.filter))
        if wanted.query is None or not wanted.query.strip():
            page = await self._store.page(grant, selection, wanted.limit, wanted.offset, refresh=wanted.refresh_ttl)
            return ItemHits(tuple(page))
        if len(wanted.query.encode()) > MAX_QUERY_BYTES:
            raise TooLarge(f"query is over {MAX_QUERY_BYTES} bytes", "query")
        return await self._find(grant, selection, wanted, wanted.query)

    async def namespaces(self, grant: Grant, wanted: ListNamespaces) -> list[tuple[str, ...]]:
        _check_page(wanted.limit, wanted.offset)
        if wanted.max_depth is not None and wanted.max_depth < 1:
            raise InvalidInput(f"max_depth is {wanted.max_depth}; it is 1 or more", "max_depth")
        for match in wanted.matches:
            check_labels(match.labels, "suffix" if match.at_end else "prefix")
        return await self._store.namespaces(grant, wanted.matches, wanted.max_depth, wanted.limit, wanted.offset)

    async def batch(self, grant: Grant, operations: Sequence[Operation], run: Runner = in_thread) -> list[ItemResult]:
        """Do all that is asked: reads see what was there before the puts of the same batch, which are one write."""
        if len(operations) > MAX_OPERATIONS:
            raise TooLarge(f"{len(operations)} operations; a batch has at most {MAX_OPERATIONS}", "ops")
        puts = [one for one in operations if isinstance(one, PutItem)]
        for put in puts:
            check_put(put)
        if sum(isinstance(one, SearchItems | ListNamespaces) for one in operations) > MAX_SEARCHES:
            raise TooLarge(f"a batch has at most {MAX_SEARCHES} searches and lists of namespaces", "ops")
        gets = [one for one in operations if isinstance(one, GetItem)]
        found = iter(await self._get(grant, gets))
        results = [
            ItemResult(item=next(found)) if isinstance(one, GetItem) else await self._read(grant, one)
            for one in operations
        ]
        if puts:
            await self.put(grant, puts, run)
        return results

    async def _read(self, grant: Grant, operation: Operation) -> ItemResult:
        if isinstance(operation, SearchItems):
            return ItemResult(items=(await self.search(grant, operation)).items)
        if isinstance(operation, ListNamespaces):
            return ItemResult(namespaces=tuple(await self.namespaces(grant, operation)))
        return ItemResult()

    async def _get(self, grant: Grant, wanted: Sequence[GetItem]) -> list[StoredItem | None]:
        addresses = [ItemAddress(check_namespace(one.namespace), check_key(one.key)) for one in wanted]
        return await self._store.get(grant, addresses, [one.refresh_ttl for one in wanted]) if wanted else []

    async def _find(self, grant: Grant, selection: ItemSelection, wanted: SearchItems, query: str) -> ItemHits:
        deep, degraded = await ask_in_time(self._model, query)
        question = ask(query, self._table)
        parts = await self._store.parts(grant, selection, question, deep)
        scores = await asyncio.to_thread(rank, parts, question, self._table, is_tuned=bool(deep and deep.is_tuned))
        best = list(scores.items())[wanted.offset : wanted.offset + wanted.limit]
        items = await self._store.named(grant, [id_ for id_, _ in best], refresh=wanted.refresh_ttl) if best else {}
        hits = (_hit(items[id_], score) for id_, score in best if id_ in items)
        return ItemHits(tuple(hits), tuple(degraded))


async def _index(grant: Grant, changes: Sequence[PutItem], run: Runner) -> list[tuple[Entry, ...]]:
    texts = [pieces_of(change.value, change.index) for change in changes]
    salts = (str(grant.tenant_id), grant.writes or "")
    if sum(len(part) for parts in texts for part in parts) <= INLINE_CHARS:
        return [tuple(read_pieces(parts, salts, 0)) for parts in texts]
    return [await _read_long(parts, salts, run) for parts in texts]


async def _read_long(parts: Sequence[str], salts: tuple[str, str], run: Runner) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    step = INLINE_CHARS // PART_CHARS
    for first in range(0, len(parts), step):
        entries += await run(read_pieces, parts[first : first + step], salts, first)
    return tuple(entries)


def check_put(change: PutItem) -> None:
    """Raise InvalidInput or TooLarge for what can't be stored."""
    check_namespace(change.namespace)
    if change.value is not None:
        _check_value(change.value)
    check_key(change.key)
    paths = change.index or ()
    if len(paths) > MAX_PATHS or any(len(path) > MAX_PATH_CHARS for path in paths):
        raise TooLarge(f"index has at most {MAX_PATHS} paths of at most {MAX_PATH_CHARS} characters", "index")
    ttl = change.ttl_minutes
    if ttl is not None and not (math.isfinite(ttl) and MIN_TTL_SECONDS <= 60 * ttl <= 60 * MAX_TTL_MINUTES):
        raise InvalidInput(f"ttl is {ttl} minutes; it is above 0, and {MAX_TTL_MINUTES} at most", "ttl")


def _check_value(value: dict[str, Any]) -> None:
    size = len(to_json(value))
    if size > MAX_VALUE_BYTES:
        raise TooLarge(f"value has {size} bytes of JSON; an item holds at most {MAX_VALUE_BYTES}", "value")
    level: list[Any] = [value]
    for _ in range(MAX_VALUE_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise InvalidInput(f"value is nested deeper than {MAX_VALUE_DEPTH} levels", "value")


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit is {limit}; it is 1 to {MAX_LIMIT}", "limit")
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidInput(f"offset is {offset}; it is 0 to {MAX_OFFSET}", "offset")


def _address(change: PutItem) -> ItemAddress:
    check_put(change)
    return ItemAddress(check_namespace(change.namespace), change.key)


def _change(address: ItemAddress, change: PutItem, entries: tuple[Entry, ...]) -> ItemChange:
    seconds = None if change.ttl_minutes is None else 60 * change.ttl_minutes
    return ItemChange(address, change.value, change.index, seconds, entries)


def _hit(item: StoredItem, score: float) -> ItemHit:
    return ItemHit(
        item.namespace, item.key, item.value, item.created_at, item.updated_at, item.version, item.expires_at, score
    )


def pieces_of(value: dict[str, Any] | None, indexed: Sequence[str] | None) -> list[str]:
    """Return the pieces of a value that are searched; encoded bytes and signs alone are none."""
    texts = [] if value is None else texts_of(value, indexed)
    readable = [part for text in texts for part in message_parts(None, text, None, None, None)]
    return [piece for part in readable for piece in split(part, PART_CHARS)]


def read_pieces(texts: Sequence[str], salts: tuple[str, str], first: int) -> list[Entry]:
    reader = text_indexer()
    return list(
        starmap(lambda number, text: reader.index_entry(text, salts, number, whole=False), enumerate(texts, first))
    )
