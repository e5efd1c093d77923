"""The tables, which migrate, and the code in the database, which is replaced: what ran, and running the rest.

`sql/schema` holds numbered files that only go forward; one that ran must not change. `sql/code` holds every function,
policy, trigger and view once; when one of its files changed, all of them run again.
"""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import Any

import psycopg
from psycopg import errors, sql

from keepword.errors import UnfitDatabase
from keepword.postgres.pool import SCHEMA

CODE = "code"
NOTES = f"{SCHEMA}.schema_files"
OLDER_NOTES = f"{SCHEMA}.yoyo_lock"
# replacing policies locks each table exclusively; behind a statement that waits for that, all others wait as well
LOCK_SECONDS = 3
TRIES = 20
PAUSE_SECONDS = 1

_MAKE_NOTES = """
CREATE TABLE IF NOT EXISTS schema_files (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    version text NOT NULL,
    ran_at timestamptz NOT NULL DEFAULT now()
)
"""
_NOTE = """
INSERT INTO schema_files AS f (name, checksum, version) VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, version = excluded.version, ran_at = now()
"""
_POLICIES = "SELECT tablename, policyname FROM pg_policies WHERE schemaname = %s"
_VIEWS = "SELECT viewname FROM pg_views WHERE schemaname = %s"
# code that this transaction did not write is in no file any more; functions of constraints and indexes came with tables
_LEFT_OVER = """
SELECT format('DROP TRIGGER %%I ON %%s', t.tgname, t.tgrelid::regclass)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = %(schema)s::regnamespace AND NOT t.tgisinternal AND t.xmin <> pg_current_xact_id()::xid
    AND NOT starts_with(t.tgname, %(library)s) AND NOT starts_with(t.tgname, %(moving)s)
UNION ALL
SELECT format('DROP ROUTINE %%s', p.oid::regprocedure)
FROM pg_proc p
WHERE p.pronamespace = %(schema)s::regnamespace AND p.xmin <> pg_current_xact_id()::xid
    AND NOT starts_with(p.proname, %(library)s)
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
                        AND d.classid IN ('pg_constraint'::regclass, 'pg_class'::regclass, 'pg_attrdef'::regclass))
"""
_LIBRARY = "procrastinate"
# triggers of a tenant that is being moved, which is closed by them: only the mover drops these
MOVING = "moving_"


@dataclass(frozen=True, slots=True)
class Status:
    """Which files ran, which are to run, and which a newer Keepword ran that this one lacks."""

    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    name: str
    text: bytes

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text).hexdigest()


@dataclass(frozen=True, slots=True)
class Note:
    """The database's note of a file that ran there, and the version of Keepword that ran it."""

    checksum: str
    version: str


def is_made(conn: psycopg.Connection[Any]) -> bool:
    """Tell whether any file ever ran here."""
    return conn.execute("SELECT to_regclass(%s)", (NOTES,)).fetchone() != (None,)


def status(conn: psycopg.Connection[Any]) -> Status:
    """As the owner, where there is one yet."""
    notes = _read_notes(conn)
    names = [file.name for file in tables()] + [CODE]
    pending = tuple(name for name in names if name not in notes or (name == CODE and _is_outdated(notes[CODE])))
    return Status(
        tuple(name for name in names if name not in pending),
        pending,
        tuple(sorted(name for name in notes if name not in names)),
    )


def run_pending(conn: psycopg.Connection[Any]) -> None:
    """Run the pending files, as the owner. Each file and the note that it ran are one transaction."""
    conn.execute(_MAKE_NOTES)
    notes = _read_notes(conn)
    _refuse_newer(notes)
    for file in tables():
        if file.name not in notes:
            _run(conn, file)
        elif notes[file.name].checksum != file.checksum:
            raise UnfitDatabase(
                f"the schema file {file.name} was changed after it ran here; put it back, and add a new one instead"
            )
    if CODE not in notes or _is_outdated(notes[CODE]):
        _replace_code_when_idle(conn)


