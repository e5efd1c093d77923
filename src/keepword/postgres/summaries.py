"""Stores of the compaction's results: summaries, landmarks and the sentences of tool calls."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

from psycopg.types.json import Jsonb

from keepword.access import Grant, Place
from keepword.answers import Landmark, LandmarkKind, Summary
from keepword.compaction.landmarks import DetectedLandmark
from keepword.compaction.plan import MessageOutline, Tier
from keepword.compaction.ports import (
    LATE_REASON_PREFIX,
    AgentSummary,
    CompactionState,
    HiddenSummary,
    LateLeaf,
    NewSummary,
    NextLook,
    Pinned,
    Task,
    TaskMessage,
)
from keepword.compaction.sources import DEPTHS, LEVELS, ConversationHeading, TierSummary
from keepword.compaction.toolcalls import ToolSentence
from keepword.embedding import TextIndexer
from keepword.ids import new_id, series
from keepword.model import Message
from keepword.postgres.entries import index_texts
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows
from keepword.postgres.transcript import EARLIEST, read_slice
from keepword.transcript.ports import PAGE_BYTES, MessageSlice, Position

# summaries read at once: an outline is small, and further ones wait for the next run
MAX_OUTLINES = 5_000
_AGENT_SUMMARY_VERSION = 0
_FIRST_ID = UUID(int=0)


class PostgresSummaries:
    """`reader` makes the index entries: nothing is stored that a search can't find."""

    def __init__(self, pool: Pool, reader: TextIndexer, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._reader = reader
        self._first_wall = first_wall
        self._sql = Queries("summaries.sql", first_wall=first_wall)

    async def state(self, grant: Grant, conversation_id: UUID, version: int) -> CompactionState | None:
        values = {"conversation_id": conversation_id, "version": version, "limit": MAX_OUTLINES}
        rows = await self._read(grant, "about", values)
        if not rows:
            return None
        external_id, agent, channel, title, active, updated_at, last_seq, covered = rows[0]
        outlines = await self._read(grant, "outlines", values | {"covered": covered})
        orphans: dict[Tier, list[TierSummary]] = {tier: [] for tier in get_args(Tier)}
        for row in await self._read(grant, "orphans", values):
            orphans[row[1]].append(TierSummary(*row))
        about = ConversationHeading(external_id, agent, channel, title)
        return CompactionState(
            about, active, updated_at, last_seq, [MessageOutline(*row) for row in outlines], {**orphans}
        )

    async def messages(self, grant: Grant, conversation_id: UUID, first_seq: int, last_seq: int) -> list[Message]:
        values = {"conversation_id": conversation_id, "first_seq": first_seq, "last_seq": last_seq}
        return [Message(*row) for row in await self._read(grant, "messages", values)]

    async def sentences(self, grant: Grant, conversation_id: UUID, first_seq: int, last_seq: int) -> dict[int, str]:
        values = {"conversation_id": conversation_id, "first_seq": first_seq, "last_seq": last_seq}
        return dict(await self._read(grant, "sentences", values))

    async def store(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        run_id = await find_run(self._pool, self._sql, grant, conversation_id)
        entries = index_texts(self._reader, (str(grant.tenant_id), run_id), [(new.summary.id, new.summary.text)])
        values = {"conversation_id": conversation_id, "summary": Jsonb(_row(new, version))} | entries
        return await self._call(grant, "store", values | {"children": list(new.children)}) is True

    async def settle(self, grant: Grant, conversation_id: UUID, version: int, settled: NextLook) -> None:
        values = {"conversation_id": conversation_id, "version": version}
        await self._call(grant, "settle", values | asdict(settled))

    async def served(self, grant: Grant, conversation_id: UUID) -> tuple[int, int] | None:
        rows = await self._read(grant, "served", {"conversation_id": conversation_id})
        return (rows[0][0], rows[0][1]) if rows else None

    async def replace(self, grant: Grant, conversation_id: UUID, version: int) -> bool:
        values = {"conversation_id": conversation_id, "version": version}
        waiting = [(id_, text) for id_, text in await self._read(grant, "waiting", values)]
        run_id = await find_run(self._pool, self._sql, grant, conversation_id)
        entries = await asyncio.to_thread(index_texts, self._reader, (str(grant.tenant_id), run_id), waiting)
        return await self._call(grant, "replace", values | entries) is True

    async def late(self, grant: Grant, conversation_id: UUID, version: int) -> list[LateLeaf]:
        values = {"conversation_id": conversation_id, "version": version, "late": LATE_REASON_PREFIX}
        return read_rows(LateLeaf, await self._read(grant, "late", values))

    async def improve(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        run_id = await find_run(self._pool, self._sql, grant, conversation_id)
        entries = index_texts(self._reader, (str(grant.tenant_id), run_id), [(new.summary.id, new.summary.text)])
        return await self._call(grant, "improve", {"summary": Jsonb(_row(new, version))} | entries) is True

    async def to_remake(self, grant: Grant, conversation_id: UUID) -> list[HiddenSummary]:
        rows = await self._read(grant, "to_redo", {"conversation_id": conversation_id})
        return [HiddenSummary(*row) for row in rows]

    async def kept_children(self, grant: Grant, conversation_id: UUID, summary_id: UUID) -> list[TierSummary]:
        rows = await self._read(grant, "kept_children", {"conversation_id": conversation_id, "id": summary_id})
        return [TierSummary(*row) for row in rows]

    async def remake(self, grant: Grant, conversation_id: UUID, version: int, new: NewSummary) -> bool:
        run_id = await find_run(self._pool, self._sql, grant, conversation_id)
        entries = index_texts(self._reader, (str(grant.tenant_id), run_id), [(new.summary.id, new.summary.text)])
        values = {"conversation_id": conversation_id, "summary": Jsonb(_row(new, version))} | entries
        return await self._call(grant, "remake", values) is True

    async def wake(self, grant: Grant, conversation_id: UUID) -> None:
        await self._call(grant, "wake", {"conversation_id": conversation_id})

    async def get(self, grant: Grant, summary_id: UUID) -> Summary | None:
        rows = await self._read(grant, "get", {"id": summary_id})
        return _shown(rows[0]) if rows else None

    async def children(self, grant: Grant, summary_id: UUID) -> list[Summary]:
        return [_shown(row) for row in await self._read(grant, "children", {"id": summary_id})]

    async def sources(self, grant: Grant, summary_id: UUID, after: Position | None = None) -> MessageSlice:
        time, seq = after or (EARLIEST, 0)
        bounds = {"id": summary_id, "after_time": time, "after_seq": seq, "page_bytes": PAGE_BYTES}
        return read_slice(await self._pool.read(grant, self._sql.page("sources"), grant_values(grant) | bounds))

    async def tree(self, grant: Grant, place: Place) -> list[Summary]:
        return await self._in_place(grant, place, "tree")

    async def tops(self, grant: Grant, place: Place, limit: int) -> list[Summary]:
        return await self._in_place(grant, place, "tops", limit)

    async def told(self, grant: Grant, place: Place) -> list[Summary]:
        return await self._in_place(grant, place, "told")

    async def tell(self, grant: Grant, place: Place, summary: AgentSummary) -> bool:
        values = {"conversation_id": place.conversation_id, "summary": Jsonb(_told_row(summary))}
        values |= index_texts(self._reader, (str(grant.tenant_id), place.run_id), [(summary.id, summary.content)])
        return await self._call(grant, "tell", values) is True

    async def _in_place(self, grant: Grant, place: Place, name: str, limit: int | None = None) -> list[Summary]:
        # one conversation has one scope: the grant is asked once, not for every row
        if self._first_wall and not grant.opens(place):
            return []
        values = {"conversation_id": place.conversation_id, "run_id": place.run_id, "limit": limit}
        return [_shown(row) for row in await self._read(grant.only(place.run_id), name, values)]

    async def _read(self, grant: Grant, name: str, values: dict[str, Any]) -> list[Row]:
        return await self._pool.read(grant, self._sql.read(name), values | grant_values(grant))

    async def _call(self, grant: Grant, name: str, values: dict[str, Any]) -> Any:
        rows = await self._pool.fetch(self._sql[name], values | {"tenant_id": grant.tenant_id, "grant": dump(grant)})
        return rows[0][0]


class PostgresTasks:
    """The tasks of single messages; a result and the end of its task are one transaction."""

    def __init__(self, pool: Pool, reader: TextIndexer, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._reader = reader
        self._sql = Queries("summaries.sql", first_wall=first_wall)

    async def pending(self, grant: Grant, conversation_id: UUID, task: Task, most: int) -> list[TaskMessage]:
        values = {"conversation_id": conversation_id, "task": task, "most": most}
        rows = await self._pool.read(grant, self._sql.read("pending"), values | grant_values(grant))
        return read_rows(TaskMessage, rows)

    async def fail(self, grant: Grant, conversation_id: UUID, task: Task, seq: int) -> None:
        await self._call(grant, "fail_task", {"conversation_id": conversation_id, "task": task, "seq": seq})

    async def store_sentence(self, grant: Grant, conversation_id: UUID, seq: int, sentence: ToolSentence) -> None:
        run_id = await find_run(self._pool, self._sql, grant, conversation_id)
        values = {"text": sentence.text, "model": sentence.model, "reason": sentence.reason}
        # the message is the source, and the database knows it by its place
        values |= index_texts(self._reader, (str(grant.tenant_id), run_id), [(_FIRST_ID, sentence.text)])
        await self._call(grant, "store_sentence", values | {"conversation_id": conversation_id, "seq": seq})

    async def store_landmarks(
        self, grant: Grant, conversation_id: UUID, seq: int, landmarks: Sequence[DetectedLandmark]
    ) -> None:
        run_id = await find_run(self._pool, self._sql, grant, conversation_id) if landmarks else ""
        landmarks_by_id = list(zip(series(), landmarks, strict=False))
        rows = [{"id": str(id_), "kind": landmark.kind, "text": landmark.text} for id_, landmark in landmarks_by_id]
        values = {"conversation_id": conversation_id, "seq": seq, "found": Jsonb(rows)}
        values |= index_texts(
            self._reader, (str(grant.tenant_id), run_id), [(id_, one.text) for id_, one in landmarks_by_id]
        )
        await self._call(grant, "store_landmarks", values)

    async def _call(self, grant: Grant, name: str, values: dict[str, Any]) -> None:
        await self._pool.fetch(self._sql[name], values | {"tenant_id": grant.tenant_id, "grant": dump(grant)})


class PostgresLandmarks:
    def __init__(self, pool: Pool, reader: TextIndexer, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._reader = reader
        self._sql = Queries("landmarks.sql", first_wall=first_wall)

    async def pin(
        self, grant: Grant, place: Place, message_id: UUID, kind: LandmarkKind, text: str | None, by: str | None
    ) -> tuple[UUID, Pinned]:
        id_ = new_id()
        if text is None:
            text = await self._content(grant, place, message_id)
        values = {
            "tenant_id": grant.tenant_id, "grant": dump(grant), "conversation_id": place.conversation_id, "id": id_,
            "message_id": message_id, "kind": kind, "text": text, "by": by,
        }  # fmt: skip
        values |= index_texts(self._reader, (str(grant.tenant_id), place.run_id), [(id_, text)])
        rows = await self._pool.fetch(self._sql["pin"], values)
        return id_, rows[0][0]

    async def _content(self, grant: Grant, place: Place, message_id: UUID) -> str:
        values = grant_values(grant) | {"conversation_id": place.conversation_id, "message_id": message_id}
        rows = await self._pool.read(grant, self._sql.read("content"), values)
        return str(rows[0].content) if rows else ""

    async def unpin(self, grant: Grant, landmark_id: UUID, by: str | None) -> bool:
        values = {"tenant_id": grant.tenant_id, "grant": dump(grant), "id": landmark_id, "by": by}
        return await self._pool.fetch(self._sql["unpin"], values) == [(True,)]

    async def get(self, grant: Grant, landmark_id: UUID) -> Landmark | None:
        rows = await self._pool.read(grant, self._sql.read("get"), grant_values(grant) | {"id": landmark_id})
        return read_row(Landmark, rows[0]) if rows else None

    async def list(
        self, grant: Grant, kind: LandmarkKind | None, after: tuple[datetime, UUID] | None, limit: int
    ) -> list[Landmark]:
        time, id_ = after or (EARLIEST, _FIRST_ID)
        values = grant_values(grant) | {"kind": kind, "after_time": time, "after_id": id_, "limit": limit}
        return read_rows(Landmark, await self._pool.read(grant, self._sql.read("list"), values))

    async def latest(self, grant: Grant, limit: int) -> tuple[Sequence[Landmark], int]:
        rows = await self._pool.read(grant, self._sql.read("latest"), grant_values(grant) | {"limit": limit})
        return read_rows(Landmark, rows), rows[0].total if rows else 0


async def find_run(pool: Pool, sql: Queries, grant: Grant, conversation_id: UUID) -> str:
    """Return the label that the conversation's words are indexed under; an unknown one stores nothing anyway."""
    values = grant_values(grant) | {"conversation_id": conversation_id}
    rows = await pool.read(grant, sql.read("run"), values)
    return str(rows[0].run_id) if rows else ""


def _row(new: NewSummary, version: int) -> dict[str, Any]:
    summary = new.summary
    return {
        "id": str(summary.id),
        "tier": summary.tier,
        "pipeline_version": version,
        "first_seq": summary.first_seq,
        "last_seq": summary.last_seq,
        "earliest_at": summary.earliest_at.isoformat(),
        "latest_at": summary.latest_at.isoformat(),
        "message_count": new.message_count,
        "message_tokens": summary.message_tokens,
        "content": summary.text,
        "model": new.model,
        "share": new.share,
        "reason": new.reason,
        "key_decisions": list(summary.key_decisions),
        "entities_mentioned": list(summary.entities_mentioned),
        "tools_called": list(summary.tools_called),
        "hidden": "empty" if new.is_empty else None,
    }


def _told_row(summary: AgentSummary) -> dict[str, Any]:
    return {
        "id": str(summary.id),
        "pipeline_version": _AGENT_SUMMARY_VERSION,
        "earliest_at": summary.at.isoformat(),
        "latest_at": summary.at.isoformat(),
        "message_count": 0,
        "message_tokens": 0,
        "content": summary.content,
        "model": "told",
        "share": 1,
        "key_decisions": summary.key_decisions,
        "entities_mentioned": summary.entities_mentioned,
        "tools_called": summary.tools_called,
        "agent": summary.agent,
        "user": summary.user,
    }


def _shown(row: Row) -> Summary:
    id_, conversation, tier, *rest = row
    rest = [tuple(value) if isinstance(value, list) else value for value in rest]
    return Summary(id_, conversation, tier, LEVELS.get(tier, "stored"), DEPTHS.get(tier, 0), *rest)
