"""The profiles' store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import TupleRow

from keepword.access import Grant
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.profiles import Profile, Selection


class PostgresProfiles:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("profiles.sql", first_wall=first_wall)

    async def get(self, grant: Grant, id_: UUID) -> Profile | None:
        return _first(await self._read(grant, "get", id=id_))

    async def page(self, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
        values = {"type": selection.type, "user": selection.user}
        offset = (selection.number - 1) * selection.size
        rows = await self._read(
            grant, "page", sorts=list(selection.sorts), limit=selection.size, offset=offset, **values
        )
        if rows or not offset:
            return [Profile(*row[:-1]) for row in rows], rows[0][-1] if rows else 0
        # a page behind the last one does not know how many there are
        ((total,),) = await self._read(grant, "count", **values)
        return [], total

    async def insert(self, grant: Grant, user: str | None, memory: str) -> Profile | None:
        type_ = "workspace" if user is None else "user"
        return _first(await self._write(grant, "insert", type=type_, user=user, memory=memory))

    async def change(self, grant: Grant, id_: UUID, memory: str) -> Profile | None:
        return _first(await self._write(grant, "change", id=id_, memory=memory))

    async def delete(self, grant: Grant, id_: UUID) -> bool:
        return bool(await self._write(grant, "delete", id=id_))

    async def upsert(self, grant: Grant, user: str | None, memory: str, source_time: datetime) -> bool:
        name = "upsert_workspace" if user is None else "upsert_user"
        return bool(await self._write(grant, name, user=user, memory=memory, source_time=source_time))

    async def _read(self, grant: Grant, name: str, **values: Any) -> list[TupleRow]:
        return await self._pool.read(grant, self._sql.read(name), _within(grant, values))

    async def _write(self, grant: Grant, name: str, **values: Any) -> Sequence[TupleRow]:
        async with self._pool.granted(grant) as conn:
            cursor = await conn.execute(self._sql[name], _within(grant, values))
        return await cursor.fetchall()


def _within(grant: Grant, values: dict[str, Any]) -> dict[str, Any]:
    return values | {
        "tenant_id": grant.tenant_id,
        "everything": grant.everything,
        "run_ids": list(grant.run_ids),
        "visibilities": list(grant.visibilities),
    }


def _first(rows: Sequence[TupleRow]) -> Profile | None:
    return Profile(*rows[0]) if rows else None
