"""Tenants' settings as the owner of the database, for the command line on this machine."""

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from keepword.access import TenantSettings
from keepword.errors import NotFound
from keepword.postgres.queries import Queries

_SQL = Queries("settings.sql")


def change_settings(conn: psycopg.Connection[Any], tenant: str, changes: dict[str, Any]) -> TenantSettings:
    """Change some settings, or with no changes read them."""
    row = conn.execute(_SQL["change"], {"tenant": tenant, "changes": Jsonb(changes)}).fetchone()
    if row is None:
        raise NotFound(f"no tenant {tenant!r}; a tenant is made with its first key: keepword keys create")
    return TenantSettings.stored(row[0])


def list_settings(conn: psycopg.Connection[Any]) -> list[tuple[str, TenantSettings]]:
    return [(tenant, TenantSettings.stored(settings)) for tenant, settings in conn.execute(_SQL["list"])]
