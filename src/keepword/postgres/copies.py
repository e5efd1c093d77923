"""The scopes that this process searches again and again, copied into memory and kept up to date by every search.

A copy is kept for everything that the wall decides by: tenant, runs, visibilities, private_to. Its rows were read
behind the wall under a grant with just these, so they are what that grant may read. Each search asks for what came and
went since, in the same transaction's snapshot, so that it sees what is committed, as if it read the tables.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import structlog

from keepword.access import Grant
from keepword.embedding.words import salted
from keepword.errors import KeepwordError
from keepword.postgres.pool import Pool, dump
from keepword.postgres.queries import Queries
from keepword.postgres.unpack import array
from keepword.recall.copied import Copied, Known, Looked, News
from keepword.recall.ports import Asked

_log = structlog.get_logger()

# larger scopes are left to the database's indexes
MAX_ROWS = 60_000
# a copy that nobody asked for so long is dropped; the database remembers what went for twice as long
IDLE_SECONDS = 3_600
# a scope is copied when it is searched again
REMEMBERED = 10_000
# of its deep vectors, so many are fetched at once
DEEP_BATCH = 4_000
# after a search found none that was missing, others do not ask for so long
DEEP_PAUSE_SECONDS = 0.5
# what a copy takes beside its rows
LEAST_BYTES = 16_384
INSTANT_DIMENSIONS = 256

Key = tuple[UUID, frozenset[str], frozenset[str], str | None]
Values = dict[str, Any]


@dataclass(slots=True)
class _Kept:
    """`seen`: the snapshot of that server up to which it is complete; `deep_space`: whose vectors it has."""

    copied: Copied
    seen: str
    server_since: datetime
    asked_at: float
    deep_space: int | None = None
    size: int = 0
    deep_due: float = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A copy, what was found in it, and whose deep vectors it has."""

    copied: Copied
    looked: Looked
    deep_space: int | None


