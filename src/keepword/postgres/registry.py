"""The registry's store."""

from collections.abc import Sequence
from typing import Any

from keepword.access import Grant
from keepword.answers import Agent, IntroducedUser, Members, Participants, Project, Room, User
from keepword.postgres.grants import grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows


class PostgresRegistry:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("registry.sql", first_wall=first_wall)

    async def put_user(self, grant: Grant, user: str, name: str | None) -> tuple[User, bool]:
        (row,) = await self._rows(grant, "put_user", id=user, name=name)
        return read_row(User, row), row.is_new

    async def user(self, grant: Grant, user: str) -> User | None:
        rows = await self._rows(grant, "user", id=user)
        return read_row(User, rows[0]) if rows else None

    async def users(self, grant: Grant, after: str, limit: int) -> list[User]:
        return read_rows(User, await self._rows(grant, "users", after=after, limit=limit))

    async def put_agent(self, grant: Grant, slug: str, name: str | None, window: int | None) -> tuple[Agent, bool]:
        (row,) = await self._rows(grant, "put_agent", id=slug, name=name, window=window)
        return read_row(Agent, row), row.is_new

    async def agent(self, grant: Grant, slug: str) -> Agent | None:
        values = {"tenant_id": grant.tenant_id, "id": slug}
        rows = await self._pool.read(grant, self._sql.read("agent"), values)
        return read_row(Agent, rows[0]) if rows else None

    async def agents(self, grant: Grant, after: str, limit: int) -> list[Agent]:
        return read_rows(Agent, await self._rows(grant, "agents", after=after, limit=limit))

    async def put_room(self, grant: Grant, room: str, name: str | None) -> tuple[Room, bool]:
        (row,) = await self._rows(grant, "put_room", id=room, name=name)
        return read_row(Room, row), row.is_new

    async def room(self, grant: Grant, room: str) -> Room | None:
        rows = await self._rows(grant, "room", id=room)
        return read_row(Room, rows[0]) if rows else None

    async def rooms(self, grant: Grant, after: str, limit: int) -> list[Room]:
        return read_rows(Room, await self._rows(grant, "rooms", after=after, limit=limit))

    async def participants(self, grant: Grant, room: str) -> Participants:
        (row,) = await self._rows(grant, "participants", id=room)
        return Participants(tuple(row.users), tuple(row.agents))

    async def join(self, grant: Grant, room: str, *, user: str | None = None, agent: str | None = None) -> None:
        values = {
            "tenant_id": grant.tenant_id,
            "id": room,
            "user": user,
            "agent": agent,
            "member": _member(user, agent),
        }
        async with self._pool.granted(grant) as conn:
            await conn.execute(self._sql["join"], values)

    async def leave(self, grant: Grant, room: str, *, user: str | None = None, agent: str | None = None) -> bool:
        return bool(await self._rows(grant, "leave", id=room, member=_member(user, agent)))

    async def introduce(self, grant: Grant, agent: str, user: str, by: str | None) -> None:
        async with self._pool.granted(grant) as conn:
            values = {"tenant_id": grant.tenant_id, "agent": agent, "user": user, "by": by}
            await conn.execute(self._sql["introduce"], values)

    async def withdraw(self, grant: Grant, agent: str, user: str, by: str | None) -> bool:
        return bool(await self._rows(grant, "withdraw", agent=agent, user=user, by=by))

    async def introduced(self, grant: Grant, agent: str, after: str, limit: int) -> list[IntroducedUser]:
        rows = await self._rows(grant, "introduced", agent=agent, after=after, limit=limit)
        return read_rows(IntroducedUser, rows)

    async def put_project(
        self, grant: Grant, project: str, name: str | None, isolated: bool | None
    ) -> tuple[Project, bool, bool]:
        values = {"tenant_id": grant.tenant_id, "id": project, "name": name, "isolated": isolated}
        async with self._pool.granted(grant) as conn:
            before = await conn.execute(self._sql["lock_project"], values)
            after = await conn.execute(self._sql["put_project"], values)
        (row,) = await after.fetchall()
        return read_row(Project, row), row.is_new, await before.fetchone() == (True,)

    async def project(self, grant: Grant, project: str) -> Project | None:
        rows = await self._rows(grant, "project", id=project)
        return read_row(Project, rows[0]) if rows else None

    async def projects(self, grant: Grant, after: str, limit: int) -> list[Project]:
        return read_rows(Project, await self._rows(grant, "projects", after=after, limit=limit))

    async def members(self, grant: Grant, project: str) -> Members:
        (row,) = await self._rows(grant, "members", id=project)
        return Members(tuple(row.conversations), tuple(row.rooms))

    async def move_room(self, grant: Grant, room: str, project: str | None) -> bool:
        return bool(await self._rows(grant, "move_room", id=room, project=project))

    async def move_conversation(self, grant: Grant, external_id: str, project: str | None) -> str | None:
        rows = await self._rows(grant, "move_conversation", id=external_id, project=project)
        return rows[0].kind if rows else None

    async def _rows(self, grant: Grant, query: str, **values: Any) -> Sequence[Row]:
        values |= grant_values(grant)
        async with self._pool.granted(grant) as conn:
            cursor = await conn.execute(self._sql[query], values)
        return await cursor.fetchall()


def _member(user: str | None, agent: str | None) -> str:
    return f"user:{user}" if user is not None else f"agent:{agent}"
