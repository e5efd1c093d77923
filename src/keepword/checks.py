"""Checks of the machine, the settings file, the database and Redis, each with what to do when it fails."""

import asyncio
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from keepword import redis
from keepword.config import FILE, Settings, is_secret, unprefixed, variable
from keepword.errors import Unavailable
from keepword.postgres import migrate, preparation
from keepword.postgres.pool import APP_ROLE

DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
LOW_DISK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    found: str
    fix: str = ""


def check_machine(settings: Settings) -> Iterator[Check]:
    yield from _environment(os.environ)
    yield from _settings_file(Path.cwd() / FILE)
    yield _disk(settings)


def _settings_file(file: Path) -> Iterator[Check]:
    """Notice keys and passwords in a settings file that others on this machine can read."""
    if file.is_file() and file.stat().st_mode & 0o077:
        secrets = sorted(key for key in tomllib.loads(file.read_text(encoding="utf-8")) if is_secret(key))
        if secrets:
            problem = f"{file} holds {', '.join(secrets)} and can be read by others on this machine"
            yield Check("settings file", ok=False, found=problem, fix=f"run: chmod 600 {file}")


def _disk(settings: Settings) -> Check:
    folder = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    return Check(
        "disk", free >= LOW_DISK_BYTES, f"{free / (1 << 30):.1f} GiB free for {settings.home}",
        "free some space, or set KEEPWORD_HOME to a larger disk",
    )  # fmt: skip


def _environment(env: Mapping[str, str]) -> Iterator[Check]:
    if keys := unprefixed(env):
        ignored = [f"{key.upper()} is ignored; Keepword reads {variable(key)}" for key in keys]
        yield Check("environment", ok=True, found=", ".join(ignored))


def check_redis(settings: Settings) -> Check:
    if settings.redis_url is None:
        return Check("redis", ok=True, found="not used: working memory, buffer and ledger are in PostgreSQL")
    try:
        asyncio.run(redis.ping(settings.redis_url.get_secret_value()))
    except Unavailable as exc:
        return Check("redis", ok=False, found=str(exc.__cause__), fix="start Redis, or correct KEEPWORD_REDIS_URL")
    return Check("redis", ok=True, found="answers; working memory, buffer and ledger are there")


def check_database(conninfo: str) -> Iterator[Check]:
    with migrate.connect(conninfo) as conn:
        yield _version(conn)
        yield from _extensions(conn)
        yield _role(conn)
        yield _names(conn)
        yield _durability(conn)
    yield _migrations(conninfo)


def _version(conn: psycopg.Connection[Any]) -> Check:
    version = conn.info.server_version
    version_text = f"PostgreSQL {version // 10000}.{version % 10000}"
    return Check("database", version >= preparation.MIN_VERSION, version_text, "use PostgreSQL 16 or newer")


def _extensions(conn: psycopg.Connection[Any]) -> Iterator[Check]:
    for name in preparation.EXTENSIONS:
        row = conn.execute("SELECT extversion FROM pg_extension WHERE extname = %s", (name,)).fetchone()
        version = str(row[0]) if row else "missing"
        yield Check(
            f"extension {name}",
            row is not None,
            version,
            f"run: CREATE EXTENSION {name}, or keepword db migrate",
        )


def _role(conn: psycopg.Connection[Any]) -> Check:
    name = f"role {APP_ROLE}"
    row = conn.execute(
        "SELECT rolsuper, rolbypassrls, pg_has_role(rolname, 'SET') FROM pg_roles WHERE rolname = %s",
        (APP_ROLE,),
    ).fetchone()
    if row is None:
        return Check(name, ok=False, found="missing", fix="run: keepword db migrate")
    if row[0] or row[1]:
        fix = f"run: ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS"
        return Check(name, ok=False, found="bypasses row-level security", fix=fix)
    if preparation.has_owner_s_rights(conn):
        return Check(name, ok=False, found="has the owner's rights, whom no policy binds", fix=preparation.REVOKE_OWNER)
    if not row[2]:
        fix = f"have an administrator run: GRANT {APP_ROLE} TO {conn.info.user}"
        return Check(name, ok=False, found=f"{conn.info.user} may not become it", fix=fix)
    return Check(name, ok=True, found="every connection drops to it; it can't bypass row-level security")


def _names(conn: psycopg.Connection[Any]) -> Check:
    """Check that nobody else can put a function under a name that the owner's functions call."""
    revokes = preparation.foreign_creators(conn)
    if not revokes:
        return Check("names", ok=True, found="nobody else may make functions where ours are looked up")
    return Check(
        "names", ok=False, found="others may make functions that would run with the owner's rights",
        fix="run: " + "; ".join(revokes),
    )  # fmt: skip


def _migrations(conninfo: str) -> Check:
    status = migrate.status(conninfo)
    counts = f"{len(status.applied)} applied, {len(status.pending)} pending"
    if status.unknown:
        newer = f"{counts}, and {len(status.unknown)} of a newer Keepword, the last {status.unknown[-1]}"
        return Check("migrations", ok=False, found=newer, fix="install that version of Keepword here, too")
    return Check("migrations", not status.pending, counts, "run: keepword db migrate")


def _durability(conn: psycopg.Connection[Any]) -> Check:
    """Check the server's settings without which an acknowledged message may be lost."""
    rows = conn.execute("SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off'", (list(DURABLE),))
    off = sorted(str(name) for (name,) in rows.fetchall())
    if not off:
        return Check("durability", ok=True, found="what was acknowledged is on disk")
    fix = "run: " + "; ".join(f"ALTER SYSTEM SET {name} = on" for name in off) + "; SELECT pg_reload_conf()"
    return Check("durability", ok=False, found=f"{', '.join(off)} off: a crash may lose what was acknowledged", fix=fix)


def check_keys(conn: psycopg.Connection[Any]) -> Check:
    if conn.execute("SELECT FROM keyless_tenant()").fetchone() is None:
        return Check("keys", ok=True, found="every request needs one")
    return Check(
        "keys", ok=True,
        found="none was made: on loopback every account of this machine reads and writes everything. Where you share "
        "the machine, run: keepword keys create --role admin",
    )  # fmt: skip
