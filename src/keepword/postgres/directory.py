"""Which server a tenant lives on: the directory, on the first server, and each server's own word about it.

The directory is a hint. A server serves each tenant whose rows it has, unless its `moved_tenants` says that the tenant
lives elsewhere; services that were sent to the wrong one then go on to the right one. So whoever moves a tenant
calls `give_away` on the new server before it copies the first row there, `give_away` on the old one when that
shall answer no more, and only then `take_in` on the new one: at no time do both serve it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

_SQL = Queries("directory.sql")
Connection = psycopg.Connection[Any]


class PostgresDirectory:
    """The directory as services use it: by the public parts of keys."""

    def __init__(self, first: Pool) -> None:
        self._pool = first

    async def find(self, key_id: str) -> str | None:
        rows = await self._pool.fetch(_SQL["key_place"], {"key_id": key_id})
        server: str | None = rows[0].server
        return server

    async def note(self, key_id: str, tenant: UUID, server: str) -> None:
        """Correct the directory. Doing it again changes nothing."""
        await self._pool.fetch(_SQL["note_key_place"], {"key_id": key_id, "tenant": tenant, "server": server})


def place_of(first: Connection, tenant: UUID) -> str | None:
    """Return the server that the directory names; `first` is the owner's connection to the first server."""
    return _one(first, "place_of", tenant=tenant)


def set_place(first: Connection, tenant: UUID, server: str) -> None:
    """Name the tenant's server in the directory. Doing it again changes nothing."""
    first.execute(_SQL["set_place"], {"tenant": tenant, "server": server})


def moved_to(conn: Connection, tenant: UUID) -> str | None:
    """Return where the tenant lives, if this server knows that it is not here."""
    return _one(conn, "moved_to", tenant=tenant)


def give_away(conn: Connection, tenant: UUID, server: str) -> None:
    """Serve the tenant no more on this server, whatever rows it has: it lives on the other one."""
    conn.execute(_SQL["give_away"], {"tenant": tenant, "server": server})


def take_in(conn: Connection, tenant: UUID) -> None:
    """Serve the tenant on this server."""
    conn.execute(_SQL["take_in"], {"tenant": tenant})


def draining(first: Connection) -> frozenset[str]:
    """Return the servers on which no new tenant is made."""
    return frozenset(str(name) for (name,) in first.execute(_SQL["draining"]))


def drain(first: Connection, server: str) -> None:
    first.execute(_SQL["drain"], {"server": server})


def undrain(first: Connection, server: str) -> None:
    first.execute(_SQL["undrain"], {"server": server})


@contextmanager
def locked_name(first: Connection, name: str) -> Iterator[None]:
    """Hold a tenant's name: who makes a tenant asks all servers for it first, and nobody else makes it meanwhile."""
    first.execute(_SQL["lock_name"], {"name": name})
    try:
        yield
    finally:
        first.execute(_SQL["unlock_name"], {"name": name})


def placed(first: Connection, name: str) -> str | None:
    """Return the server on which the tenant of this name is to be made."""
    return _one(first, "placed", name=name)


def place(first: Connection, name: str, server: str) -> None:
    first.execute(_SQL["place"], {"name": name, "server": server})


def unplace(first: Connection, name: str) -> None:
    first.execute(_SQL["unplace"], {"name": name})


def placed_names(first: Connection) -> list[tuple[str, str]]:
    return [(str(name), str(server)) for name, server in first.execute(_SQL["placed_names"])]


def tenant_here(conn: Connection, name: str) -> UUID | None:
    """Return the id of the tenant of this name, if it lives on this server."""
    row = conn.execute(_SQL["tenant_here"], {"name": name}).fetchone()
    return UUID(str(row[0])) if row else None


def copy_here(conn: Connection, name: str) -> UUID | None:
    """Return the id of the tenant of this name, if this server has rows of it and does not serve it."""
    row = conn.execute(_SQL["copy_here"], {"name": name}).fetchone()
    return UUID(str(row[0])) if row else None


def lives_here(conn: Connection, tenant: UUID) -> bool:
    return conn.execute(_SQL["lives_here"], {"tenant": tenant}).fetchone() == (True,)


def move_target(first: Connection, tenant: UUID) -> str | None:
    """Return the server that the tenant is being moved to, or was moved to last."""
    return _one(first, "move_target", tenant=tenant)


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant that lives on a server; `keys` counts those that were not revoked."""

    id: UUID
    name: str
    created_at: datetime
    keys: int


def tenants_here(conn: Connection) -> list[TenantLine]:
    with conn.cursor(row_factory=class_row(TenantLine)) as cursor:
        return cursor.execute(_SQL["tenants_here"]).fetchall()


def fullness(conn: Connection) -> tuple[int, int]:
    """Return the bytes of a server's database, and how many tenants live there."""
    row = conn.execute(_SQL["fullness"]).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _one(conn: Connection, query: str, **values: Any) -> str | None:
    row = conn.execute(_SQL[query], values).fetchone()
    return str(row[0]) if row else None
