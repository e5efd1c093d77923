"""The two servers of a move: connections as the owner and as the login, and what must hold before anything begins."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from keepword.errors import Conflict, Unavailable, UnfitDatabase
from keepword.postgres import migrate
from keepword.postgres.moving.tables import RANGE, refuse_unfit, tables_of
from keepword.postgres.pool import SEARCH_PATH
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")
Connection = psycopg.Connection[Any]
TURN_SECONDS = 30.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A name of KEEPWORD_SERVERS and where that server is; `reached_at` is where other servers reach it."""

    name: str
    conninfo: str
    reached_at: str | None = None


@dataclass(frozen=True, slots=True)
class MoveServer:
    """`owner` reads and writes all tenants; `login` makes what belongs to the server: slots, subscriptions."""

    name: str
    owner: Connection
    login: Connection
    conninfo: str

    def one(self, query: str, **values: Any) -> Any:
        """Return the first column of the first row, as the owner."""
        row = self.owner.execute(_SQL[query], values).fetchone()
        return row[0] if row else None


@contextmanager
def connected(address: ServerAddress, tenant: UUID) -> Iterator[MoveServer]:
    """Connect to move the tenant, when the connections of whoever was killed at it are gone.

    A statement that was sent goes on after its sender: what it does must not come after what we find.
    """
    with migrate.owner(address.conninfo) as owner, migrate.connect(address.conninfo) as login:
        login.execute("SELECT set_config('search_path', %s, false)", (SEARCH_PATH,))
        _take_turn(address, owner, f"owner {tenant}")
        _take_turn(address, login, f"login {tenant}")
        yield MoveServer(address.name, owner, login, address.reached_at or address.conninfo)


def _take_turn(address: ServerAddress, conn: Connection, turn: str) -> None:
    deadline = time.monotonic() + TURN_SECONDS
    while conn.execute(_SQL["take_turn"], {"turn": turn}).fetchone() != (True,):
        if time.monotonic() > deadline:
            raise Unavailable(
                f"a statement of an earlier command for this tenant still runs on the server {address.name!r}; run the "
                "same command again when it is done (pg_stat_activity shows it)"
            )
        time.sleep(LOOK_SECONDS)


def check(source: MoveServer, target: MoveServer, tenant: UUID) -> list[str]:
    """Refuse what could not be moved, with what to do; return the tables that move."""
    _require_logical(source)
    tables = tables_of(source.owner)
    refuse_unfit(source.owner, tables, source.name)
    _require_equal_schema(source, target)
    _require_equal_spaces(source, target)
    _require_sight(source)
    refuse_busy(source, tenant)
    return tables


def refuse_busy(source: MoveServer, tenant: UUID) -> None:
    busy = source.one("busy", tenant=tenant)
    if busy is not None:
        raise Conflict(f"the tenant can't be moved now: {busy}; run the same command again when that is done")


def number_rows(first: Connection, server: MoveServer, tables: Sequence[str]) -> None:
    """Let the server give its rows ids of its own range from now on; rows of two servers then never have the same."""
    first.execute(_SQL["number_server"], {"server": server.name})
    ((number,),) = first.execute(_SQL["number_of"], {"server": server.name}).fetchall()
    numbered = server.owner.execute(_SQL["numbered_columns"], {"tables": list(tables)}).fetchall()
    for _, _, sequence in numbered:
        server.owner.execute(_SQL["raise_sequence"], {"sequence": sequence, "least": number * RANGE})


def _require_logical(source: MoveServer) -> None:
    level = source.one("wal_level")
    if level != "logical":
        raise UnfitDatabase(
            f"the server {source.name!r} writes its log with wal_level = {level}, from which no tenant can be copied "
            "while it is written to; on it run: ALTER SYSTEM SET wal_level = logical; then restart that server"
        )


def _require_equal_schema(source: MoveServer, target: MoveServer) -> None:
    schemas = [server.owner.execute(_SQL["schema"]).fetchall() for server in (source, target)]
    if schemas[0] != schemas[1]:
        raise UnfitDatabase(
            f"the servers {source.name!r} and {target.name!r} have different schemas; run with this version, for each: "
            "keepword db migrate"
        )


def _require_equal_spaces(source: MoveServer, target: MoveServer) -> None:
    there = set(target.owner.execute(_SQL["spaces"]).fetchall())
    lacking = [space for space in source.owner.execute(_SQL["spaces"]).fetchall() if space not in there]
    if lacking:
        number, name, dimensions = lacking[0]
        raise UnfitDatabase(
            f"the server {target.name!r} has no space of vectors {name!r} with number {number} and {dimensions} "
            "dimensions; make the same spaces there in the same order: start a worker on it with each model once"
        )


def _require_sight(source: MoveServer) -> None:
    row = source.login.execute(_SQL["sees_all"]).fetchone()
    if row != (True,):
        user = source.login.info.user
        raise UnfitDatabase(
            f"on the server {source.name!r}, {user} reads under row-level security and would copy nothing; have an "
            f"administrator run there: GRANT keepword_owner TO {user} WITH INHERIT TRUE"
        )
