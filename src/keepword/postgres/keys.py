"""Keys in the database: found by the service, made and revoked by the command line as the owner."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from keepword.access.keys import Secret, Stored
from keepword.model import Key, KeyRole
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

_SQL = Queries("keys.sql")


class PostgresKeys:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, key_id: str) -> Stored | None:
        async with self._pool.connection() as conn:
            row = await (await conn.execute(_SQL["find"], {"id": key_id})).fetchone()
        if row is None:
            return None
        return Stored(Key(*row[:6]), *row[6:])

    async def keyless(self) -> Key | None:
        """Return the admin of the default tenant, as long as no key was ever made."""
        async with self._pool.connection() as conn:
            row = await (await conn.execute(_SQL["keyless"])).fetchone()
        return Key("none", row[0], row[1], "admin") if row else None


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of `keepword keys list`."""

    id: str
    tenant: str
    role: KeyRole
    agent: str | None
    user: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey:
    tenant: str
    role: KeyRole
    agent: str | None = None
    user: str | None = None
    expires_at: datetime | None = None


def make_key(conn: psycopg.Connection[Any], new: NewKey) -> Secret:
    """Make the key, and its tenant if it is new. The secret is in the answer and nowhere else."""
    secret = Secret.make()
    values = {
        "id": secret.id,
        "digest": secret.digest,
        "tenant": new.tenant,
        "role": new.role,
        "agent": new.agent,
    }
    with conn.transaction():
        conn.execute(_SQL["make_tenant"], values)
        conn.execute(_SQL["insert"], values | {"user": new.user, "expires_at": new.expires_at})
    return secret


def list_keys(conn: psycopg.Connection[Any]) -> Sequence[KeyLine]:
    return [KeyLine(*row) for row in conn.execute(_SQL["list"])]


def revoke_key(conn: psycopg.Connection[Any], key_id: str) -> bool:
    return conn.execute(_SQL["revoke"], {"id": key_id}).fetchone() is not None


def has_working_key(conn: psycopg.Connection[Any]) -> bool:
    return conn.execute(_SQL["any"]).fetchone() == (True,)
