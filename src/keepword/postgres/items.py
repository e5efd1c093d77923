"""The stores of items, and of their parts that lack a vector."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal
from uuid import UUID

import numpy as np

from keepword.access import Grant
from keepword.answers import ItemHit, StoredItem
from keepword.embedding import entry_format as fmt
from keepword.embedding.ports import Space
from keepword.embedding.text_indexer import Entry, pack_vector
from keepword.errors import TooLarge
from keepword.ids import series
from keepword.items.namespaces import LabelMatch, labels_of, path_end
from keepword.items.ports import ItemAddress, ItemChange, ItemParts, ItemSelection
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.entries import entry_columns
from keepword.postgres.grants import dump
from keepword.postgres.halfvec import Vector
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.quotas import PostgresQuotas
from keepword.postgres.rows import Row
from keepword.recall.ports import DeepQuery
from keepword.recall.question import Question
from keepword.recall.score import MESSAGE, Candidates, share_embedded

# of more parts the nearest are ranked
MOST_PARTS = 3000
MAX_ANSWER_BYTES = 8 * 1024 * 1024
SWEEP_AMOUNT = 10_000
_UUID_BYTES = 16
_SQL = Queries("items.sql")


class PostgresItems:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("items.sql", first_wall=first_wall)

    async def get(
        self, grant: Grant, addresses: Sequence[ItemAddress], refresh: Sequence[bool]
    ) -> list[StoredItem | None]:
        values = {"paths": [one.path for one in addresses], "keys": [one.key for one in addresses]}
        rows = await self._read(grant, "read", **values)
        by_place = {row.place - 1: row for row in rows}
        await self._refresh(grant, [row for place, row in by_place.items() if refresh[place]])
        return [_item(by_place[place]) if place in by_place else None for place in range(len(addresses))]

    async def put(self, grant: Grant, changes: Sequence[ItemChange]) -> None:
        ids = series()
        named = [(next(ids), change) for change in changes]
        parts = [(id_, entry) for id_, change in named for entry in change.entries]
        agent, user = _owner(grant.writes or "")
        values = pack_parts(parts) | {
            "grant": dump(grant), "tenant_id": grant.tenant_id, "run_id": grant.writes, "agent": agent, "user": user,
            "changes": json.dumps([_change(*pair) for pair in named], ensure_ascii=False),
        }  # fmt: skip
        await self._pool.fetch(self._sql["write"], values)

    async def page(
        self, grant: Grant, selection: ItemSelection, limit: int, offset: int, *, refresh: bool
    ) -> list[ItemHit]:
        rows = await self._read(grant, "page", **_selected(selection), limit=limit, offset=offset)
        await self._refresh(grant, rows if refresh else [])
        return [_hit(row) for row in rows]

    async def parts(
        self, grant: Grant, selection: ItemSelection, question: Question, deep: DeepQuery | None
    ) -> ItemParts:
        values = _values(grant) | _selected(selection) | {
            "instant": Vector(pack_vector(question.vector)),
            "deep": Vector(pack_vector(deep.vector)) if deep else None,
            "deep_space": deep.space_id if deep else None,
            "most": MOST_PARTS,
        }  # fmt: skip
        values |= {"grant": dump(grant)}
        (row,) = await self._pool.look_up(self._sql.read("parts"), values, binary=True)
        packed = row.items or b""
        ids = [UUID(bytes=packed[at : at + _UUID_BYTES]) for at in range(0, len(packed), _UUID_BYTES)]
        return ItemParts(_candidates(row, len(ids), has_deep=deep is not None), ids)

    async def named(self, grant: Grant, ids: Sequence[UUID], *, refresh: bool) -> dict[UUID, StoredItem]:
        rows = await self._read(grant, "named", ids=list(ids))
        await self._refresh(grant, rows if refresh else [])
        return {row.id: _item(row) for row in rows}

    async def namespaces(
        self, grant: Grant, matches: Sequence[LabelMatch], max_depth: int | None, limit: int, offset: int
    ) -> list[tuple[str, ...]]:
        conditions = [{"labels": list(one.labels), "at_end": one.at_end} for one in matches]
        values = _values(grant) | {
            "conditions": json.dumps(conditions, ensure_ascii=False), "max_depth": max_depth, "limit": limit,
            "offset": offset,
        }  # fmt: skip
        rows = await self._pool.read(grant, self._sql.read("namespaces"), values)
        return [tuple(row.labels) for row in rows]

    async def _read(self, grant: Grant, name: Literal["read", "page", "named"], **values: Any) -> list[Row]:
        """Read whole items. Raises TooLarge where they are more than one answer holds."""
        values |= _values(grant) | {"page_bytes": MAX_ANSWER_BYTES}
        rows = await self._pool.read(grant, self._sql.page(name), values)
        if rows and rows[-1].found > len(rows):
            raise TooLarge(
                f"these {rows[-1].found} items are over {MAX_ANSWER_BYTES} bytes; ask for fewer, with a lower limit"
            )
        return rows

    async def _refresh(self, grant: Grant, rows: Sequence[Row]) -> None:
        ids = [row.id for row in rows if row.expires_at is not None]
        if ids:
            values = _values(grant) | {"grant": dump(grant), "ids": ids}
            await self._pool.fetch(self._sql["refresh"], values)


async def sweep(pool: Pool) -> int:
    """Delete items that expired, of all tenants, and tell how many. Reads need no sweep."""
    freed = 0
    while True:
        ((some,),) = await pool.fetch(_SQL["sweep"], {"amount": SWEEP_AMOUNT})
        freed += int(some)
        if some < SWEEP_AMOUNT:
            return freed


class PostgresItemBacklog(PostgresBacklog):
    """The parts of items that wait for vectors. What they say is read under the grant of the tenant's owner."""

    _work = _SQL

    def __init__(self, pool: Pool, conninfo: str, quotas: PostgresQuotas | None = None) -> None:
        super().__init__(pool, conninfo, quotas)
        self._read_texts = self._read_parts

    async def _read_parts(self, grant: Grant, entry_ids: Sequence[int]) -> dict[int, str]:
        values = {"tenant_id": grant.tenant_id, "ids": list(entry_ids)}
        return {row.id: row.text for row in await self._pool.read(grant, _SQL.read("texts"), values)}

    async def open(self, space: Space) -> int:
        number = await super().open(space)
        await self._pool.fetch(_SQL["queue"], {"space": number})
        return number

    async def settle(self, amount: int) -> int:  # noqa: ARG002 - parts are compared one by one, and are in no index
        return 0

    async def sleep(self) -> None:
        """Do nothing: the worker looks again by itself."""

    async def wakes(self) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield


