"""The facts' store."""

from typing import Any, LiteralString

from keepword.access import Grant
from keepword.facts import FactDraft, FactOutcome, FactSubject, StoredFact, StoredFactVersion
from keepword.postgres.grants import dump, grant_values, profile_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row


class PostgresFacts:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("facts.sql", first_wall=first_wall)

    async def get(self, grant: Grant, subject: FactSubject, key: str) -> StoredFact | None:
        rows = await self._read(grant, "get", run_id=subject.run_id, key=key)
        return _fact(rows[0]) if rows else None

    async def about(self, grant: Grant, subject: FactSubject, after: str, limit: int) -> list[StoredFact]:
        rows = await self._read(grant, "about", run_id=subject.run_id, after=after, limit=limit)
        return [_fact(row) for row in rows]

    async def in_place(self, grant: Grant, after: tuple[str, str], limit: int) -> list[StoredFact]:
        rows = await self._read(grant, "in_place", after_run=after[0], after=after[1], limit=limit)
        return [_fact(row) for row in rows]

    async def history(
        self, grant: Grant, subject: FactSubject, key: str, before: int, limit: int
    ) -> list[StoredFactVersion]:
        rows = await self._read(grant, "history", run_id=subject.run_id, key=key, before=before, limit=limit)
        return [StoredFactVersion(*row) for row in rows]

    async def put(self, grant: Grant, subject: FactSubject, key: str, draft: FactDraft) -> FactOutcome:
        values = {
            "kind": subject.kind,
            "scope_id": subject.id,
            "value": draft.value,
            "type": draft.type,
            "keeps_type": draft.keeps_type,
            "source": draft.source,
            "confidence": draft.confidence,
        }
        return await self._write(grant, self._sql["put"], subject, key, draft.expected, **values)

    async def delete(self, grant: Grant, subject: FactSubject, key: str, expected: int | None) -> FactOutcome:
        return await self._write(grant, self._sql["delete"], subject, key, expected)

    async def _read(self, grant: Grant, name: str, **values: Any) -> list[Row]:
        values |= grant_values(grant) | profile_values(grant)
        return await self._pool.read(grant, self._sql.read(name), values)

    async def _write(
        self, grant: Grant, query: LiteralString, subject: FactSubject, key: str, expected: int | None, **values: Any
    ) -> FactOutcome:
        """Call a function that works under a grant of its own, for one fact."""
        values |= {
            "grant": dump(grant),
            "tenant_id": grant.tenant_id,
            "run_id": subject.run_id,
            "key": key,
            "expected": expected,
        }
        did, version, *held = (await self._pool.fetch(query, values))[0]
        return FactOutcome(did, version or 0, *held)


def _fact(row: Row) -> StoredFact:
    kind, scope_id, *rest = row
    return StoredFact(FactSubject(kind, scope_id), *rest)
