"""The extraction job, and the operations on memories: add, get, change, delete."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from keepword.access import Grant, Place, project_run
from keepword.answers import Feedback, Memory, MemoryType
from keepword.embedding import Entry
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound, Outdated, TooLarge, Unavailable
from keepword.llm.port import Model
from keepword.memories import agents_word
from keepword.memories.consolidate import MemoryChanges, ValidMemory, consolidate
from keepword.memories.extract import find
from keepword.memories.extracted import IMPORTANCE, ExtractedMemory
from keepword.memories.labels import labelled
from keepword.memories.ports import (
    BatchLimits,
    CurrentMemories,
    ExtractionState,
    Memories,
    MemoryWording,
    MemoryWrite,
    ReadRange,
    UnreadMessages,
)
from keepword.slices import Runner, in_thread
from keepword.statements.meaning import meaning
from keepword.transcript.ports import TextIndexer
from keepword.transcript.secrets_hidden import hide_secrets

BATCH_MESSAGES = 40
BATCH_LIMITS = BatchLimits(most=120, each=BATCH_MESSAGES, context=6)
MAX_CONTENT_BYTES = 8 * 1024
# a collision with another worker in the same scope: try again, with what that one wrote
ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads one scope at a time, oldest messages first; the database refuses what another worker stored first."""

    store: Memories
    reader: TextIndexer
    model: Model | None = None
    run: Runner = in_thread
    keeps_secrets: bool = False

    async def extract(self, grant: Grant, conversation_id: UUID) -> int:
        """Read the unread messages of the conversation's scope; return how many memories were written."""
        memory_count = 0
        while scope := await self.store.scope(grant, conversation_id):
            unread = await self.store.unread(grant, scope.waiting, BATCH_LIMITS)
            if not unread:
                for one in scope.waiting:
                    await self.store.settle(grant, one.conversation_id, scope.read_at)
                break
            memory_count += await self._read(grant, conversation_id, scope, unread)
        return memory_count

    async def _read(
        self, grant: Grant, conversation_id: UUID, scope: ExtractionState, unread: Sequence[UnreadMessages]
    ) -> int:
        memories: list[ExtractedMemory] = []
        read: list[ReadRange] = []
        for one in unread:
            extracted = await find(one.messages, one.before, self.model, self.run, keeps_secrets=self.keeps_secrets)
            memories += labelled(_vouched(extracted.memories, one.unvouched), one.messages)
            if scope.agents_word:
                memories += labelled(await self._agents_word(one), one.messages)
            read.append(ReadRange(one, extracted.model))
        sources = [message.id for one in unread for message in one.messages]
        for _ in range(ATTEMPTS):
            known = await self.store.stored_pairs(grant, sources)
            existing = await self.store.valid(grant, scope.run_id)
            changes = await self.run(consolidate, existing, memories, known)
            entries = _entries(self.reader, grant, scope.run_id, changes)
            writing = MemoryWrite(changes, entries, read=read)
            if await self.store.store(grant, conversation_id, scope.revision, writing):
                return len(changes.added)
            if await self.store.there(grant, scope.run_id, sources) != set(sources):
                return 0  # one of them was retracted meanwhile; the others are read again
            now = await self.store.scope(grant, conversation_id)
            if now is None or not {one.waiting for one in unread} <= set(now.waiting):
                return 0  # another worker wrote to this scope
            scope = now
        raise Unavailable(f"too many concurrent writes to {scope.run_id}; nothing was stored. Try again")

    async def _agents_word(self, unread: UnreadMessages) -> list[ExtractedMemory]:
        messages = unread.messages if self.keeps_secrets else await self.run(hide_secrets, unread.messages)
        return await self.run(agents_word.extract, messages, unread.waiting.user)


def _vouched(memories: Sequence[ExtractedMemory], unvouched: frozenset[UUID]) -> list[ExtractedMemory]:
    return [replace(one, vouched=unvouched.isdisjoint(one.sources)) for one in memories]


