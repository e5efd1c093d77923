"""Memories and their history as mem0's clients read them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid5

from fastapi import Request, Response
from pydantic_core import to_json

from keepword.answers import Memory, MemoryVersion
from keepword.http import mem0_entities as entities
from keepword.http.responses import as_json

_EVENTS = {"added": "ADD", "deleted": "DELETE", "rated": "NOOP"}
_ALWAYS = frozenset({"id", "memory", "score"})


def answer(value: Any, status: int = 200) -> Response:
    return as_json(to_json(value), status)


def shown(memory: Memory, fields: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return a memory; the run stands under both of the names that their calls have for it."""
    of = entities.of_memory(memory)
    full = more | of.shown() | {
        "id": memory.id,
        "memory": memory.content,
        "session_id": of.run,
        "metadata": memory.metadata or None,
        "categories": list(memory.categories),
        "expiration_date": last_day(memory.expires_at),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "lifecycle_state": memory.state,
        "replaced_by": memory.superseded_by,
        "structured_attributes": None,
        "synthesized": False,
    }  # fmt: skip
    return full if not fields else {name: value for name, value in full.items() if name in _ALWAYS.union(fields)}


def last_day(expires_at: datetime | None) -> str | None:
    return None if expires_at is None else (expires_at - timedelta(microseconds=1)).date().isoformat()


def history(memory: Memory, versions: Sequence[MemoryVersion], said: Sequence[Mapping[str, str]]) -> list[Any]:
    """Return what happened to a memory, the oldest first; `versions` have the newest first."""
    rows: list[Any] = []
    before: str | None = None
    for version in reversed(versions):
        event = _EVENTS.get(version.event, "UPDATE")
        rows.append({
            "id": uuid5(memory.id, str(version.version)),
            "memory_id": memory.id,
            "input": said,
            "old_memory": before,
            "new_memory": None if event == "DELETE" else version.content,
            "user_id": memory.user,
            "event": event,
            "metadata": version.metadata or None,
            "categories": list(version.categories),
            "created_at": memory.created_at,
            "updated_at": version.written_at,
        })  # fmt: skip
        before = version.content
    return rows


def page(request: Request, total: int, number: int, size: int, results: Sequence[Any]) -> dict[str, Any]:
    """Return a page of a list that is paged by numbers, with the addresses of those beside it."""
    return {
        "count": total,
        "next": _address(request, number + 1, size) if number * size < total else None,
        "previous": _address(request, number - 1, size) if number > 1 else None,
        "results": results,
    }


def identifier(text: str) -> UUID | None:
    """Read the id of a memory or an event; None for what is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _address(request: Request, number: int, size: int) -> str:
    return f"{request.scope['path']}?{urlencode({'page': number, 'page_size': size})}"
