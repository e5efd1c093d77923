"""The fence around one tenant on one server: triggers, for its rows alone, that refuse writes while it rests."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg import errors, sql

from keepword.errors import Unavailable
from keepword.postgres.moving.servers import MoveServer
from keepword.postgres.queries import Queries
from keepword.postgres.schema import MOVING

_SQL = Queries("moves.sql")
# behind a trigger that waits for its table all writers wait as well, also those of other tenants
LOCK_TIMEOUT = "200ms"
TRIES = 100
PAUSE_SECONDS = 0.1
# a killed mover's tenant is open again after that
LEASE_SECONDS = 10.0
LOOK_SECONDS = 0.005

_CHANGE = """
CREATE OR REPLACE TRIGGER {name} BEFORE INSERT OR UPDATE ON {table}
FOR EACH ROW WHEN (NEW.{column} = {tenant}) EXECUTE FUNCTION refuse_while_moving({tenant})
"""
_DELETE = """
CREATE OR REPLACE TRIGGER {name} BEFORE DELETE ON {table}
FOR EACH ROW WHEN (OLD.{column} = {tenant}) EXECUTE FUNCTION refuse_while_moving({tenant})
"""


def build(server: MoveServer, tenant: UUID, tables: Sequence[str]) -> None:
    """Put the triggers on all tables. Nobody is refused by them until the tenant is closed here, or lives elsewhere."""
    for table in tables:
        names: dict[str, Any] = {
            "table": sql.Identifier(table),
            "column": sql.Identifier("id" if table == "tenants" else "tenant_id"),
            "tenant": sql.Literal(str(tenant)),
        }
        change = sql.SQL(_CHANGE).format(name=sql.Identifier(f"{_prefix(tenant)}_change"), **names)
        delete = sql.SQL(_DELETE).format(name=sql.Identifier(f"{_prefix(tenant)}_delete"), **names)
        _alter(server, table, change, delete)


def remove(server: MoveServer, tenant: UUID) -> None:
    for table, name in _triggers(server, tenant):
        drop = sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(name), sql.Identifier(table))
        _alter(server, table, drop)


def is_whole(server: MoveServer, tenant: UUID, tables: Sequence[str]) -> bool:
    """Tell whether the triggers are on all tables: an older version took them away before the rows."""
    return len(_triggers(server, tenant)) == 2 * len(tables)


@contextmanager
def passed(server: MoveServer, tenant: UUID) -> Iterator[None]:
    """Let the owner's connection write to the tenant, behind the fence, while it refuses all others."""
    server.owner.execute(_SQL["pass_fence"], {"tenant": str(tenant)})
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            server.owner.execute(_SQL["pass_fence"], {"tenant": ""})


def close(server: MoveServer, tenant: UUID, within_seconds: float) -> bool:
    """Close the tenant to writes and wait for the last one's commit; False, and open again, if that takes longer."""
    server.owner.execute(_SQL["close"], {"tenant": tenant, "seconds": LEASE_SECONDS})
    deadline = time.monotonic() + within_seconds
    writing = set(server.one("writers", tenant=tenant))
    while writing:
        if time.monotonic() > deadline:
            reopen(server, tenant)
            return False
        time.sleep(LOOK_SECONDS)
        writing &= set(server.one("writers", tenant=tenant))
    return True


def give(server: MoveServer, tenant: UUID, to: str) -> bool:
    """Give the closed tenant to another server, in one transaction; False where it was not closed all the time."""
    try:
        with server.owner.transaction():
            server.owner.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
            return bool(server.one("give", tenant=tenant, server=to))
    except errors.LockNotAvailable:
        return False  # somebody who was refused keeps a transaction open


def reopen(server: MoveServer, tenant: UUID) -> None:
    server.owner.execute(_SQL["reopen"], {"tenant": tenant})


def _prefix(tenant: UUID) -> str:
    return f"{MOVING}{tenant.hex}"


def _triggers(server: MoveServer, tenant: UUID) -> list[tuple[str, str]]:
    return server.owner.execute(_SQL["triggers"], {"prefix": _prefix(tenant)}).fetchall()


def _alter(server: MoveServer, table: str, *statements: sql.Composed) -> None:
    for _ in range(TRIES):
        try:
            with server.owner.transaction():
                server.owner.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
                for statement in statements:
                    server.owner.execute(statement)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            time.sleep(PAUSE_SECONDS)
        else:
            return
    raise Unavailable(
        f"the table {table} of the server {server.name!r} was in use {TRIES} times in a row; end what reads or "
        "writes it for long (an export, a dump, a vacuum), then run the same command again"
    )
