"""Prepares a database for its tables: version, roles, extensions, schema, and no foreign role that may create names."""

from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors, sql

from keepword.errors import UnfitDatabase
from keepword.postgres.logins import APP_LOGIN, is_embedded
from keepword.postgres.pool import APP_ROLE, EXTENSIONS_SCHEMA, OWNER_ROLE, SCHEMA

MIN_VERSION = 160000
EXTENSIONS = ("vector", "pg_trgm")

REVOKE_OWNER = f"REVOKE {OWNER_ROLE} FROM {APP_ROLE}"
_CREATE_ROLE = "CREATE ROLE {} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
# a role that owns the schema, or may become its owner or ours, has all of the database anyway
_CREATORS = """
SELECT n.nspname, COALESCE(r.rolname, 'PUBLIC')
FROM pg_namespace n
CROSS JOIN LATERAL aclexplode(COALESCE(n.nspacl, acldefault('n', n.nspowner))) AS a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE n.nspname = ANY (%(schemas)s) AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
    AND (r.oid IS NULL OR NOT (r.rolsuper OR pg_has_role(r.oid, n.nspowner, 'MEMBER')
                               OR COALESCE(pg_has_role(r.oid, to_regrole(%(owner)s), 'MEMBER'), false)))
ORDER BY 1, 2
"""


def prepare(conn: psycopg.Connection[Any], conninfo: str) -> None:
    """Make the missing parts, or refuse the database with the command that helps. Idempotent."""
    _check_version(conn)
    _make_roles(conn)
    if has_owner_s_rights(conn):
        raise UnfitDatabase(f"the role {APP_ROLE} has the owner's rights; run: {REVOKE_OWNER}")
    if is_embedded(conninfo):
        _make_login(conn)
    _make_extensions(conn)
    _make_schema(conn)
    _refuse_creators(conn)


def foreign_creators(conn: psycopg.Connection[Any]) -> list[str]:
    """Return a command for each role that could put a function of its own under a name that ours call."""
    schemas = [SCHEMA, EXTENSIONS_SCHEMA]
    rows = conn.execute(_CREATORS, {"schemas": schemas, "owner": OWNER_ROLE}).fetchall()
    return [f"REVOKE CREATE ON SCHEMA {schema} FROM {role}" for schema, role in rows]


def _refuse_creators(conn: psycopg.Connection[Any]) -> None:
    revokes = foreign_creators(conn)
    if revokes:
        raise UnfitDatabase(
            "others may make functions where Keepword looks names up, and would run with its rights; "
            f"use a database of its own, or have an administrator run: {'; '.join(revokes)}"
        )


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
        # since PostgreSQL 16 the creator of a role may grant it, but not become it
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
        schema = extension_schema(conn, name)
        if schema is None:
            _create_extension(conn, name)
        elif schema != EXTENSIONS_SCHEMA:
            raise UnfitDatabase(
                f"the extension {name} is in the schema {schema}; have an administrator run: "
                f"ALTER EXTENSION {name} SET SCHEMA {EXTENSIONS_SCHEMA}"
            )


def extension_schema(conn: psycopg.Connection[Any], name: str) -> str | None:
    """Return where the extension's types and operators are, None without it."""
    query = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = %s"
    row = conn.execute(query, (name,)).fetchone()
    return str(row[0]) if row else None


def _create_extension(conn: psycopg.Connection[Any], name: str) -> None:
    create = sql.SQL("CREATE EXTENSION IF NOT EXISTS {} SCHEMA {}")
    try:
        conn.execute(create.format(sql.Identifier(name), sql.Identifier(EXTENSIONS_SCHEMA)))
    except (errors.UndefinedFile, errors.FeatureNotSupported) as exc:
        raise UnfitDatabase(
            f"the database server lacks the extension {name}; install it there (packages: pgvector, contrib)"
        ) from exc
    except errors.InsufficientPrivilege as exc:
        raise UnfitDatabase(
            f"the extension {name} is missing and {conn.info.user} may not make it; "
            f"have an administrator run: CREATE EXTENSION {name} SCHEMA {EXTENSIONS_SCHEMA}"
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
