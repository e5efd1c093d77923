"""Stores of places: the lookup that grants are decided from, and the conversations behind them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from keepword.access import AgentSessions, Grant, OwnPlaces, Place, Project, TenantSettings
from keepword.errors import InvalidInput
from keepword.ids import new_id
from keepword.model import Conversation
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows
from keepword.postgres.transcript import EARLIEST
from keepword.transcript.ports import Assignment

_FIRST_ID = UUID(int=0)
# what a grant is decided from: replicas answer under it once they know as much
_DECIDING = frozenset({"place", "room", "settings", "project", "roster", "across"})
_FIELDS = ("channel", "channel_id", "bot_identity", "title", "settings", "active", "reach")


class PostgresPlaceLookup:
    """Reads through functions that tell ids only; everything else needs the grant that is decided from them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("places.sql")

    async def place(self, tenant_id: UUID, external_id: str) -> Place | None:
        row = await self._one("place", tenant_id=tenant_id, external_id=external_id)
        return to_place(row) if row else None

    async def room(self, tenant_id: UUID, room: str) -> Place | None:
        row = await self._one("room", tenant_id=tenant_id, room=room)
        if row is None:
            return None
        return Place(
            "room", "", "", None, row.room_id, _project(row), frozenset(row.users or ()), frozenset(row.agents or ()),
            settings=TenantSettings.stored(row.settings),
        )  # fmt: skip

    async def project(self, tenant_id: UUID, project: str) -> Project | None:
        row = await self._one("project", tenant_id=tenant_id, project=project)
        return _project(row) if row else None

    async def derived(self, tenant_id: UUID, id_: UUID) -> str | None:
        row = await self._one("derived", tenant_id=tenant_id, id=id_)
        return row.external_id if row else None

    async def direct(self, tenant_id: UUID, user: str, agent: str) -> str | None:
        row = await self._one("direct", tenant_id=tenant_id, user=user, agent=agent)
        return row.external_id if row else None

    async def is_user(self, tenant_id: UUID, user: str) -> bool:
        return await self._one("is_user", tenant_id=tenant_id, user=user) == (True,)

    async def is_introduced(self, tenant_id: UUID, agent: str, user: str) -> bool:
        return await self._one("is_introduced", tenant_id=tenant_id, agent=agent, user=user) == (True,)

    async def roster(self, tenant_id: UUID, agent: str | None, user: str | None) -> OwnPlaces:
        (row,) = await self._rows("roster", tenant_id=tenant_id, agent=agent, user=user)
        return OwnPlaces(frozenset(row.run_ids), frozenset(row.strangers))

    async def across(self, tenant_id: UUID, agent: str, user: str | None) -> AgentSessions:
        (row,) = await self._rows("across", tenant_id=tenant_id, agent=agent, user=user)
        return AgentSessions(
            agent, user, frozenset(row.sessions), introduced=row.introduced, strangers=frozenset(row.strangers)
        )

    async def settings(self, tenant_id: UUID) -> TenantSettings | None:
        row = await self._one("settings", tenant_id=tenant_id)
        return TenantSettings.stored(row.settings) if row and row.settings is not None else None

    async def change_settings(self, grant: Grant, changes: dict[str, Any]) -> TenantSettings:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "changes": Jsonb(changes)}
        (row,) = await self._pool.fetch(self._sql["change_settings"], values)
        return TenantSettings.stored(row.settings)

    async def _one(self, name: str, **values: Any) -> Row | None:
        return next(iter(await self._rows(name, **values)), None)

    async def _rows(self, name: str, **values: Any) -> list[Row]:
        if name in _DECIDING:
            return await self._pool.locate(self._sql, name, values)
        return await self._pool.fetch(self._sql[name], values)


def to_place(row: Row) -> Place | None:
    """Read the columns of `find_conversation`, and the tenant's settings; None where there is no such conversation."""
    if row.kind is None:
        return None
    return Place(
        row.kind, row.external_id, row.agent, row.user_id, row.room_id, _project(row),
        frozenset(row.users or ()), frozenset(row.agents or ()), row.conversation_id,
        TenantSettings.stored(row.settings), row.agent_open, row.alias, row.introduced, row.by_bound_key, row.reach,
        rooms=frozenset(row.rooms or ()),
    )  # fmt: skip


def _project(row: Row) -> Project | None:
    return Project(row.project_id, bool(row.isolated), row.sessions or 0) if row.project_id is not None else None


class PostgresConversations:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("conversations.sql", first_wall=first_wall)

    async def get(self, grant: Grant, external_id: str) -> Conversation | None:
        rows = await self._rows(grant, "get", external_id=external_id)
        return read_row(Conversation, rows[0]) if rows else None

    async def insert(
        self, grant: Grant, place: Place, fields: dict[str, Any], made_by: str | None
    ) -> Conversation | None:
        project = place.project.id if place.project and place.kind != "room" else None
        rows = await self._rows(
            grant, "insert", id=new_id(), external_id=place.external_id, kind=place.kind, user=place.user,
            agent=place.agent, agent_open=place.agent_open, room=place.room, project=project, made_by=made_by,
            by_bound_key=place.by_bound_key, **_values(fields),
        )  # fmt: skip
        return read_row(Conversation, rows[0]) if rows else None

    async def assign(self, grant: Grant, place: Place, assignment: Assignment) -> bool:
        values = asdict(assignment) | {"conversation_id": place.conversation_id}
        return await self._called(grant, "assign", **values)

    async def add_alias(self, grant: Grant, place: Place, alias: str) -> bool:
        return await self._called(grant, "add_alias", conversation_id=place.conversation_id, alias=alias)

    async def make_user(self, grant: Grant, user: str) -> None:
        await self._called(grant, "make_user", user=user)

    async def update(self, grant: Grant, external_id: str, fields: dict[str, Any]) -> Conversation | None:
        rows = await self._rows(
            grant,
            "update",
            external_id=external_id,
            writes=grant.writes,
            changed=list(fields),
            **_values(fields),
        )
        return read_row(Conversation, rows[0]) if rows else None

    async def list(self, grant: Grant, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[Conversation]:
        time, id_ = after or (EARLIEST, _FIRST_ID)
        rows = await self._rows(grant, "list", after_time=time, after_id=id_, limit=limit)
        return read_rows(Conversation, rows)

    async def _called(self, grant: Grant, name: str, **values: Any) -> bool:
        """Call a function that works under the grant that it is given."""
        values |= {"grant": dump(grant), "tenant_id": grant.tenant_id}
        return await self._pool.fetch(self._sql[name], values) == [(True,)]

    async def _rows(self, grant: Grant, name: str, **values: Any) -> Sequence[Row]:
        values |= grant_values(grant)
        async with self._pool.granted(grant) as conn:
            cursor = await conn.execute(self._sql[name], values)
        return await cursor.fetchall()


def _values(fields: dict[str, Any]) -> dict[str, Any]:
    values = {name: fields.get(name) for name in _FIELDS}
    return values | {"settings": _json(fields["settings"]) if fields.get("settings") is not None else None}


def _json(settings: dict[str, Any]) -> Jsonb:
    try:
        json.dumps(settings, allow_nan=False)
    except ValueError as exc:
        raise InvalidInput("settings holds a number that JSON does not know (NaN or infinity)", "settings") from exc
    return Jsonb(settings)