def _entries(reader: TextIndexer, grant: Grant, run_id: str, changes: MemoryChanges) -> Mapping[UUID, Entry]:
    salts = (str(grant.tenant_id), run_id)
    return {
        new.id: reader.index_entry(new.extracted.text, salts, whole=False)
        for new in changes.added
        if new.valid_to is None
    }


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory that a caller adds. The default importance depends on its type."""

    content: str
    type: MemoryType = "fact"
    importance: float | None = None
    confidence: float = 1.0
    user: str | None = None
    agent: str | None = None
    sources: Sequence[UUID] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    categories: Sequence[str] = ()
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """What an added memory became: a new one, or one with the same meaning that was there."""

    id: UUID
    content: str
    is_new: bool


async def add(
    store: Memories, reader: TextIndexer, grant: Grant, place: Place, draft: MemoryDraft, at: datetime, by: str | None
) -> tuple[Memory, bool]:
    """Add a memory to a conversation's place; return it, and whether it is new or merged into an equal one."""
    kept = await keep(store, reader, grant, place, draft, at, by)
    return await get(store, grant, kept.id), kept.is_new


async def keep(
    store: Memories, reader: TextIndexer, grant: Grant, place: Place, draft: MemoryDraft, at: datetime, by: str | None
) -> KeptMemory:
    """Do what `add` does, without reading the memory again."""
    conversation_id = place.conversation_id
    if conversation_id is None:
        raise NotFound(f"no conversation {place.external_id!r}")
    content = check_content(draft.content)
    require_ahead(draft.expires_at, at)
    if draft.sources and (missing := set(draft.sources) - await store.there(grant, place.run_id, draft.sources)):
        raise NotFound(f"no message {min(missing)} in this place (sources)")
    one = ExtractedMemory(
        draft.type, content, draft.confidence, at, tuple(draft.sources), draft.user, draft.agent, draft.importance,
        vouched=grant.vouches, metadata=draft.metadata, categories=draft.categories, expires_at=draft.expires_at,
    )  # fmt: skip

    async def current() -> CurrentMemories | None:
        return await store.current(grant, conversation_id)

    async def write(seen: int, writing: MemoryWrite) -> bool:
        return await store.store(grant, conversation_id, seen, writing)

    return await _take_up(store, reader, grant, _MemoryTarget(place.run_id, current, write), one, by)


async def add_to_project(
    store: Memories, reader: TextIndexer, grant: Grant, project: str, draft: MemoryDraft, at: datetime, by: str | None
) -> tuple[Memory, bool]:
    """Add a memory to a project, for all of its places; return it, and whether it is new, not merged into another."""
    run_id = project_run(project)
    if not grant.lets_share(run_id):
        if run_id in grant.run_ids:
            raise not_shared(run_id)
        raise NotFound(f"no project {project!r} in this place")
    content = check_content(draft.content)
    require_ahead(draft.expires_at, at)
    one = ExtractedMemory(
        draft.type, content, draft.confidence, at, (), None, draft.agent, draft.importance,
        metadata=draft.metadata, categories=draft.categories, expires_at=draft.expires_at,
    )  # fmt: skip

    async def current() -> CurrentMemories | None:
        revision = await store.project_revision(grant, project)
        if revision is None:
            raise NotFound(f"no project {project!r}")
        return CurrentMemories(revision, await store.valid(grant, run_id))

    async def write(seen: int, writing: MemoryWrite) -> bool:
        return await store.store_in_project(grant, project, seen, writing)

    kept = await _take_up(store, reader, grant, _MemoryTarget(run_id, current, write), one, by)
    return await get(store, grant, kept.id), kept.is_new


def not_shared(run_id: str) -> Forbidden:
    return Forbidden(
        f"memories of {run_id} can't be written from here: they are written in the project's sessions and rooms, and "
        "by an unbound admin key"
    )


@dataclass(frozen=True, slots=True)
class _MemoryTarget:
    """Where a memory is stored: a place or a project, what is valid there, and what writes at that revision."""

    run_id: str
    current: Callable[[], Awaitable[CurrentMemories | None]]
    write: Callable[[int, MemoryWrite], Awaitable[bool]]


async def _take_up(
    store: Memories, reader: TextIndexer, grant: Grant, home: _MemoryTarget, one: ExtractedMemory, by: str | None
) -> KeptMemory:
    for _ in range(ATTEMPTS):
        current = await home.current()
        if current is None:
            break
        known = await store.stored_pairs(grant, one.sources) if one.sources else ()
        changes = consolidate(current.valid, [one], known)
        if changes.is_empty:
            raise Conflict(
                "this was found in that message before, and was deleted or superseded since; add it without sources"
            )
        entries = _entries(reader, grant, home.run_id, changes)
        if await home.write(current.revision, MemoryWrite(changes, entries, by=by)):
            return _kept(changes, current.valid)
    raise Unavailable(f"too many concurrent writes to {home.run_id}; nothing was stored. Try again")


