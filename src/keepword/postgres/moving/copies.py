"""Takes a tenant's rows off a server that does not serve it: the old copy after a move, the new one of an undone."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from psycopg import errors, sql

from keepword.errors import Conflict, UnfitDatabase
from keepword.postgres import directory
from keepword.postgres.moving import fence
from keepword.postgres.moving.servers import MoveServer
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")
BATCH = 10_000
# rows that refer to others of the same table
_OWN_REFERENCES = (("memories", "superseded_by"), ("summaries", "parent_id"))
# what says that the rows may go, and what goes with it at the end
_LAST = ("imports", "tenants")

_UNLINK = "UPDATE {table} SET {column} = NULL WHERE tenant_id = %(tenant)s AND {column} IS NOT NULL"
_DELETE = """
DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE tenant_id = %(tenant)s LIMIT %(batch)s))
"""
_DELETE_REST = "DELETE FROM {table} WHERE {column} = %(tenant)s"


def remove(server: MoveServer, tenant: UUID, tables: Sequence[str], report: Callable[[str], None]) -> None:
    """Delete the tenant's rows in batches. Idempotent; the server goes on saying where the tenant lives.

    The fence stands until the last row is gone: a request that got in before the tenant was given away may still write.
    """
    if directory.moved_to(server.owner, tenant) is None:
        raise Conflict(f"the tenant is served by {server.name!r}: its rows there are no copy, and stay")
    if not fence.is_whole(server, tenant, tables):
        fence.build(server, tenant, tables)
    try:
        with fence.passed(server, tenant):
            _remove_rows(server, tenant, tables, report)
    except errors.LockNotAvailable as exc:
        raise UnfitDatabase(
            f"the server {server.name!r} has the fence of another version, which lets nobody pass; run this version's: "
            "keepword db migrate"
        ) from exc
    fence.remove(server, tenant)


def _remove_rows(server: MoveServer, tenant: UUID, tables: Sequence[str], report: Callable[[str], None]) -> None:
    server.owner.execute(_SQL["open_copy"], {"tenant": tenant})
    for table, column in _OWN_REFERENCES:
        unlink = sql.SQL(_UNLINK).format(table=sql.Identifier(table), column=sql.Identifier(column))
        server.owner.execute(unlink, {"tenant": tenant})
    # those that refer to others go first
    for table in [name for name in reversed(tables) if name not in _LAST]:
        removed = _remove_in_batches(server, tenant, table)
        if removed:
            report(f"dropped {removed:,} rows of {table} on {server.name}")
    _remove_rest(server, tenant, tables)


def _remove_in_batches(server: MoveServer, tenant: UUID, table: str) -> int:
    delete = sql.SQL(_DELETE).format(table=sql.Identifier(table))
    removed, batch = 0, BATCH
    while batch == BATCH:
        batch = server.owner.execute(delete, {"tenant": tenant, "batch": BATCH}).rowcount
        removed += batch
    return removed


def _remove_rest(server: MoveServer, tenant: UUID, tables: Sequence[str]) -> None:
    """Delete what the deletion itself noted, and the tenant."""
    values: dict[str, Any] = {"tenant": tenant}
    with server.owner.transaction():
        for table in [*reversed([name for name in tables if name not in _LAST]), "deleted_entries", *_LAST]:
            column = sql.Identifier("id" if table == "tenants" else "tenant_id")
            server.owner.execute(sql.SQL(_DELETE_REST).format(table=sql.Identifier(table), column=column), values)
        server.owner.execute(_SQL["drop_jobs"], values)
        server.owner.execute(_SQL["reopen"], values)


def has_rows(server: MoveServer, tenant: UUID) -> bool:
    return bool(server.one("has_rows", tenant=tenant))
