"""The counts that statistics are made of."""

from datetime import datetime

from keepword.access import Grant
from keepword.answers import DayCount
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_row, read_rows
from keepword.stats.ports import CompactionStats, Coverage, JobStats, QueueDepth

# a worker that has not shown itself for this long is gone; the others take its jobs over then
DEAD_SECONDS = 20.0


class PostgresCounts:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._first_wall = first_wall
        self._sql = Queries("stats.sql", first_wall=first_wall)

    async def census(self, grant: Grant) -> dict[str, int]:
        values = grant_values(grant) | {"everything": grant.everything or not self._first_wall}
        rows = await self._pool.read(grant, self._sql.read("census"), values)
        return {row.kind: row.entries for row in rows}

    async def messages_by_day(self, grant: Grant, since: datetime, zone: str) -> list[DayCount]:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "since": since, "zone": zone}
        return read_rows(DayCount, await self._pool.look_up(self._sql["messages_by_day"], values))

    async def queues(self, grant: Grant) -> list[QueueDepth]:
        return read_rows(QueueDepth, await self._pool.look_up(self._sql["queues"], {"tenant_id": grant.tenant_id}))

    async def coverage(self, grant: Grant) -> list[Coverage]:
        return read_rows(Coverage, await self._pool.look_up(self._sql["coverage"], {"tenant_id": grant.tenant_id}))

    async def jobs(self, grant: Grant) -> list[JobStats]:
        values = {"tenant_id": grant.tenant_id, "dead_after": DEAD_SECONDS}
        return read_rows(JobStats, await self._pool.look_up(self._sql["jobs"], values))

    async def compaction(self, grant: Grant) -> CompactionStats:
        (row,) = await self._pool.look_up(self._sql["compaction"], {"tenant_id": grant.tenant_id})
        return read_row(CompactionStats, row)
