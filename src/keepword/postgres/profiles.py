"""The profiles' store."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from keepword.access import Grant
from keepword.postgres.grants import dump, grant_values, profile_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_rows
from keepword.profiles import Profile, ProfileLine, Selection, render

_ONE = Selection(size=1)


class PostgresProfiles:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("profiles.sql", first_wall=first_wall)

    async def get(self, grant: Grant, id_: UUID) -> Profile | None:
        profiles = [profile for profile, _ in _profiles(await self._page(grant, _ONE, id_), grant) if profile.id == id_]
        return profiles[0] if profiles else None

    async def page(self, grant: Grant, selection: Selection) -> tuple[list[Profile], int]:
        profiles = list(_profiles(await self._page(grant, selection), grant))
        if profiles or selection.number == 1:
            return [profile for profile, _ in profiles], profiles[0][1] if profiles else 0
        # a page behind the last one does not know how many there are
        first = Selection(size=1, type=selection.type, user=selection.user)
        return [], (await self.page(grant, first))[1]

    async def lines(self, grant: Grant, limit: int) -> list[ProfileLine]:
        values = grant_values(grant) | profile_values(grant) | {"limit": limit}
        return read_rows(ProfileLine, await self._pool.read(grant, self._sql.read("lines"), values))

    async def write(self, grant: Grant, user: str | None, memory: str, by: str | None) -> UUID:
        (row,) = await self._call(grant, "write", user=user, memory=memory, by=by)
        return UUID(str(row.profile_id))

    async def delete(self, grant: Grant, id_: UUID, by: str | None) -> None:
        await self._call(grant, "delete", id=id_, by=by)

    async def _page(self, grant: Grant, selection: Selection, id_: UUID | None = None) -> list[Row]:
        values = grant_values(grant) | profile_values(grant) | {
            "id": id_, "type": selection.type, "user": selection.user, "sorts": list(selection.sorts),
            "limit": selection.size, "offset": (selection.number - 1) * selection.size,
        }  # fmt: skip
        return await self._pool.read(grant, self._sql.read("page"), values)

    async def _call(self, grant: Grant, name: str, **values: Any) -> Sequence[Row]:
        return await self._pool.fetch(self._sql[name], values | {"tenant_id": grant.tenant_id, "grant": dump(grant)})


def _profiles(rows: Sequence[Row], grant: Grant) -> Iterator[tuple[Profile, int]]:
    """Yield each profile, and how many there are in all."""
    for id_, some in groupby(rows, key=lambda row: row.profile_id):
        lines = list(some)
        one = lines[0]
        text = render(read_rows(ProfileLine, lines), whole=grant.everything)
        yield Profile(id_, one.profile_type, one.user, text, one.created_at, one.profile_updated_at), one.total
