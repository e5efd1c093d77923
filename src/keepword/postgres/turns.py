"""The store of composed turns."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any
from uuid import UUID

from keepword.access import Grant, Place
from keepword.answers import LeftOut, SectionSize, Turn
from keepword.compose.kept_turns import KeptLine, KeptTurn
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row
from keepword.postgres.transcript import LATEST

_LAST_ID = UUID(int=2**128 - 1)
_TURN_COLUMNS = frozenset(field.name for field in fields(Turn)) - {"sections"}


class PostgresTurns:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._first_wall = first_wall
        self._sql = Queries("turns.sql", first_wall=first_wall)

    async def keep(self, grant: Grant, conversation_id: UUID, turn: dict[str, Any]) -> None:
        values = {
            "grant": dump(grant),
            "tenant_id": grant.tenant_id,
            "conversation_id": conversation_id,
            "turn": json.dumps(turn, ensure_ascii=False),
        }
        await self._pool.fetch(self._sql["keep"], values)

    async def list(
        self, grant: Grant, place: Place, before: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[Turn]:
        if self._first_wall and not grant.opens(place):
            return ()
        before_time, before_id = before or (LATEST, _LAST_ID)
        values = {
            "tenant_id": grant.tenant_id, "conversation_id": place.conversation_id, "run_id": place.run_id,
            "before_time": before_time, "before_id": before_id, "limit": limit,
        }  # fmt: skip
        rows = await self._pool.read(grant.only(place.run_id), self._sql.read("list"), values)
        return [_turn(row) for row in rows]

    async def get(self, grant: Grant, id_: UUID) -> KeptTurn | None:
        rows = await self._pool.read(grant, self._sql.read("get"), grant_values(grant) | {"id": id_})
        return _kept(rows[0]) if rows else None


async def sweep(pool: Pool, before: datetime) -> int:
    """Free the turns of all tenants from before then, and tell how many that were."""
    ((freed,),) = await pool.fetch(Queries("turns.sql")["sweep"], {"before": before})
    return int(freed)


def _turn(row: Row) -> Turn:
    sizes = tuple(SectionSize(one["name"], one["tokens"], len(one["lines"])) for one in row.sections)
    return Turn(sections=sizes, **{name: getattr(row, name) for name in _TURN_COLUMNS})


def _kept(row: Row) -> KeptTurn:
    lines = {one["name"]: [KeptLine(**line) for line in one["lines"]] for one in row.sections}
    left_out = [LeftOut(**one) for one in row.left_out]
    return KeptTurn(_turn(row), lines, left_out, row.degraded, row.previous, row.said_next)
