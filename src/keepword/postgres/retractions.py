"""The store of retractions: each is one transaction, with all that was derived from the message."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from keepword.access import Grant, Place
from keepword.embedding import Entry
from keepword.erasure.ports import RestoreOutcome, Retracted, Speakers
from keepword.postgres.entries import entry_columns
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

_SQL = Queries("retractions.sql")


class PostgresRetractions:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def retract(
        self, grant: Grant, place: Place, seq: int, of: Speakers, by: str, reason: str | None
    ) -> Retracted:
        values = _values(grant, place, seq, of) | {"by": by, "reason": reason}
        ((outcome, message_id, at, revived),) = await self._pool.fetch(_SQL["retract"], values)
        return Retracted(outcome, message_id, at, tuple(revived or ()))

    async def restore(self, grant: Grant, place: Place, seq: int, of: Speakers) -> RestoreOutcome:
        ((outcome,),) = await self._pool.fetch(_SQL["restore"], _values(grant, place, seq, of))
        restored: RestoreOutcome = outcome
        return restored

    async def index_revived(self, grant: Grant, entries: Mapping[UUID, Entry]) -> None:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "ids": list(entries)}
        await self._pool.fetch(_SQL["index_revived"], values | entry_columns(entries.values()))


def _values(grant: Grant, place: Place, seq: int, of: Speakers) -> dict[str, Any]:
    return {
        "grant": dump(grant.only(place.run_id)), "tenant_id": grant.tenant_id,
        "conversation_id": place.conversation_id, "seq": seq, "user": of.user, "agent": of.agent,
    }  # fmt: skip
