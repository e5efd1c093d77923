"""The store that reads messages, summaries, memories and landmarks by their ids."""

from collections.abc import Sequence
from uuid import UUID

from keepword.access import Grant
from keepword.answers import Source
from keepword.postgres.grants import grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_rows


class PostgresSources:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("sources.sql", first_wall=first_wall)

    async def read(self, grant: Grant, ids: Sequence[UUID]) -> list[Source]:
        values = grant_values(grant) | {"ids": list(ids)}
        return read_rows(Source, await self._pool.read(grant, self._sql.read("read"), values))