class Copies:
    def __init__(self, pool: Pool, budget: int, *, first_wall: bool = True, eager: bool = False) -> None:
        self._pool = pool
        self._sql = Queries("recall.sql", first_wall=first_wall)
        self._budget = budget
        # for tests: a scope is copied when it is first searched, and the search waits for it
        self._eager = eager
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._asked: OrderedDict[Key, None] = OrderedDict()
        self._refused: set[Key] = set()
        self._loading: dict[Key, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    async def look(self, grant: Grant, asked: Asked, scope: Values, patterns: Values) -> Prepared | None:
        """Look in a copy, up to date with what is committed; None if there is none (yet)."""
        key = _key(grant)
        if key is None or key in self._refused:
            return None
        kept = await self._ready(key, grant, asked, scope)
        if kept is None:
            return None
        literals: dict[int, float] = {}
        if patterns["patterns"]:
            literals = dict(await self._pool.fetch(self._sql["holding"], scope | patterns))
        async with kept.lock:
            known = await self._catch_up(key, kept, grant, asked, scope)
        if known is None:
            return None
        known = replace(known, literals=literals)
        looked = kept.copied.look(asked.question, asked.filter, known, instant=asked.instant)
        return Prepared(kept.copied, looked, kept.deep_space)

    @property
    def kept(self) -> dict[Key, int]:
        """What is kept, and how many bytes each takes."""
        return {key: kept.size for key, kept in self._kept.items()}

    async def aclose(self) -> None:
        for task in self._loading.values():
            task.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    async def _ready(self, key: Key, grant: Grant, asked: Asked, scope: Values) -> _Kept | None:
        kept = self._usable(key, asked)
        if kept is None and self._is_worth_it(key):
            loading = self._load_beside(key, grant, asked, scope)
            if self._eager:
                await loading
                kept = self._usable(key, asked)
        return kept

    def _usable(self, key: Key, asked: Asked) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if time.monotonic() - kept.asked_at > IDLE_SECONDS:
            self._kept.pop(key)
            return None
        if asked.deep_space is not None and kept.deep_space != asked.deep_space:
            return None
        self._kept.move_to_end(key)
        kept.asked_at = time.monotonic()
        return kept

    def _is_worth_it(self, key: Key) -> bool:
        if self._eager or key in self._asked:
            return True
        self._asked[key] = None
        if len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)
        return False

    def _load_beside(self, key: Key, grant: Grant, asked: Asked, scope: Values) -> asyncio.Task[None]:
        if key not in self._loading:
            self._loading[key] = asyncio.create_task(self._load(key, grant, asked, scope))
            self._loading[key].add_done_callback(lambda _: self._loading.pop(key, None))
        return self._loading[key]

    async def _load(self, key: Key, grant: Grant, asked: Asked, scope: Values) -> None:
        try:
            async with self._one_at_a_time:
                kept = self._kept.get(key) or await self._copy(grant, asked, scope)
                if kept is None:
                    return
                if asked.deep_space is not None:
                    await self._copy_deep(kept, grant, asked.deep_space, scope)
                self._keep(key, kept)
        except KeepwordError as exc:
            # searches go on without it; a later one tries again
            _log.warning("could not copy a scope", error=str(exc))

    async def _copy(self, grant: Grant, asked: Asked, scope: Values) -> _Kept | None:
        ((size,),) = await self._pool.fetch(self._sql["scope_size"], scope)
        if size > MAX_ROWS:
            return None
        row = await self._news(grant, scope, asked)
        kept = _Kept(Copied(), row[13], row[18], time.monotonic())
        await asyncio.to_thread(kept.copied.add, _unpacked(row))
        return kept

    async def _copy_deep(self, kept: _Kept, grant: Grant, space_id: int, scope: Values) -> None:
        wanted = kept.copied.ids
        for start in range(0, len(wanted), DEEP_BATCH):
            # as those that catch up meanwhile: one at a time
            async with kept.lock:
                kept.copied.undeep(space_id)
                row = await self._news(grant, scope, None, kept.seen, space_id, wanted[start : start + DEEP_BATCH])
                await asyncio.to_thread(_add_deep, kept.copied, space_id, row)
        kept.deep_space = space_id

    async def _catch_up(self, key: Key, kept: _Kept, grant: Grant, asked: Asked, scope: Values) -> Known | None:
        space_id = asked.deep_space
        is_due = time.monotonic() >= kept.deep_due
        undeep = kept.copied.undeep(space_id) if space_id is not None and is_due else []
        row = await self._news(grant, scope, asked, kept.seen, space_id, undeep)
        if row[18] != kept.server_since:
            # another server, or the same one after a crash: what its snapshots say of ours is not known
            self._kept.pop(key, None)
            return None
        kept.seen = row[13]
        if row[12]:
            kept.copied.forget(row[12])
        if row[0]:
            news = _unpacked(row)
            if not kept.copied.add(news) and len(news.ids) > DEEP_BATCH:
                # restored from a dump: the numbers of transactions are another server's, and all looks new for ever
                self._kept.pop(key, None)
                self._refused.add(key)
        if space_id is not None:
            _add_deep(kept.copied, space_id, row)
            if undeep and not row[14]:
                kept.deep_due = time.monotonic() + DEEP_PAUSE_SECONDS
        if (row[0] or row[14]) and key in self._kept:
            self._keep(key, kept)
        return Known(None if row[16] is None else np.array(row[16], np.float32), row[17] or 0, {})

    async def _news(
        self,
        grant: Grant,
        scope: Values,
        asked: Asked | None,
        seen: str | None = None,
        deep_space: int | None = None,
        undeep: Sequence[int] = (),
    ) -> Sequence[Any]:
        words = salted(asked.question.hashes, str(grant.tenant_id)).tolist() if asked else []
        values = scope | {
            "grant": dump(grant), "seen": seen, "tenant_words": words, "deep_space": deep_space, "undeep": list(undeep),
        }  # fmt: skip
        (row,) = await self._pool.fetch(self._sql["news"], values, binary=True)
        return row

    def _keep(self, key: Key, kept: _Kept) -> None:
        """Keep it, and drop those that were not asked for the longest until all fit."""
        kept.size = max(LEAST_BYTES, kept.copied.size)
        self._kept[key] = kept
        self._kept.move_to_end(key)
        total = sum(each.size for each in self._kept.values())
        while total > self._budget:
            _, dropped = self._kept.popitem(last=False)
            total -= dropped.size


def _key(grant: Grant) -> Key | None:
    if grant.everything or grant.sessions_of is not None or not grant.run_ids:
        return None
    return grant.tenant_id, grant.run_ids, frozenset(grant.visibilities), grant.private_to


def _unpacked(row: Sequence[Any]) -> News:
    return News(
        ids=array(row[0], ">i8"),
        talks=array(row[1], ">i8").reshape(-1, 2),
        seqs=array(row[2], ">i8"),
        flags=array(row[3], ">i2"),
        times=array(row[4], ">i8"),
        words=array(row[5], ">i4"),
        word_counts=array(row[6], ">i4").astype(np.int64),
        pieces=array(row[7], ">u2"),
        piece_counts=array(row[8], ">i4").astype(np.int64),
        instants=array(row[9], ">f2").reshape(-1, INSTANT_DIMENSIONS),
        users=row[10] or [],
        agents=row[11] or [],
    )


def _add_deep(copied: Copied, space_id: int, row: Sequence[Any]) -> None:
    owners = array(row[14], ">i8")
    if len(owners):
        copied.add_deep(space_id, owners, array(row[15], ">f2").reshape(len(owners), -1))
