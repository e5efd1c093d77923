"""Brings a database to the newest schema: roles, extensions, then the numbered files, under one lock."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

import psycopg
from psycopg import errors, sql
from yoyo import read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI
from yoyo.migrations import Migration, MigrationList

from keepword.errors import UnfitDatabase
from keepword.postgres.logins import APP_LOGIN, is_embedded, without_password
from keepword.postgres.pool import APP_ROLE, OWNER_ROLE, SCHEMA

MIN_VERSION = 160000
EXTENSIONS = ("vector", "pg_trgm")
MIGRATIONS = "migrations"
_LOCK = 0x6B656570  # "keep": one number for all processes that migrate this database

REVOKE_OWNER = f"REVOKE {OWNER_ROLE} FROM {APP_ROLE}"
_CREATE_ROLE = "CREATE ROLE {} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"


@dataclass(frozen=True, slots=True)
class Status:
    """Which migrations were applied, which are missing, and which a newer Keepword applied that this one lacks."""

    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...] = ()


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's backend on a connection that is made our way, as the owner."""

    def connect(self, dburi: DatabaseURI) -> psycopg.Connection[Any]:
        self.schema = None
        conn = psycopg.connect(dburi.args["conninfo"], autocommit=True)
        conn.execute("SELECT set_config('role', %s, false)", (OWNER_ROLE,))
        conn.execute("SELECT set_config('search_path', %s, false)", (f"{SCHEMA}, public",))
        return conn

    def apply_one(self, migration: Migration, force: bool = False, mark: bool = True) -> None:  # noqa: ARG002
        # yoyo notes what it applied in another transaction; a kill between the two would wedge the next start
        self.ensure_internal_schema_updated()
        with self.transaction():
            migration.process_steps(self, "apply", force=force)
            self.mark_one(migration, log=False)


def _backend(conninfo: str) -> _Backend:
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, "", {"conninfo": conninfo})
    return _Backend(uri, MIGRATIONS)


def migrate(conninfo: str) -> Status:
    """Safe to run from several processes at once: all wait for the first, then find nothing left to do."""
    with connect(conninfo) as conn, _locked(conn):
        _check_version(conn)
        _make_roles(conn)
        if has_owner_s_rights(conn):
            raise UnfitDatabase(f"the role {APP_ROLE} has the owner's rights; run: {REVOKE_OWNER}")
        if is_embedded(conninfo):
            _make_login(conn)
        _make_extensions(conn)
        _make_schema(conn)
        with _backend(conninfo) as backend:
            # our lock goes with the connection; yoyo's own is a row that a killed process leaves behind
            backend.create_lock_table()
            backend.break_lock()
            found = _migrations()
            backend.apply_migrations(backend.to_apply(found))
            return _status(backend, found)


def status(conninfo: str) -> Status:
    with connect(conninfo) as conn:
        if conn.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.{MIGRATIONS}",)).fetchone() == (None,):
            return Status((), tuple(migration.id for migration in _migrations()))
    with _backend(conninfo) as backend:
        return _status(backend, _migrations())


@contextmanager
def owner(conninfo: str) -> Iterator[psycopg.Connection[Any]]:
    """Lend a connection as the owner, who sees all tenants: for the command line on this machine only."""
    with connect(conninfo) as conn:
        try:
            conn.execute("SELECT set_config('role', %s, false)", (OWNER_ROLE,))
            conn.execute("SELECT set_config('search_path', %s, false)", (f"{SCHEMA}, public",))
            yield conn
        except (errors.InvalidParameterValue, errors.UndefinedTable, errors.InsufficientPrivilege) as exc:
            raise UnfitDatabase(f"the database is not set up ({exc}); run: keepword db migrate") from exc


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


def _check_version(conn: psycopg.Connection[Any]) -> None:
    if conn.info.server_version < MIN_VERSION:
        major = conn.info.server_version // 10000
        raise UnfitDatabase(f"the database is PostgreSQL {major}; Keepword needs 16 or newer")


def _make_roles(conn: psycopg.Connection[Any]) -> None:
    for role in (OWNER_ROLE, APP_ROLE):
        row = conn.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
        if row is None:
            _create_role(conn, role)
        elif row[0] and role == APP_ROLE:
            raise UnfitDatabase(
                f"the role {role} bypasses row-level security; run: ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS"
            )
        if conn.execute("SELECT pg_has_role(%s, 'SET')", (role,)).fetchone() != (True,):
            user = conn.info.user
            raise UnfitDatabase(f"{user} may not become {role}; have an administrator run: GRANT {role} TO {user}")


