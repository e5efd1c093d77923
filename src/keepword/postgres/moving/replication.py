"""A tenant's rows on their way: publication and slot on the old server, subscription on the new one."""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import errors, sql

from keepword.errors import Unavailable, UnfitDatabase
from keepword.postgres.logins import without_password
from keepword.postgres.moving.servers import MoveServer
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")
# of processes that were told to end
WORKER_SECONDS = 30.0
LOOK_SECONDS = 0.02

_UNREACHED = (
    errors.OperationalError, errors.ProhibitedSqlStatementAttempted, errors.ObjectNotInPrerequisiteState,
)  # fmt: skip

_SUBSCRIBE = """
CREATE SUBSCRIPTION {name} CONNECTION {conninfo} PUBLICATION {name}
WITH (create_slot = false, slot_name = {slot}, copy_data = true, synchronous_commit = 'on')
"""


def name_of(tenant: UUID) -> str:
    """Return the name of the publication, the slot and the subscription."""
    return f"keepword_move_{tenant.hex}"


def publish(source: MoveServer, tenant: UUID, tables: Sequence[str]) -> None:
    """Publish the tenant's rows, and keep the log from here on. Idempotent."""
    name = name_of(tenant)
    if not source.one("publication", name=name):
        parts = [
            sql.SQL("{} WHERE ({} = {})").format(
                sql.Identifier(table),
                sql.Identifier("id" if table == "tenants" else "tenant_id"),
                sql.Literal(str(tenant)),
            )
            for table in tables
        ]
        _as_login(
            source,
            sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(sql.Identifier(name), sql.SQL(", ").join(parts)),
            "GRANT CREATE ON DATABASE {database} TO {user}; GRANT keepword_owner TO {user} WITH INHERIT TRUE",
        )
    if not source.one("slot", name=name):
        _as_login(source, _SQL["make_slot"], "ALTER ROLE {user} REPLICATION", {"name": name})


def subscribe(source: MoveServer, target: MoveServer, tenant: UUID) -> None:
    """Begin the initial copy. Idempotent."""
    name = name_of(tenant)
    if target.one("subscription", name=name) is None:
        statement = sql.SQL(_SUBSCRIBE).format(
            name=sql.Identifier(name), slot=sql.Literal(name), conninfo=sql.Literal(source.conninfo)
        )
        grants = "GRANT pg_create_subscription TO {user}; GRANT CREATE ON DATABASE {database} TO {user}"
        try:
            _as_login(target, statement, grants)
        except _UNREACHED as exc:
            said = without_password(str(exc.diag.message_primary or exc), source.conninfo)
            raise UnfitDatabase(
                f"the server {target.name!r} does not get to {source.name!r}: {said}; name one that works with "
                "--through. For a login that is no superuser, the URL needs a password that is asked for"
            ) from None


def copied(target: MoveServer, tenant: UUID) -> tuple[int, int]:
    """Return how many tables are copied, and of how many."""
    row = target.owner.execute(_SQL["copied"], {"name": name_of(tenant)}).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def lag(source: MoveServer, tenant: UUID, log_end: int | None = None) -> int:
    """Return how many bytes of the log, up to its end or the position given, the new server has not stored yet."""
    passed = source.one("passed", name=name_of(tenant))
    return max(0, (log_end or log_position(source)) - (passed or 0))


def log_position(source: MoveServer) -> int:
    return int(source.one("log_end"))


def unsubscribe(source: MoveServer, target: MoveServer, tenant: UUID) -> None:
    """Drop subscription, slots and publication, whichever are there."""
    name = name_of(tenant)
    if target.one("subscription", name=name) is not None:
        subscription = sql.Identifier(name)
        target.login.execute(sql.SQL("ALTER SUBSCRIPTION {} DISABLE").format(subscription))
        _wait_for_apply(target, name)
        target.login.execute(sql.SQL("DROP SUBSCRIPTION IF EXISTS {}").format(subscription))
        _wait_for_copies(target)
    source.login.execute(_SQL["drop_slots"], {"name": name})
    if source.one("slot", name=name):
        raise Unavailable(f"the slot {name} of the server {source.name!r} is still in use; run the same command again")
    source.login.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))


def _wait_for_apply(target: MoveServer, name: str) -> None:
    """Wait for the process that begins copies of tables: of those that it has begun, dropping ends each."""
    deadline = time.monotonic() + WORKER_SECONDS
    while target.one("applying", name=name) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def _wait_for_copies(target: MoveServer) -> None:
    """Wait until nothing that was being copied can arrive any more."""
    deadline = time.monotonic() + WORKER_SECONDS
    while target.one("copying") and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def _as_login(server: MoveServer, statement: Any, grants: str, values: dict[str, Any] | None = None) -> None:
    info = server.login.info
    try:
        server.login.execute(statement, values)
    except errors.InsufficientPrivilege as exc:
        commands = grants.format(user=info.user, database=info.dbname)
        raise UnfitDatabase(
            f"{info.user} may not do that on the server {server.name!r} ({exc.diag.message_primary}); "
            f"have an administrator run there: {commands}"
        ) from exc
    except errors.ConfigurationLimitExceeded as exc:
        raise UnfitDatabase(
            f"the server {server.name!r} has no replication slot left; raise max_replication_slots there and restart it"
        ) from exc
