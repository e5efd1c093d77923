"""The store of agents' files."""

from collections.abc import Sequence
from typing import Any

from keepword.access import Grant
from keepword.answers import AgentFile
from keepword.compose.files import LAST_VERSION
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_rows


class PostgresFiles:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("agent_files.sql", first_wall=first_wall)

    async def current(self, grant: Grant, agent: str, names: Sequence[str] | None = None) -> list[AgentFile]:
        name_list = None if names is None else list(names)
        return read_rows(AgentFile, await self._read(grant, "current", agent=agent, names=name_list))

    async def page(self, grant: Grant, agent: str, after: str, limit: int) -> list[AgentFile]:
        return read_rows(AgentFile, await self._read(grant, "page", agent=agent, after=after, limit=limit))

    async def history(
        self, grant: Grant, agent: str, name: str, limit: int, before: int = LAST_VERSION
    ) -> list[AgentFile]:
        rows = await self._read(grant, "history", agent=agent, name=name, limit=limit, before=before)
        return read_rows(AgentFile, rows)

    async def put(self, grant: Grant, agent: str, name: str, content: str | None) -> bool:
        values = {"tenant_id": grant.tenant_id, "agent": agent, "name": name, "content": content}
        async with self._pool.granted(grant) as conn:
            cursor = await conn.execute(self._sql["put"], values)
        return await cursor.fetchone() is not None

    async def _read(self, grant: Grant, query: str, **values: Any) -> list[Row]:
        return await self._pool.read(grant, self._sql.read(query), values | {"tenant_id": grant.tenant_id})