def _kept(changes: MemoryChanges, valid: Sequence[ValidMemory]) -> KeptMemory:
    if changes.added:
        new = changes.added[0]
        return KeptMemory(new.id, new.extracted.text, is_new=True)
    id_ = changes.merged[0][0]
    return KeptMemory(id_, next(existing.text for existing in valid if existing.id == id_), is_new=False)


def rank(memories: Sequence[Memory], query: str) -> list[tuple[float, Memory]]:
    """Order memories by the share of the query's words that they contain; for past times, which no index covers."""
    query_stems = set(meaning(query).stems)
    scored = [(len(query_stems & set(meaning(one.content).stems)) / max(1, len(query_stems)), one) for one in memories]
    return sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].valid_from, pair[1].id))


async def get(store: Memories, grant: Grant, memory_id: UUID, *, deleted: bool = False) -> Memory:
    memories = await store.get(grant, [memory_id], deleted=deleted)
    if not memories:
        raise absent(memory_id)
    return memories[0]


async def change(
    store: Memories, reader: TextIndexer, grant: Grant, memory_id: UUID, to: Mapping[str, object], expected: int | None,
    by: str | None,
) -> Memory:  # fmt: skip
    """Change a memory; `to` holds any of type, content, importance, confidence, metadata, categories, expires_at."""
    existing = await get(store, grant, memory_id)
    changed = replace(existing, **to)  # type: ignore[arg-type]
    content = check_content(changed.content)
    importance = changed.importance if "importance" in to or "type" not in to else IMPORTANCE[changed.type]
    entry = reader.index_entry(content, (str(grant.tenant_id), existing.run_id), whole=False)
    wording = MemoryWording(
        changed.type, content, importance, changed.confidence, meaning(content).digest, entry, changed.metadata,
        changed.categories, changed.expires_at,
    )  # fmt: skip
    match await store.change(grant, memory_id, wording, expected if expected is not None else existing.version, by):
        case "changed":
            return await get(store, grant, memory_id)
        case "outdated":
            raise Outdated(f"memory {memory_id} was changed since; read it again, then change that")
        case "superseded":
            raise Conflict(f"memory {memory_id} is superseded and stays as it was; change the one that superseded it")
        case "twin":
            raise Conflict("another memory in this place says the same already; delete one of them")
    raise absent(memory_id)


async def delete(store: Memories, grant: Grant, memory_id: UUID, expected: int | None, by: str | None) -> None:
    outcome = await store.delete(grant, memory_id, expected, by)
    if outcome == "outdated":
        raise Outdated(f"memory {memory_id} is not at version {expected} any more; read it again")
    if outcome != "deleted":
        raise absent(memory_id)


async def restore(
    store: Memories, reader: TextIndexer, grant: Grant, memory_id: UUID, expected: int | None, by: str | None
) -> Memory:
    """Bring a deleted memory back as it was."""
    existing = await get(store, grant, memory_id, deleted=True)
    if existing.state != "deleted":
        raise Conflict(f"memory {memory_id} is not deleted")
    entry = reader.index_entry(existing.content, (str(grant.tenant_id), existing.run_id), whole=False)
    match await store.restore(grant, memory_id, entry, expected, by):
        case "restored":
            return await get(store, grant, memory_id)
        case "outdated":
            raise Outdated(f"memory {memory_id} is not at version {expected} any more; read it again")
        case "twin":
            raise Conflict("another memory in this place says the same by now; delete that one first")
    raise absent(memory_id)


async def rate(
    store: Memories, grant: Grant, memory_id: UUID, feedback: Feedback | None, reason: str | None, by: str | None
) -> Memory:
    """Keep what somebody thinks of a memory; None takes it back."""
    if await store.rate(grant, memory_id, feedback, reason, by) != "changed":
        raise absent(memory_id)
    return await get(store, grant, memory_id)


def require_ahead(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"expires_at is {expires_at.isoformat()}, which is over; name a time to come", "expires_at")


def check_content(content: str) -> str:
    if not content.strip():
        raise InvalidInput("content is empty; a memory says something", "content")
    if (size := len(content.encode())) > MAX_CONTENT_BYTES:
        raise TooLarge(f"content has {size} bytes; a memory has at most {MAX_CONTENT_BYTES}", "content")
    return content.strip()


def absent(memory_id: UUID) -> NotFound:
    return NotFound(f"no memory {memory_id}")
