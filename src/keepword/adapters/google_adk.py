"""A memory service of Google's Agent Development Kit that keeps and searches sessions in Keepword."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from keepword.answers import Hit
from keepword.client import BaseClient
from keepword.errors import NotFound
from keepword.model import MAX_NAME_CHARS

_BATCH = 1000
_LIMIT = 10
# where memories of no session are kept, and from where a user's sessions are searched
_HOME = "memory"


class KeepwordMemoryService(BaseMemoryService):
    """Pass it as `memory_service` to a Runner. The app is the agent, a session the conversation `adk:app:user:session`.

    A search reads all sessions of the user with the app, and the memories that were made of them. The texts of events
    are kept; calls of functions and files are not.
    """

    def __init__(self, client: BaseClient, *, limit: int = _LIMIT) -> None:
        self._client = client
        self._limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Keep the session's events; those that were kept before are not stored again."""
        await self._keep(session.app_name, session.user_id, session.id, session.events, {})

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep these events of a session; `custom_metadata` is kept with each."""
        await self._keep(app_name, user_id, session_id or _HOME, events, custom_metadata or {})

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep each as a memory of the user; one that says the same as another takes it up."""
        home = await self._conversation(app_name, user_id, _HOME)
        for memory in memories:
            if text := _text(memory.content):
                metadata = {**memory.custom_metadata, **(custom_metadata or {})}
                await self._acting(app_name, user_id).memories.add(home, text, metadata=metadata or None)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what comes nearest to the query in the user's sessions with the app, best first."""
        home = await self._conversation(app_name, user_id, _HOME)
        found = await self._acting(app_name, user_id).search(
            query, conversation=home, reach="user", kinds=["message", "memory"], limit=self._limit
        )
        return SearchMemoryResponse(memories=[_entry(hit) for hit in found.results])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Retract the message or delete the memory that a search returned under this id; others are passed over."""
        kind, _, rest = (memory_id or "").partition(":")
        conversation, _, seq = rest.rpartition("#")
        client = self._acting(app_name, user_id)
        with suppress(NotFound):
            if kind == "memory":
                await client.memories.delete(rest)
            elif kind == "message" and seq.isdecimal():
                await client.conversations.retract(conversation, int(seq))

    async def _keep(
        self, app: str, user: str, session: str, events: Sequence[Event], metadata: Mapping[str, object]
    ) -> None:
        messages = [_message(event, metadata) for event in events if not event.partial and _text(event.content)]
        if not messages:
            return
        conversation = await self._conversation(app, user, session)
        for begin in range(0, len(messages), _BATCH):
            await self._acting(app, user).append_all(conversation, messages[begin : begin + _BATCH])

    async def _conversation(self, app: str, user: str, session: str) -> str:
        """Make the conversation where it is not there; repeating it is safe."""
        name = _name(app, user, session)
        await self._acting(app, user).conversations.put(name, user=user, agent=app, channel="adk")
        return name

    def _acting(self, app: str, user: str) -> BaseClient:
        return self._client.acting(agent=app, user=user)


def _name(app: str, user: str, session: str) -> str:
    name = ":".join(["adk", *(quote(part, safe="@") for part in (app, user, session))])
    if len(name) <= MAX_NAME_CHARS:
        return name
    return f"adk:{hashlib.sha256(name.encode()).hexdigest()}"


def _message(event: Event, metadata: Mapping[str, object]) -> dict[str, Any]:
    return {
        "role": "user" if event.author == "user" else "assistant",
        "content": _text(event.content),
        "event_id": event.id,
        "created_at": datetime.fromtimestamp(event.timestamp, UTC),
        "metadata": {"author": event.author, "invocation": event.invocation_id, **metadata},
    }


def _entry(hit: Hit) -> MemoryEntry:
    is_message = hit.kind == "message"
    return MemoryEntry(
        content=types.Content(role="user" if hit.role == "user" else "model", parts=[types.Part(text=hit.text)]),
        id=f"message:{hit.conversation}#{hit.seq}" if is_message else f"memory:{hit.id}",
        author=hit.user if hit.role == "user" else hit.agent,
        timestamp=hit.created_at.isoformat(),
        custom_metadata={"score": hit.score, "kind": hit.kind},
    )


def _text(content: types.Content | None) -> str:
    parts = content.parts if content is not None else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought)