def refuse_older_kind(conn: psycopg.Connection[Any]) -> None:
    """Refuse a database of before the first release, whose tables had other keys."""
    if conn.execute("SELECT to_regclass(%s)", (OLDER_NOTES,)).fetchone() != (None,):
        raise UnfitDatabase(
            "this database was made by a Keepword of before the first release, whose tables can't be brought forward. "
            "With that version run: keepword export FILE; "
            "then with this one and a new data folder or database: keepword import FILE"
        )


@cache
def tables() -> tuple[File, ...]:
    return _read("schema")


@cache
def code() -> tuple[File, ...]:
    return _read("code")


@cache
def code_checksum() -> str:
    return hashlib.sha256("".join(f"{file.name} {file.checksum}\n" for file in code()).encode()).hexdigest()


def _read(folder: str) -> tuple[File, ...]:
    files = resources.files(__package__).joinpath("sql", folder).iterdir()
    scripts = [File(file.name.removesuffix(".sql"), file.read_bytes()) for file in files if file.name.endswith(".sql")]
    return tuple(sorted(scripts, key=lambda file: file.name))


def _read_notes(conn: psycopg.Connection[Any]) -> dict[str, Note]:
    if not is_made(conn):
        return {}
    rows = conn.execute("SELECT name, checksum, version FROM keepword.schema_files").fetchall()
    return {name: Note(checksum, version) for name, checksum, version in rows}


def _refuse_newer(notes: dict[str, Note]) -> None:
    known = {file.name for file in tables()} | {CODE}
    newer = sorted(notes.keys() - known)
    if newer:
        raise UnfitDatabase(
            f"the database has a newer schema than this Keepword knows (the last file is {newer[-1]}, "
            f"of version {notes[newer[-1]].version}); install that version here, too"
        )


def _is_outdated(note: Note) -> bool:
    # the code of a newer version serves older processes as well: a function that changes for them has a new name
    return note.checksum != code_checksum() and _numbers(note.version) <= _numbers(_version())


def _version() -> str:
    return metadata.version("keepword")


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".") if number.isdigit()]


def _run(conn: psycopg.Connection[Any], file: File) -> None:
    with conn.transaction():
        conn.execute(file.text)
        conn.execute(_NOTE, (file.name, file.checksum, _version()))


def _replace_code_when_idle(conn: psycopg.Connection[Any]) -> None:
    for number in range(TRIES):
        if number:
            time.sleep(PAUSE_SECONDS)
        try:
            _replace_code(conn)
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            continue
        return
    raise UnfitDatabase(
        f"the tables were in use {TRIES} times in a row when their policies were to be replaced; "
        "end what reads or writes for minutes (an export, a dump), and start again"
    )


def _replace_code(conn: psycopg.Connection[Any]) -> None:
    with conn.transaction():
        # functions may call others of later files
        conn.execute(f"SET LOCAL check_function_bodies = off; SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        for drop in _policies_and_views(conn):
            conn.execute(drop)
        *bodies, privileges = code()
        for file in bodies:
            conn.execute(file.text)
        for (drop,) in conn.execute(_LEFT_OVER, {"schema": SCHEMA, "library": _LIBRARY, "moving": MOVING}).fetchall():
            conn.execute(drop)
        conn.execute(privileges.text)  # of all that is left
        conn.execute(_NOTE, (CODE, code_checksum(), _version()))


def _policies_and_views(conn: psycopg.Connection[Any]) -> Iterator[sql.Composed]:
    for table, name in conn.execute(_POLICIES, (SCHEMA,)).fetchall():
        yield sql.SQL("DROP POLICY {} ON {}").format(sql.Identifier(name), sql.Identifier(SCHEMA, table))
    for (name,) in conn.execute(_VIEWS, (SCHEMA,)).fetchall():
        yield sql.SQL("DROP VIEW {}").format(sql.Identifier(SCHEMA, name))
