"""Calls for facts, memories, working memory and the ledger."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from keepword import answers
from keepword.answers import FactType, Feedback, MemoryType, ScopeKind
from keepword.client.transport import HttpTransport, When, given, segment


class Facts:
    """Exact values under a key, of a `user`, `project` or `room` by its id; `global` has `-` for one."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def get(
        self, scope_kind: ScopeKind, scope_id: str, key: str, *, conversation: str | None = None
    ) -> answers.Fact:
        """Read a fact; `conversation` says in whose place."""
        query = {"conversation": conversation}
        return await self._wire.call(answers.Fact, "GET", _fact(scope_kind, scope_id, key), query=query)

    async def set(
        self,
        scope_kind: ScopeKind,
        scope_id: str,
        key: str,
        value: Any,
        *,
        type: FactType | Literal["any"] | None = None,  # noqa: A002 - the API's own word
        source: UUID | None = None,
        confidence: float | None = None,
        version: int | None = None,
        conversation: str | None = None,
    ) -> answers.Fact:
        """Write a fact; what it was goes into its history.

        `type` declares what later values must be, "any" takes that away. With `version` it is written only if it is
        at that version, 0: only if there is none; else Outdated is raised.
        """
        declared = {} if type is None else {"type": None if type == "any" else type}
        body = {"value": value, **declared, **given(source=source, confidence=confidence, version=version)}
        path, query = _fact(scope_kind, scope_id, key), {"conversation": conversation}
        return await self._wire.call(answers.Fact, "PUT", path, body=body, query=query)

    async def delete(
        self,
        scope_kind: ScopeKind,
        scope_id: str,
        key: str,
        *,
        version: int | None = None,
        conversation: str | None = None,
    ) -> None:
        """Delete a fact; its history stays."""
        path, query = _fact(scope_kind, scope_id, key), {"conversation": conversation}
        await self._wire.do("DELETE", path, query=query, version=version)

    async def list(
        self,
        scope_kind: ScopeKind | None = None,
        scope_id: str | None = None,
        *,
        conversation: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.FactPage:
        """List a scope's facts by key; without a scope all that may be read in the conversation's place."""
        path = "/v1/facts" if scope_kind is None else _scope(scope_kind, scope_id or "")
        query = given(conversation=conversation, limit=limit, cursor=cursor)
        return await self._wire.call(answers.FactPage, "GET", path, query=query)

    async def history(
        self,
        scope_kind: ScopeKind,
        scope_id: str,
        key: str,
        *,
        conversation: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.FactHistory:
        path = f"{_fact(scope_kind, scope_id, key)}/history"
        query = given(conversation=conversation, limit=limit, cursor=cursor)
        return await self._wire.call(answers.FactHistory, "GET", path, query=query)


class Memories:
    """What was worth keeping of what was said, a sentence each, with its sources."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def add(
        self,
        conversation: str | None,
        content: str,
        *,
        project: str | None = None,
        type: MemoryType = "fact",  # noqa: A002 - the API's own word
        importance: float | None = None,
        confidence: float | None = None,
        user: str | None = None,
        agent: str | None = None,
        sources: Iterable[UUID] = (),
        metadata: Mapping[str, Any] | None = None,
        categories: Iterable[str] | None = None,
        expires_at: datetime | None = None,
    ) -> answers.Memory:
        """Keep a memory. One that says the same takes it up; one that it contradicts is superseded.

        With `project` it is kept for all places of that project. After `expires_at` it is found no more.
        """
        body = given(
            conversation=conversation, project=project, content=content, type=type, importance=importance,
            confidence=confidence, user=user, agent=agent, sources=list(sources), metadata=metadata,
            categories=None if categories is None else list(categories), expires_at=expires_at,
        )  # fmt: skip
        return await self._wire.call(answers.Memory, "POST", "/v1/semantic", body=body)

    async def search(
        self,
        query: str,
        *,
        conversation: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        types: Sequence[MemoryType] | None = None,
        run_ids: Sequence[str] | None = None,
        as_of: When | None = None,
        limit: int = 10,
    ) -> answers.MemoryHits:
        """Find memories, best first: those that are valid now, or with `as_of` those that were."""
        body = given(
            query=query, conversation=conversation, user_id=user, agent_id=agent, as_of=as_of, limit=limit,
            filter=given(type=types and list(types), run_id=run_ids and list(run_ids)),
        )  # fmt: skip
        return await self._wire.call(answers.MemoryHits, "POST", "/v1/search/semantic", body=body)

    async def list(
        self,
        *,
        conversation: str | None = None,
        type: MemoryType | None = None,  # noqa: A002 - the API's own word
        user: str | None = None,
        agent: str | None = None,
        as_of: When | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.MemoryPage:
        """List what may be read in the conversation's place, oldest first."""
        query = given(
            conversation=conversation, type=type, user=user, agent=agent, as_of=as_of, limit=limit, cursor=cursor
        )
        return await self._wire.call(answers.MemoryPage, "GET", "/v1/semantic", query=query)

    async def get(self, memory: UUID | str, *, conversation: str | None = None) -> answers.Memory:
        """Read a memory, also one that is no longer valid; one of a project in the place of the conversation."""
        query = given(conversation=conversation)
        return await self._wire.call(answers.Memory, "GET", _memory(memory), query=query)

    async def update(
        self,
        memory: UUID | str,
        *,
        content: str | None = None,
        type: MemoryType | None = None,  # noqa: A002 - the API's own word
        importance: float | None = None,
        confidence: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        categories: Iterable[str] | None = None,
        expires_at: datetime | Literal["never"] | None = None,
        version: int | None = None,
        conversation: str | None = None,
    ) -> answers.Memory:
        """Change what a memory says; with `version` only if it is at that version.

        `metadata` and `categories` are set as a whole; `expires_at` "never" takes the end away.
        """
        body = given(
            content=content, type=type, importance=importance, confidence=confidence, metadata=metadata,
            categories=None if categories is None else list(categories), expires_at=expires_at,
        )  # fmt: skip
        if expires_at == "never":
            body["expires_at"] = None
        query = given(conversation=conversation)
        return await self._wire.call(answers.Memory, "PATCH", _memory(memory), body=body, query=query, version=version)

    async def delete(self, memory: UUID | str, *, version: int | None = None, conversation: str | None = None) -> None:
        """Delete a memory; its history and the messages that it came from stay."""
        await self._wire.do("DELETE", _memory(memory), query=given(conversation=conversation), version=version)

    async def restore(
        self, memory: UUID | str, *, version: int | None = None, conversation: str | None = None
    ) -> answers.Memory:
        """Bring a deleted memory back as it was."""
        path, query = f"{_memory(memory)}/restore", given(conversation=conversation)
        return await self._wire.call(answers.Memory, "POST", path, query=query, version=version)

    async def rate(
        self,
        memory: UUID | str,
        feedback: Feedback | None,
        *,
        reason: str | None = None,
        conversation: str | None = None,
    ) -> answers.Memory:
        """Say what a memory was worth; None takes it back."""
        path, query = f"{_memory(memory)}/feedback", given(conversation=conversation)
        body = {"feedback": feedback, **given(reason=reason)}
        return await self._wire.call(answers.Memory, "PUT", path, body=body, query=query)

    async def query(
        self,
        filters: Mapping[str, Any],
        *,
        conversation: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.MemoryPage:
        """List what passes a tree of filters, such as `{"AND": [{"user": "ann"}, {"NOT": {"category": "work"}}]}`."""
        body = given(filters=filters, conversation=conversation, limit=limit, cursor=cursor)
        return await self._wire.call(answers.MemoryPage, "POST", "/v1/query/semantic", body=body)

    async def delete_matching(
        self, filters: Mapping[str, Any], *, conversation: str | None = None, dry_run: bool = False
    ) -> answers.DeletedMemories:
        """Delete up to 1,000 memories that pass the filters and may be written; a dry run only counts them."""
        body = given(filters=filters, conversation=conversation, dry_run=dry_run)
        return await self._wire.call(answers.DeletedMemories, "POST", "/v1/delete/semantic", body=body)

    async def history(
        self, memory: UUID | str, *, limit: int = 50, cursor: str | None = None, conversation: str | None = None
    ) -> answers.MemoryHistory:
        query = given(limit=limit, cursor=cursor, conversation=conversation)
        return await self._wire.call(answers.MemoryHistory, "GET", f"{_memory(memory)}/history", query=query)

    async def try_extraction(
        self,
        text: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        at: datetime | None = None,
        model: bool = False,
        agents_word: bool | None = None,
    ) -> answers.ExtractionTrial:
        """Tell what would be remembered of a talk such as `Ann: I moved.`, and what refused; nothing is stored."""
        body = given(text=text, user=user, agent=agent, at=at, model=model, agents_word=agents_word)
        return await self._wire.call(answers.ExtractionTrial, "POST", "/v1/try/extraction", body=body)


class WorkingMemory:
    """A conversation's scratch fields, with a lifetime that every read and write refreshes."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def get(self, conversation: str) -> dict[str, Any]:
        """Return all fields, none for a conversation that is not known."""
        return await self._wire.call(dict[str, Any], "GET", _working(conversation))

    async def put(
        self, conversation: str, fields: Mapping[str, Any], *, ttl_seconds: int | None = None
    ) -> answers.WorkingMemorySize:
        """Merge fields in, all or nothing; a conversation that is not known is made."""
        body = {"data": dict(fields), **given(ttl_seconds=ttl_seconds)}
        return await self._wire.call(answers.WorkingMemorySize, "PUT", _working(conversation), body=body)

    async def delete(self, conversation: str, fields: Iterable[str]) -> None:
        """Delete the named fields; one that is not there is passed over."""
        await self._wire.do("DELETE", _working(conversation), body={"fields": list(fields)})

    async def clear(self, conversation: str) -> None:
        await self._wire.do("DELETE", _working(conversation))


class Ledger:
    """What was already injected into a conversation; it never expires."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def get(self, conversation: str) -> dict[str, str]:
        return await self._wire.call(dict[str, str], "GET", _ledger(conversation))

    async def check(self, conversation: str, item: str) -> str | None:
        """Return what the item was marked with, None if it was not."""
        path, body = f"{_ledger(conversation)}/check", {"item_key": item}
        return (await self._wire.call(answers.LedgerCheck, "POST", path, body=body)).value

    async def mark(self, conversation: str, item: str, value: str | None = None) -> bool:
        """Mark an item as injected, over an earlier value; True to exactly one of all who do."""
        path, body = f"{_ledger(conversation)}/mark", {"item_key": item, **given(value=value)}
        return (await self._wire.call(answers.LedgerMark, "POST", path, body=body)).first

    async def evict(self, conversation: str, item: str) -> bool:
        """Forget an item, so that it may be injected again; False if it was not there."""
        path, body = f"{_ledger(conversation)}/evict", {"item_key": item}
        return (await self._wire.call(answers.LedgerEviction, "POST", path, body=body)).evicted


def _scope(scope_kind: ScopeKind, scope_id: str) -> str:
    return f"/v1/facts/{segment(scope_kind, 'scope_kind')}/{segment(scope_id, 'scope_id')}"


def _fact(scope_kind: ScopeKind, scope_id: str, key: str) -> str:
    return f"{_scope(scope_kind, scope_id)}/{segment(key, 'key')}"


def _memory(memory: UUID | str) -> str:
    return f"/v1/semantic/{segment(str(memory), 'memory')}"


def _working(conversation: str) -> str:
    return f"/working-memory/{segment(conversation, 'conversation')}"


def _ledger(conversation: str) -> str:
    return f"/ledger/{segment(conversation, 'conversation')}"
