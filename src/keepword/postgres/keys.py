"""Keys in the database: found by the service, made and revoked by the command line as the owner."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from keepword.access import Grant, Place, TenantSettings
from keepword.access.keys import Secret, StoredKey
from keepword.access.managed_keys import DemoTenant, KeyDraft, Revocation
from keepword.answers import ApiKey
from keepword.errors import Conflict, NotFound, TenantMoved
from keepword.model import Key, KeyRole
from keepword.postgres.grants import dump
from keepword.postgres.places import to_place
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_rows

_SQL = Queries("keys.sql")


class PostgresKeys:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, key_id: str, external_id: str | None) -> tuple[StoredKey, Place | None] | None:
        """Return the key and the place; raises TenantMoved for a key whose tenant lives on another server."""
        row = await self._one("find", id=key_id, external_id=external_id)
        if row is None:
            ((server,),) = await self._pool.fetch(_SQL["moved"], {"id": key_id})
            if server is not None:
                raise TenantMoved(server)
            return None
        return StoredKey(_key(row), row.digest, row.expires_at, row.revoked_at), to_place(row)

    async def keyless(self, external_id: str | None) -> tuple[Key, Place | None] | None:
        row = await self._one("keyless", external_id=external_id)
        return (_key(row), to_place(row)) if row else None

    async def page(self, grant: Grant, after: str | None, limit: int) -> Sequence[ApiKey]:
        values = _of_tenant(grant) | {"after": after, "limit": limit}
        return read_rows(ApiKey, await self._pool.fetch(_SQL["page"], values))

    async def make(self, grant: Grant, secret: Secret, draft: KeyDraft) -> datetime:
        values = _of_tenant(grant) | asdict(draft) | {"id": secret.id, "digest": secret.digest}
        (row,) = await self._pool.fetch(_SQL["make"], values)
        made_at: datetime = row.created_at
        return made_at

    async def open_demo(self, grant: Grant, secret: Secret, expires_at: datetime) -> DemoTenant | None:
        values = _of_tenant(grant) | {"id": secret.id, "digest": secret.digest, "expires_at": expires_at}
        rows = await self._pool.fetch(_SQL["open_demo"], values)
        return DemoTenant(rows[0].demo, rows[0].is_told) if rows else None

    async def revoke(self, grant: Grant, key_id: str) -> Revocation:
        (row,) = await self._pool.fetch(_SQL["revoke_in_tenant"], _of_tenant(grant) | {"id": key_id})
        outcome: Revocation = row.outcome
        return outcome

    async def _one(self, name: str, **values: Any) -> Row | None:
        return next(iter(await self._pool.locate(_SQL, name, values)), None)


def _of_tenant(grant: Grant) -> dict[str, Any]:
    return {"grant": dump(grant), "tenant_id": grant.tenant_id}


def _key(row: Row) -> Key:
    key = Key(row.id, row.tenant_id, row.tenant, row.role, row.key_agent, row.key_user)
    settings = TenantSettings.stored(row.settings)
    return replace(key, audits_reads=settings.audit_reads, time_zone=settings.time_zone)


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
    _refuse_copy(conn, new.tenant)
    with conn.transaction():
        conn.execute(_SQL["make_tenant"], values)
        if new.user is not None:
            conn.execute(_SQL["make_user"], {"user": new.user, "tenant": new.tenant})
        conn.execute(_SQL["insert"], values | {"user": new.user, "expires_at": new.expires_at})
    return secret


def open_tenant(conn: psycopg.Connection[Any], tenant: str) -> UUID:
    """Return the tenant's id; one that is new is made. Raises Conflict for one that lives on another server."""
    _refuse_copy(conn, tenant)
    values = {"tenant": tenant}
    conn.execute(_SQL["make_tenant"], values)
    row = conn.execute(_SQL["tenant"], values).fetchone()
    if row is None:
        raise NotFound(f"no tenant {tenant!r}")
    return UUID(str(row[0]))


def _refuse_copy(conn: psycopg.Connection[Any], tenant: str) -> None:
    row = conn.execute(_SQL["tenant_moved"], {"tenant": tenant}).fetchone()
    if row is not None:
        raise Conflict(
            f"the tenant {tenant!r} lives on the server {row[0]!r}, and its rows on this one are a copy; use that "
            "server's database_url, or KEEPWORD_SERVERS with both"
        )


def list_keys(conn: psycopg.Connection[Any]) -> Sequence[KeyLine]:
    """Return all keys but those of tenants that live on another server."""
    return [KeyLine(*row) for row in conn.execute(_SQL["list"])]


def revoke_key(conn: psycopg.Connection[Any], key_id: str) -> bool:
    """Revoke the key; False where it is not, or its tenant lives on another server."""
    return conn.execute(_SQL["revoke"], {"id": key_id}).fetchone() is not None


def moved_key(conn: psycopg.Connection[Any], key_id: str) -> str | None:
    """Return the server that the key's tenant moved to, or has not left yet, if this one does not serve it."""
    row = conn.execute(_SQL["moved"], {"id": key_id}).fetchone()
    return row[0] if row else None


def has_working_key(conn: psycopg.Connection[Any]) -> bool:
    return conn.execute(_SQL["any"]).fetchone() == (True,)