def has_owner_s_rights(conn: psycopg.Connection[Any]) -> bool:
    """Tell whether the application role is a member of the owner, for whom there is no row-level security."""
    return conn.execute("SELECT pg_has_role(%s, %s, 'MEMBER')", (APP_ROLE, OWNER_ROLE)).fetchone() == (True,)


def _create_role(conn: psycopg.Connection[Any], role: str) -> None:
    create = sql.SQL(_CREATE_ROLE).format(sql.Identifier(role))
    try:
        conn.execute(create)
        # since PostgreSQL 16 who makes a role may grant it, but not become it
        conn.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))
    except (errors.DuplicateObject, errors.UniqueViolation):
        # roles are the server's, our lock is the database's: another database's migration made it just now
        return
    except errors.InsufficientPrivilege as exc:
        raise UnfitDatabase(
            f"the role {role} is missing and {conn.info.user} may not make it; have an administrator run: "
            f"CREATE ROLE {role} NOLOGIN; GRANT {role} TO {conn.info.user}"
        ) from exc


def _make_login(conn: psycopg.Connection[Any]) -> None:
    """Make the login of requests and jobs: a member of the application role, with no right of its own."""
    names = {"login": sql.Identifier(APP_LOGIN), "app": sql.Identifier(APP_ROLE)}
    if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APP_LOGIN,)).fetchone() is None:
        create = "CREATE ROLE {login} LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
        with suppress(errors.DuplicateObject, errors.UniqueViolation):
            conn.execute(sql.SQL(create).format(**names))
    conn.execute(sql.SQL("GRANT {app} TO {login}").format(**names))


def _make_extensions(conn: psycopg.Connection[Any]) -> None:
    for name in EXTENSIONS:
        if conn.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (name,)).fetchone():
            continue
        try:
            conn.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {} SCHEMA public").format(sql.Identifier(name)))
        except (errors.UndefinedFile, errors.FeatureNotSupported) as exc:
            raise UnfitDatabase(
                f"the database server lacks the extension {name}; install it there (packages: pgvector, contrib)"
            ) from exc
        except errors.InsufficientPrivilege as exc:
            raise UnfitDatabase(
                f"the extension {name} is missing and {conn.info.user} may not make it; "
                f"have an administrator run: CREATE EXTENSION {name}"
            ) from exc


def _make_schema(conn: psycopg.Connection[Any]) -> None:
    create = sql.SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}")
    grant = sql.SQL("GRANT USAGE ON SCHEMA {} TO {}")
    names = [sql.Identifier(SCHEMA), sql.Identifier(OWNER_ROLE), sql.Identifier(APP_ROLE)]
    exists = "SELECT has_schema_privilege(%s, to_regnamespace(%s), 'USAGE')"
    if conn.execute(exists, (APP_ROLE, SCHEMA)).fetchone() == (True,):
        return  # an administrator may have made it, for a user who may not even try
    try:
        conn.execute(create.format(names[0], names[1]))
        conn.execute(grant.format(names[0], names[2]))
    except errors.InsufficientPrivilege as exc:
        raise UnfitDatabase(
            f"{conn.info.user} may not make the schema {SCHEMA}; have an administrator run: "
            f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {OWNER_ROLE}; GRANT USAGE ON SCHEMA {SCHEMA} TO {APP_ROLE}"
        ) from exc


def _migrations() -> MigrationList:
    folder = resources.files(__package__).joinpath("sql", "migrations")
    return read_migrations(str(folder))


def _status(backend: _Backend, found: MigrationList) -> Status:
    pending = {migration.id for migration in backend.to_apply(found)}
    ids = cast("list[str]", sorted(migration.id for migration in found))
    with backend.cursor() as cursor:
        cursor.execute(f"SELECT migration_id FROM {MIGRATIONS} ORDER BY 1")  # noqa: S608 - a constant's name
        noted = [str(row[0]) for row in cursor.fetchall()]
    return Status(
        tuple(i for i in ids if i not in pending),
        tuple(i for i in ids if i in pending),
        tuple(i for i in noted if i not in ids),
    )
