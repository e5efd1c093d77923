"""A cache of the scopes that this process searches again and again; every search brings its scope up to date.

A scope is cached under all that row-level security decides by: tenant, runs, visibilities, private_to. Its rows were
read under a grant with just these, so they are what that grant may read. Each search asks for what came and went since,
in the same transaction's snapshot, so that it sees what is committed, as if it read the tables.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import structlog

from keepword.access import Grant
from keepword.embedding import entry_format as fmt
from keepword.embedding.words import salted
from keepword.errors import KeepwordError
from keepword.postgres.grants import dump
from keepword.postgres.log_position import required_position
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_row
from keepword.recall.cached_scope import CachedScope, NewRows, TermStatistics
from keepword.recall.ports import Query

_log = structlog.get_logger()

# larger scopes are left to the database's indexes
MAX_ROWS = 60_000
# a scope that nobody searched for so long is dropped; the database remembers deleted entries for twice as long
IDLE_SECONDS = 3_600
# a scope is cached when it is searched again: this many first searches are remembered
MAX_FIRST_SEARCHES = 10_000
# deep vectors fetched at once
DEEP_BATCH = 4_000
# after a search found no missing deep vector, others do not ask for so long
DEEP_PAUSE_SECONDS = 0.5
# the bytes of a cached scope beside its rows
LEAST_BYTES = 16_384

Key = tuple[UUID, frozenset[str], frozenset[str], str | None]
Values = dict[str, Any]


class Changes(NamedTuple):
    """The changes of a scope since a snapshot: the columns of the query `news`. Lists are packed."""

    ids: bytes
    conversations: bytes
    seqs: bytes
    flags: bytes
    times: bytes
    words: bytes
    word_counts: bytes
    pieces: bytes
    piece_counts: bytes
    instants: bytes
    users: Sequence[str] | None
    agents: Sequence[str] | None
    departed: Sequence[int] | None
    seen: str
    deep_ids: bytes
    deeps: bytes
    frequencies: Sequence[float] | None
    entries: int | None
    server_since: datetime | None

    @property
    def primary_since(self) -> datetime | None:
        """Since when the primary runs. A replica does not know; the look-up before it does."""
        position = required_position()
        return self.server_since or (position.server_since if position else None)


@dataclass(slots=True)
class CacheEntry:
    """`seen`: the snapshot up to which the scope is complete; `deep_space`: whose vectors it has.

    The snapshot is that primary's or a replica's: both number transactions alike.
    """

    scope: CachedScope
    seen: str
    primary_since: datetime | None
    used_at: float
    deep_space: int | None = None
    size: int = 0
    deep_due: float = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ScopeCache:
    def __init__(self, pool: Pool, budget: int, *, first_wall: bool = True, eager: bool = False) -> None:
        self._pool = pool
        self._sql = Queries("recall.sql", first_wall=first_wall)
        self._budget = budget
        # for tests: a scope is cached when it is first searched, and the search waits for it
        self._eager = eager
        self._entries: OrderedDict[Key, CacheEntry] = OrderedDict()
        self._searched_once: OrderedDict[Key, None] = OrderedDict()
        self._refused: set[Key] = set()
        self._loading: dict[Key, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    def clear(self) -> None:
        """Drop all scopes; the next searches read them again."""
        self._entries.clear()
        self._searched_once.clear()

    async def read(self, grant: Grant, query: Query, scope: Values) -> tuple[CacheEntry, TermStatistics] | None:
        """Return the grant's scope, up to date with what is committed; None if it is not cached (yet)."""
        key = _key(grant)
        if key is None or key in self._refused:
            return None
        entry = await self._ready(key, grant, query, scope)
        if entry is None:
            return None
        async with entry.lock:
            statistics = await self._catch_up(key, entry, grant, query, scope)
        return None if statistics is None else (entry, statistics)

    @property
    def sizes(self) -> dict[Key, int]:
        """Return the cached scopes, and how many bytes each takes."""
        return {key: entry.size for key, entry in self._entries.items()}

    async def aclose(self) -> None:
        for task in self._loading.values():
            task.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    async def _ready(self, key: Key, grant: Grant, query: Query, scope: Values) -> CacheEntry | None:
        entry = self._usable(key, query)
        if entry is None and self._is_worth_it(key):
            loading = self._load_beside(key, grant, query, scope)
            if self._eager:
                await loading
                entry = self._usable(key, query)
        return entry

    def _usable(self, key: Key, query: Query) -> CacheEntry | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if time.monotonic() - entry.used_at > IDLE_SECONDS:
            self._entries.pop(key)
            return None
        if query.deep_space is not None and entry.deep_space != query.deep_space:
            return None
        self._entries.move_to_end(key)
        entry.used_at = time.monotonic()
        return entry

    def _is_worth_it(self, key: Key) -> bool:
        if self._eager or key in self._searched_once:
            return True
        self._searched_once[key] = None
        if len(self._searched_once) > MAX_FIRST_SEARCHES:
            self._searched_once.popitem(last=False)
        return False

    def _load_beside(self, key: Key, grant: Grant, query: Query, scope: Values) -> asyncio.Task[None]:
        if key not in self._loading:
            self._loading[key] = asyncio.create_task(self._load(key, grant, query, scope))
            self._loading[key].add_done_callback(lambda _: self._loading.pop(key, None))
        return self._loading[key]

    async def _load(self, key: Key, grant: Grant, query: Query, scope: Values) -> None:
        try:
            async with self._one_at_a_time:
                entry = self._entries.get(key) or await self._load_rows(grant, query, scope)
                if entry is None:
                    return
                if query.deep_space is not None:
                    await self._load_deep(entry, grant, query.deep_space, scope)
                self._keep(key, entry)
        except KeepwordError as exc:
            # searches go on without it; a later one tries again
            _log.warning("could not cache a scope", error=str(exc))

    async def _load_rows(self, grant: Grant, query: Query, scope: Values) -> CacheEntry | None:
        ((size,),) = await self._pool.look_up(self._sql["scope_size"], scope)
        if size > MAX_ROWS:
            return None
        changes = await self._changes(grant, scope, query)
        entry = CacheEntry(CachedScope(), changes.seen, changes.primary_since, time.monotonic())
        await asyncio.to_thread(entry.scope.add, _new_rows(changes))
        return entry

    async def _load_deep(self, entry: CacheEntry, grant: Grant, space_id: int, scope: Values) -> None:
        ids = entry.scope.ids
        for start in range(0, len(ids), DEEP_BATCH):
            # as those that catch up meanwhile: one at a time
            async with entry.lock:
                entry.scope.without_deep(space_id)
                batch = ids[start : start + DEEP_BATCH]
                changes = await self._changes(grant, scope, None, entry.seen, space_id, batch)
                await asyncio.to_thread(_add_deep, entry.scope, space_id, changes)
        entry.deep_space = space_id

    async def _catch_up(
        self, key: Key, entry: CacheEntry, grant: Grant, query: Query, scope: Values
    ) -> TermStatistics | None:
        space_id = query.deep_space
        is_due = time.monotonic() >= entry.deep_due
        missing = entry.scope.without_deep(space_id) if space_id is not None and is_due else []
        changes = await self._changes(grant, scope, query, entry.seen, space_id, missing)
        if changes.primary_since != entry.primary_since:
            # another server, or the same one after a crash: its snapshots can't be compared with ours
            self._entries.pop(key, None)
            return None
        entry.seen = changes.seen
        if changes.departed:
            entry.scope.forget(changes.departed)
        if changes.ids:
            self._add_rows(key, entry, _new_rows(changes), is_of_replica=changes.server_since is None)
        if space_id is not None:
            _add_deep(entry.scope, space_id, changes)
            if missing and not changes.deep_ids:
                entry.deep_due = time.monotonic() + DEEP_PAUSE_SECONDS
        if (changes.ids or changes.deep_ids) and key in self._entries:
            self._keep(key, entry)
        frequencies = None if changes.frequencies is None else np.array(changes.frequencies, np.float32)
        return TermStatistics(frequencies, changes.entries or 0, {})

    def _add_rows(self, key: Key, entry: CacheEntry, rows: NewRows, *, is_of_replica: bool) -> None:
        # a replica tells again what was stored since the oldest transaction that was open on the primary
        if not entry.scope.add(rows) and len(rows.ids) > DEEP_BATCH and not is_of_replica:
            # restored from a dump: the numbers of transactions are another server's, and all looks new for ever
            self._entries.pop(key, None)
            self._refused.add(key)

    async def _changes(
        self,
        grant: Grant,
        scope: Values,
        query: Query | None,
        seen: str | None = None,
        deep_space: int | None = None,
        missing: Sequence[int] = (),
    ) -> Changes:
        words = salted(query.question.hashes, str(grant.tenant_id)).tolist() if query else []
        values = scope | {
            "grant": dump(grant), "seen": seen, "tenant_words": words, "deep_space": deep_space,
            "undeep": list(missing),
        }  # fmt: skip
        (row,) = await self._pool.look_up(self._sql["news"], values, binary=True)
        return read_row(Changes, row)

    def _keep(self, key: Key, entry: CacheEntry) -> None:
        """Keep it, and drop those that were not used the longest until all fit."""
        entry.size = max(LEAST_BYTES, entry.scope.size)
        self._entries[key] = entry
        self._entries.move_to_end(key)
        total = sum(each.size for each in self._entries.values())
        while total > self._budget:
            _, dropped = self._entries.popitem(last=False)
            total -= dropped.size


