"""Keys in the database: found by the service, made and revoked by the command line as the owner."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from keepword.access import Place, TenantSettings
from keepword.access.keys import Secret, StoredKey
from keepword.errors import NotFound
from keepword.model import Key, KeyRole
from keepword.postgres.places import to_place
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row

_SQL = Queries("keys.sql")


class PostgresKeys:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, key_id: str, external_id: str | None) -> tuple[StoredKey, Place | None] | None:
        row = await self._one("find", id=key_id, external_id=external_id)
        return (StoredKey(_key(row), row.digest, row.expires_at, row.revoked_at), to_place(row)) if row else None

    async def keyless(self, external_id: str | None) -> tuple[Key, Place | None] | None:
        row = await self._one("keyless", external_id=external_id)
        return (_key(row), to_place(row)) if row else None

    async def _one(self, name: str, **values: Any) -> Row | None:
        return next(iter(await self._pool.fetch(_SQL[name], values)), None)


def _key(row: Row) -> Key:
    key = Key(row.id, row.tenant_id, row.tenant, row.role, row.key_agent, row.key_user)
    return replace(key, audits_reads=TenantSettings.stored(row.settings).audit_reads)


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
    """Make the key, and its tenant and user if they are new. The secret is in the answer and nowhere else."""
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
        if new.user is not None:
            conn.execute(_SQL["make_user"], {"user": new.user, "tenant": new.tenant})
        conn.execute(_SQL["insert"], values | {"user": new.user, "expires_at": new.expires_at})
    return secret


def open_tenant(conn: psycopg.Connection[Any], tenant: str) -> UUID:
    """Return the tenant's id; one that is new is made."""
    values = {"tenant": tenant}
    conn.execute(_SQL["make_tenant"], values)
    row = conn.execute(_SQL["tenant"], values).fetchone()
    if row is None:
        raise NotFound(f"no tenant {tenant!r}")
    return UUID(str(row[0]))


def list_keys(conn: psycopg.Connection[Any]) -> Sequence[KeyLine]:
    return [KeyLine(*row) for row in conn.execute(_SQL["list"])]


def revoke_key(conn: psycopg.Connection[Any], key_id: str) -> bool:
    return conn.execute(_SQL["revoke"], {"id": key_id}).fetchone() is not None


def has_working_key(conn: psycopg.Connection[Any]) -> bool:
    return conn.execute(_SQL["any"]).fetchone() == (True,)
