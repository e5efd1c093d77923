"""The store of semantic memories."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from keepword.access import Grant
from keepword.answers import DeletedMemories, Feedback, Memory, MemoryVersion
from keepword.embedding import Entry
from keepword.memories.consolidate import NewMemory, ValidMemory
from keepword.memories.extracted import PIPELINE_VERSION, ExtractedMemory
from keepword.memories.ports import (
    AddStatus,
    BatchLimits,
    CurrentMemories,
    EntityCount,
    ExtractionState,
    MemoryOutcome,
    MemorySelection,
    MemoryWording,
    MemoryWrite,
    NumberedPage,
    PendingConversation,
    ReadRange,
    UnreadMessages,
)
from keepword.model import Message
from keepword.postgres.entries import entry_columns
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row
from keepword.postgres.transcript import EARLIEST
from keepword.statements.meaning import meaning

_FIRST_ID = UUID(int=0)
_TOLD_BY_CALLER = "told"


class PostgresMemories:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("memories.sql", first_wall=first_wall)
        self._mem0 = Queries("mem0.sql")

    async def scope(self, grant: Grant, conversation_id: UUID) -> ExtractionState | None:
        rows = await self._call(grant, "scope", {"conversation_id": conversation_id})
        if not rows:
            return None
        first, *_ = rows
        waiting = [PendingConversation(*row[3:-1]) for row in rows]
        return ExtractionState(first.run_id, first.revision, first.read_at, waiting, first.agents_word)

    async def unread(
        self, grant: Grant, waiting: Sequence[PendingConversation], portion: BatchLimits
    ) -> list[UnreadMessages]:
        values = {
            "conversation_ids": [one.conversation_id for one in waiting],
            "names": [one.conversation for one in waiting],
            "done_seqs": [one.done_seq for one in waiting],
        }
        rows = await self._read(grant, "unread", values | asdict(portion))
        by_conversation = {one.conversation_id: one for one in waiting}
        unread = []
        for conversation_id, some in groupby(rows, key=itemgetter(0)):
            one, read = by_conversation[conversation_id], list(some)
            messages = [Message(*row[1:-1]) for row in read]
            before = [message for message in messages if message.seq <= one.done_seq]
            unvouched = frozenset(message.id for message, row in zip(messages, read, strict=True) if not row[-1])
            unread.append(UnreadMessages(one, messages[len(before) :], before, unvouched))
        return unread

    async def current(self, grant: Grant, conversation_id: UUID) -> CurrentMemories | None:
        rows = await self._read(grant, "current", {"conversation_id": conversation_id})
        if rows[0].revision is None:
            return None
        return CurrentMemories(rows[0].revision, [ValidMemory(*row[1:]) for row in rows if row.id is not None])

    async def valid(self, grant: Grant, run_id: str) -> list[ValidMemory]:
        return [ValidMemory(*row) for row in await self._read(grant, "valid", {"run_id": run_id})]

    async def stored_pairs(self, grant: Grant, message_ids: Sequence[UUID]) -> set[tuple[UUID, bytes]]:
        rows = await self._read(grant, "stored_pairs", {"message_ids": list(message_ids)})
        return {(id_, bytes(digest)) for id_, digest in rows}

    async def store(self, grant: Grant, conversation_id: UUID, revision: int, writing: MemoryWrite) -> bool:
        reads = Jsonb([_read(one) for one in writing.read])
        values = {"conversation_id": conversation_id, "revision": revision, "reads": reads}
        return await self._call(grant, "store", values | _written(writing)) == [(True,)]

    async def project_revision(self, grant: Grant, project: str) -> int | None:
        rows = await self._call(grant, "project_revision", {"project": project})
        return int(rows[0][0]) if rows else None

    async def store_in_project(self, grant: Grant, project: str, revision: int, writing: MemoryWrite) -> bool:
        values = {"project": project, "revision": revision}
        return await self._call(grant, "store_in_project", values | _written(writing)) == [(True,)]

    async def settle(self, grant: Grant, conversation_id: UUID, read_at: datetime) -> None:
        await self._call(grant, "settle", {"conversation_id": conversation_id, "seen_at": read_at})

    async def change(
        self, grant: Grant, memory_id: UUID, to: MemoryWording, expected: int | None, by: str | None
    ) -> MemoryOutcome:
        values = {
            "id": memory_id, "expected": expected, "type": to.type, "content": to.content, "digest": to.digest,
            "importance": to.importance, "confidence": to.confidence, "by": by, "metadata": Jsonb(to.metadata),
            "categories": sorted(set(to.categories)), "expires_at": to.expires_at,
        }  # fmt: skip
        outcome: MemoryOutcome = (await self._call(grant, "change", values | entry_columns([to.entry])))[0][0]
        return outcome

    async def delete(self, grant: Grant, memory_id: UUID, expected: int | None, by: str | None) -> MemoryOutcome:
        values = {"id": memory_id, "expected": expected, "by": by}
        outcome: MemoryOutcome = (await self._call(grant, "delete", values))[0][0]
        return outcome

    async def restore(
        self, grant: Grant, memory_id: UUID, entry: Entry, expected: int | None, by: str | None
    ) -> MemoryOutcome:
        values = {"id": memory_id, "expected": expected, "by": by}
        outcome: MemoryOutcome = (await self._call(grant, "restore", values | entry_columns([entry])))[0][0]
        return outcome

    async def rate(
        self, grant: Grant, memory_id: UUID, feedback: Feedback | None, reason: str | None, by: str | None
    ) -> MemoryOutcome:
        values = {"id": memory_id, "feedback": feedback, "reason": reason, "by": by}
        outcome: MemoryOutcome = (await self._call(grant, "rate", values))[0][0]
        return outcome

    async def delete_matching(
        self, grant: Grant, filter_: dict[str, Any], limit: int, by: str | None, *, dry_run: bool
    ) -> DeletedMemories:
        values = {"filter": Jsonb(filter_), "limit": limit, "by": by, "dry_run": dry_run}
        ((matched, deleted),) = await self._call(grant, "delete_matching", values)
        return DeletedMemories(matched, deleted)

    async def get(self, grant: Grant, memory_ids: Sequence[UUID], *, deleted: bool = False) -> list[Memory]:
        values = {"ids": list(memory_ids), "deleted": deleted}
        return [_memory(row) for row in await self._read(grant, "get", values)]

    async def of_entries(self, grant: Grant, entry_ids: Sequence[int], passing: dict[str, Any]) -> dict[int, Memory]:
        if not entry_ids:
            return {}
        values = {"entry_ids": list(entry_ids), "filter": Jsonb(passing)}
        return {row.entry_id: Memory(*_with_tuples(row[1:])) for row in await self._read(grant, "of_entries", values)}

    async def select(self, grant: Grant, selection: MemorySelection) -> list[Memory]:
        time, id_ = selection.after or (EARLIEST, _FIRST_ID)
        values = {
            "type": selection.type, "user": selection.user, "agent": selection.agent, "as_of": selection.as_of,
            "after_time": time, "after_id": id_, "limit": selection.limit,
            "filter": None if selection.filter is None else Jsonb(selection.filter),
        }  # fmt: skip
        return [_memory(row) for row in await self._read(grant, "list", values)]

    async def page(self, grant: Grant, selection: NumberedPage) -> tuple[int, list[Memory]]:
        values = {"filter": Jsonb(selection.filter), "user": selection.user}
        ((total,),) = await self._read(grant, "count", values)
        if total <= max(selection.offset, selection.known):
            return int(total), []
        some = {"limit": selection.limit, "offset": selection.offset}
        return int(total), [_memory(row) for row in await self._read(grant, "newest", values | some)]

    async def entities(self, grant: Grant, limit: int) -> list[EntityCount]:
        return [EntityCount(*row) for row in await self._read(grant, "entities", {"limit": limit})]

    async def mem0_sessions(self, grant: Grant, names: Sequence[str | None], limit: int) -> list[str]:
        rows = await self._read(grant, "mem0_sessions", {"names": list(names), "limit": limit})
        return [name for (name,) in rows]

    async def adds(self, grant: Grant, message_ids: Sequence[UUID]) -> list[AddStatus]:
        values = {"ids": list(message_ids), "tenant_id": grant.tenant_id, "grant": dump(grant)}
        return [AddStatus(*row) for row in await self._pool.fetch(self._mem0["adds"], values)]

    async def history(self, grant: Grant, memory_id: UUID, before: int, limit: int) -> list[MemoryVersion]:
        values = {"id": memory_id, "before": before, "limit": limit}
        return [_version(row) for row in await self._read(grant, "history", values)]

    async def there(self, grant: Grant, run_id: str, message_ids: Sequence[UUID]) -> set[UUID]:
        rows = await self._read(grant, "there", {"run_id": run_id, "message_ids": list(message_ids)})
        return {id_ for (id_,) in rows}

    async def _read(self, grant: Grant, name: str, values: dict[str, Any]) -> list[Row]:
        return await self._pool.read(grant, self._sql.read(name), values | grant_values(grant))

    async def _call(self, grant: Grant, name: str, values: dict[str, Any]) -> list[Row]:
        return await self._pool.fetch(self._sql[name], values | {"tenant_id": grant.tenant_id, "grant": dump(grant)})


async def sweep(pool: Pool) -> int:
    """End the memories of all tenants whose time has come, up to a thousand, and tell how many. Reads do not wait."""
    ((ended,),) = await pool.fetch(Queries("memories.sql")["expire"], {})
    return int(ended)


def _memory(row: Row) -> Memory:
    return Memory(*_with_tuples(row))


def _version(row: Row) -> MemoryVersion:
    return MemoryVersion(*_with_tuples(row))


def _with_tuples(row: Sequence[Any]) -> list[Any]:
    return [tuple(value) if isinstance(value, list) else value for value in row]


def unread(owner: psycopg.Connection[Any], *, backfill: bool) -> list[tuple[UUID, UUID]]:
    """Return the conversations that wait for extraction; `backfill` first notes all of them, to be read again."""
    sql = Queries("memories.sql")
    if backfill:
        owner.execute(sql["backfill"])
    return [(tenant, conversation) for tenant, conversation in owner.execute(sql["waiting"])]


def _written(writing: MemoryWrite) -> dict[str, Any]:
    changes = Jsonb(_changes(writing))
    values = {"changes": changes, "by": writing.by, "ids": list(writing.entries)}
    return values | entry_columns(writing.entries.values())


def _read(one: ReadRange) -> dict[str, Any]:
    waiting = one.unread.waiting
    return {"conversation": str(waiting.conversation_id), "from": waiting.done_seq, "to": one.unread.last_seq}


def _changes(writing: MemoryWrite) -> dict[str, Any]:
    changes = writing.changes
    origins = {message.id: one for one in writing.read for message in one.unread.messages}
    pairs = [(new.id, new.extracted) for new in changes.added] + changes.merged
    return {
        "added": [_added(new, origins) for new in changes.added],
        "merged": [_merged(id_, memory) for id_, memory in changes.merged],
        "superseded": [
            {"id": str(gone.id), "by": str(gone.by), "at": gone.at.isoformat()} for gone in changes.superseded
        ],
        "sources": [
            {"memory": str(id_), "message": str(source), "digest": meaning(memory.text).digest.hex()}
            for id_, memory in pairs
            for source in memory.sources
        ],
    }


def _added(new: NewMemory, origins: Mapping[UUID, ReadRange]) -> dict[str, Any]:
    origin = origins.get(new.extracted.sources[0]) if new.extracted.sources else None
    return _merged(new.id, new.extracted) | {
        "type": new.extracted.type,
        "content": new.extracted.text,
        "digest": new.digest.hex(),
        "user": new.extracted.user,
        "agent": new.extracted.agent,
        "valid_to": new.valid_to.isoformat() if new.valid_to else None,
        "superseded_by": str(new.superseded_by) if new.superseded_by else None,
        "conversation": str(origin.unread.waiting.conversation_id) if origin else None,
        "model": new.extracted.by or (origin.model if origin else _TOLD_BY_CALLER),
        "pipeline_version": PIPELINE_VERSION,
        "vouched": new.extracted.vouched,
        "said_by": new.extracted.said_by,
    }


def _merged(id_: UUID, memory: ExtractedMemory) -> dict[str, Any]:
    return {
        "id": str(id_), "at": memory.at.isoformat(), "importance": memory.importance, "confidence": memory.confidence,
        "metadata": dict(memory.metadata), "categories": list(memory.categories),
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
    }  # fmt: skip