def _key(grant: Grant) -> Key | None:
    if grant.everything or grant.follows_sessions or not grant.run_ids:
        return None
    return grant.tenant_id, grant.run_ids, frozenset(grant.visibilities), grant.private_to


def _new_rows(changes: Changes) -> NewRows:
    return NewRows(
        ids=fmt.unpack(changes.ids, fmt.ID),
        conversations=fmt.unpack(changes.conversations, fmt.ID).reshape(-1, 2),
        seqs=fmt.unpack(changes.seqs, fmt.ID),
        flags=fmt.unpack(changes.flags, fmt.FLAGS),
        times=fmt.unpack(changes.times, fmt.ID),
        words=fmt.unpack(changes.words, fmt.WORD),
        word_counts=fmt.unpack(changes.word_counts, fmt.COUNT).astype(np.int64),
        pieces=fmt.unpack(changes.pieces, fmt.PIECE),
        piece_counts=fmt.unpack(changes.piece_counts, fmt.COUNT).astype(np.int64),
        instants=fmt.unpack(changes.instants, fmt.COMPONENT).reshape(-1, fmt.INSTANT_DIMENSIONS),
        users=changes.users or [],
        agents=changes.agents or [],
    )


def _add_deep(scope: CachedScope, space_id: int, changes: Changes) -> None:
    owners = fmt.unpack(changes.deep_ids, fmt.ID)
    if len(owners):
        scope.add_deep(space_id, owners, fmt.unpack(changes.deeps, fmt.COMPONENT).reshape(len(owners), -1))