def pack_parts(parts: Sequence[tuple[UUID, Entry]]) -> dict[str, Any]:
    """Return the columns of what is searched of items, each part with its item."""
    return {"items": [id_ for id_, _ in parts]} | entry_columns(entry for _, entry in parts)


def _values(grant: Grant) -> dict[str, Any]:
    """Return whose items: a grant opens those of one owner. One of a whole tenant names none, and none are found."""
    return {"tenant_id": grant.tenant_id, "run_id": next(iter(grant.run_ids), "")}


def _owner(run_id: str) -> tuple[str | None, str | None]:
    _, agent, user = run_id.split(":", 2)
    return agent or None, user or None


def _selected(selection: ItemSelection) -> dict[str, Any]:
    return {
        "path": selection.path,
        "path_end": path_end(selection.path),
        "equal": json.dumps(selection.filter.equal, ensure_ascii=False),
        "filter": json.dumps(selection.filter.rest, ensure_ascii=False),
    }


def _change(id_: UUID, change: ItemChange) -> dict[str, Any]:
    row: dict[str, Any] = {"path": change.address.path, "key": change.address.key}
    if change.value is None:
        return row
    indexed = None if change.indexed is None else list(change.indexed)
    return row | {"id": str(id_), "value": change.value, "indexed": indexed, "ttl_seconds": change.ttl_seconds}


def _item(row: Row) -> StoredItem:
    return StoredItem(
        labels_of(row.path), row.key, row.value, row.created_at, row.updated_at, row.version, row.expires_at
    )


def _hit(row: Row) -> ItemHit:
    return ItemHit(labels_of(row.path), row.key, row.value, row.created_at, row.updated_at, row.version, row.expires_at)


def _candidates(row: Row, amount: int, *, has_deep: bool) -> Candidates:
    """Take each part for a message of its own: nothing stands beside it."""
    none, numbers = np.zeros(amount, np.int64), np.arange(amount, dtype=np.int64)
    deeps = fmt.unpack(row.deeps, fmt.NEARNESS) if has_deep else None
    return Candidates(
        ids=numbers,
        conversations=np.stack([numbers, none], axis=1),
        seqs=none,
        roles=none,
        fits=np.ones(amount, np.bool_),
        mine=np.zeros(amount, np.bool_),
        named=np.zeros(amount, np.bool_),
        kinds=np.full(amount, MESSAGE, np.int64),
        times=np.full(amount, fmt.EPOCH),
        words=fmt.unpack(row.words, fmt.WORD),
        word_counts=fmt.unpack(row.word_bytes, fmt.COUNT).astype(np.int64) // fmt.WORD_BYTES,
        pieces=fmt.unpack(row.pieces, fmt.PIECE),
        piece_counts=fmt.unpack(row.piece_bytes, fmt.COUNT).astype(np.int64) // fmt.PIECE_BYTES,
        instants=fmt.unpack(row.instants, fmt.NEARNESS),
        deeps=deeps,
        frequencies=None,
        entries=amount,
        is_whole=True,
        literals={},
        embedded=0.0 if deeps is None else share_embedded(deeps),
    )
