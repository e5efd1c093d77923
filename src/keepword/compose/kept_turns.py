"""Keeps composed turns in the background: ids, sizes, scores and reasons, but no words."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

import structlog

from keepword.access import Grant, Place
from keepword.answers import ComposedContext, LeftOut, Line, LineKind, Section, Turn
from keepword.compose.compose import ComposeRequest
from keepword.errors import KeepwordError
from keepword.ids import new_id

FLUSH_SECONDS = 1.0
MAX_PENDING_TURNS = 1_000

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line without its text; `id` names its source."""

    kind: LineKind
    id: str
    tokens: int
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """`said_next` is the same user's first message after the turn, where the turn's own message is not known."""

    turn: Turn
    lines: Mapping[str, Sequence[KeptLine]]
    left_out: Sequence[LeftOut]
    degraded: Sequence[str]
    previous: UUID | None
    said_next: UUID | None


class TurnStore(Protocol):
    async def keep(self, grant: Grant, conversation_id: UUID, turn: dict[str, Any]) -> None: ...

    async def list(
        self, grant: Grant, place: Place, before: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[Turn]:
        """Return turns of the place's conversation, the newest first."""
        ...

    async def get(self, grant: Grant, id_: UUID) -> KeptTurn | None: ...


class TurnLog:
    """Holds turns until they are stored, so that none of them waits for it; beyond the limit turns are dropped."""

    def __init__(self, store: TurnStore, *, keeps: bool = True) -> None:
        self._store = store
        self._keeps = keeps
        self._pending: deque[tuple[Grant, UUID, dict[str, Any]]] = deque(maxlen=MAX_PENDING_TURNS)

    def note(
        self, grant: Grant, place: Place, request: ComposeRequest, composed: ComposedContext, now: datetime
    ) -> None:
        if self._keeps and not request.dry_run and place.conversation_id is not None:
            turn = _kept(request, composed, now)
            self._pending.append((grant.only(place.run_id), place.conversation_id, turn))

    async def run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        while self._pending:
            try:
                await self._store.keep(*self._pending.popleft())
            except KeepwordError as exc:
                _log.warning("a composed turn was not kept", reason=str(exc))


def _kept(request: ComposeRequest, composed: ComposedContext, now: datetime) -> dict[str, Any]:
    return {
        "id": str(new_id()),
        "agent": request.agent,
        "user": request.user,
        "asked": _asked(composed.sections),
        "template": composed.template,
        "recipe": request.recipe,
        "reach": composed.reach,
        "window_tokens": composed.window_tokens,
        "tokens": composed.tokens,
        "injected_tokens": composed.injected_tokens,
        "proposed_tokens": composed.proposed_tokens,
        "compacted": composed.compacted,
        "sections": [_section(section) for section in composed.sections],
        "left_out": [asdict(one) for one in composed.left_out],
        "degraded": list(composed.degraded),
        "created_at": now.isoformat(),
    }


def _asked(sections: Sequence[Section]) -> str | None:
    """Return the id of the message that was asked, where the caller had appended it before."""
    ids = (line.id for section in sections if section.name == "invocation" for line in section.lines)
    with suppress(ValueError, StopIteration):
        return str(UUID(next(ids)))
    return None


def _section(section: Section) -> dict[str, Any]:
    return {"name": section.name, "tokens": section.tokens, "lines": [_line(line) for line in section.lines]}


def _line(line: Line) -> dict[str, Any]:
    return {
        "kind": line.kind, "id": line.id, "tokens": line.tokens, "score": round(line.score, 4), "reason": line.reason
    }  # fmt: skip
