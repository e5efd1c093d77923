"""Brings a database to the newest schema and code: preparation, then the numbered files, under one lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

from keepword.errors import UnfitDatabase
from keepword.postgres import restored, schema
from keepword.postgres.logins import without_password
from keepword.postgres.pool import OWNER_ROLE, SEARCH_PATH
from keepword.postgres.preparation import prepare
from keepword.postgres.schema import Status

_NOT_SET_UP = (
    errors.InvalidParameterValue, errors.UndefinedTable, errors.UndefinedFunction, errors.InsufficientPrivilege,
)  # fmt: skip
_LOCK = 0x6B656570  # "keep": one number for all processes that migrate this database


def migrate(conninfo: str) -> Status:
    """Safe to run from several processes at once: all wait for the first, then find nothing left to do."""
    with connect(conninfo) as conn, _locked(conn):
        schema.refuse_older_kind(conn)
        prepare(conn, conninfo)
        _become_owner(conn)
        schema.run_pending(conn)
        restored.repair(conn)
        return schema.status(conn)


def status(conninfo: str) -> Status:
    with connect(conninfo) as conn:
        if schema.is_made(conn):
            _become_owner(conn)
        return schema.status(conn)


@contextmanager
def owner(conninfo: str) -> Iterator[psycopg.Connection[Any]]:
    """Lend a connection as the owner, who sees all tenants: for the command line on this machine only."""
    with connect(conninfo) as conn:
        try:
            _become_owner(conn)
            yield conn
        except _NOT_SET_UP as exc:
            raise UnfitDatabase(f"the database is not set up ({exc}); run: keepword db migrate") from exc


def _become_owner(conn: psycopg.Connection[Any]) -> None:
    query = "SELECT set_config('role', %s, false), set_config('search_path', %s, false)"
    conn.execute(query, (OWNER_ROLE, SEARCH_PATH))


def connect(conninfo: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(conninfo, autocommit=True, connect_timeout=10)
    except (psycopg.OperationalError, psycopg.ProgrammingError) as exc:
        # not chained: the driver quotes what it could not read, and a password may be in it
        raise UnfitDatabase(f"can't connect to the database: {without_password(str(exc).strip(), conninfo)}") from None


@contextmanager
def _locked(conn: psycopg.Connection[Any]) -> Iterator[None]:
    conn.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
        yield
    finally:
        conn.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
