"""The doctor's checks, each with what to do when it fails."""

import asyncio
import os
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psycopg

from keepword import redis
from keepword.cli.checks import Check
from keepword.cli.local import database, load
from keepword.cli.replicas import examine_replicas
from keepword.config import FILE, Settings, is_secret, unprefixed, variable
from keepword.errors import KeepwordError, ModelAway, ModelCutOff, ModelFailed, Unavailable
from keepword.llm.chat import Chat, Endpoint
from keepword.llm.port import Prompt
from keepword.postgres import migrate, preparation
from keepword.postgres.backlog import failures, serving_space
from keepword.postgres.pool import APP_ROLE
from keepword.postgres.settings import list_settings

DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
LOW_DISK_BYTES = 1 << 30
# a local model of 14 billion parameters is loaded from disk within this
ANSWER_SECONDS = 60
_ARE_YOU_THERE = Prompt("You are asked whether you are there.", "Answer with one word: yes.", budget_tokens=256)


def examine(settings: Settings) -> Iterator[Check]:
    yield from _environment(os.environ)
    yield from _settings_file(Path.cwd() / FILE)
    yield _disk(settings)
    try:
        with database(settings) as conninfo:
            yield from _examine_database(conninfo)
            yield from _examine_vectors(settings, conninfo)
            yield from examine_replicas([url.get_secret_value() for url in settings.replica_urls], conninfo)
    except KeepwordError as exc:
        yield Check("database", ok=False, found=str(exc), fix="start PostgreSQL, or correct KEEPWORD_DATABASE_URL")
    yield _redis(settings)
    yield from _language_models(settings)
    yield asyncio.run(_model(settings))


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


def _language_models(settings: Settings) -> Iterator[Check]:
    main, tools = load("background").endpoints(settings)
    if main is None:
        yield Check("language model", ok=True, found="none: summaries quote, and rules find memories")
    else:
        yield asyncio.run(_ask("language model", main, "KEEPWORD_LLM_URL, KEEPWORD_LLM_MODEL or KEEPWORD_LLM_KEY"))
    if tools is not None and (main is None or (tools.url, tools.model) != (main.url, main.model)):
        yield asyncio.run(_ask("tool-call model", tools, "TOOL_SYNTH_ENDPOINT or TOOL_SYNTH_MODEL"))


async def _ask(name: str, endpoint: Endpoint, settings: str) -> Check:
    at = f"{endpoint.model} at {endpoint.url}"
    started = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_SECONDS), Chat(endpoint, waits_seconds=()) as chat:
            await chat.ask(_ARE_YOU_THERE)
    except ModelCutOff:
        pass  # it thought for longer than it was given: it is there
    except ModelAway as exc:
        return Check(name, ok=False, found=f"{at}: {exc}", fix=f"start it, or correct {settings}")
    except TimeoutError:
        problem = f"{at} gave no answer in {ANSWER_SECONDS:g} s"
        return Check(
            name, ok=False, found=problem, fix="if it was still loading, run this again; else look into its log"
        )
    except ModelFailed as exc:
        return Check(name, ok=False, found=f"{at}: {exc}", fix=f"correct {settings}")
    return Check(name, ok=True, found=f"{at} answers, in {time.perf_counter() - started:.1f} s")


def _environment(env: Mapping[str, str]) -> Iterator[Check]:
    if keys := unprefixed(env):
        ignored = [f"{key.upper()} is ignored; Keepword reads {variable(key)}" for key in keys]
        yield Check("environment", ok=True, found=", ".join(ignored))


def _redis(settings: Settings) -> Check:
    if settings.redis_url is None:
        return Check("redis", ok=True, found="not used: working memory, buffer and ledger are in PostgreSQL")
    try:
        asyncio.run(redis.ping(settings.redis_url.get_secret_value()))
    except Unavailable as exc:
        return Check("redis", ok=False, found=str(exc.__cause__), fix="start Redis, or correct KEEPWORD_REDIS_URL")
    return Check("redis", ok=True, found="answers; working memory, buffer and ledger are there")


def _examine_database(conninfo: str) -> Iterator[Check]:
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


async def _model(settings: Settings) -> Check:
    async with aclosing(load("background").embedders(settings)) as embedder_set:
        if embedder_set.chosen is None:
            return Check("model", ok=True, found="none: searches use words and the instant space alone")
        try:
            space = await embedder_set.chosen.space()
            await embedder_set.chosen.embed_query("warm")
            started = time.perf_counter()
            await embedder_set.chosen.embed_query("Is anybody there?")
        except KeepwordError as exc:
            return Check("model", ok=False, found=str(exc), fix="mend it, or set KEEPWORD_EMBEDDING=none")
        took = (time.perf_counter() - started) * 1000
        who = (
            "the bundled model" if settings.embedding == "local" else f"{settings.embedding_model} at a remote endpoint"
        )
        return Check("model", ok=True, found=f"{who} works: space {space.name}, {took:.0f} ms for a query")


def _examine_vectors(settings: Settings, conninfo: str) -> Iterator[Check]:
    with migrate.owner(conninfo) as conn:
        if migrate.status(conninfo).pending:
            return
        serving, failed = serving_space(conn), failures(conn)
        yield from _examine_settings(conn)
        yield _keys(conn)
    yield asyncio.run(_serving(settings, serving))
    for space, reason, count in failed:
        yield Check(
            f"space {space}", ok=False, found=f"{count} entries could not be embedded: {reason}",
            fix=f"when the reason is gone, run: keepword embed --space {space}",
        )  # fmt: skip


def _keys(conn: psycopg.Connection[Any]) -> Check:
    if conn.execute("SELECT FROM keyless_tenant()").fetchone() is None:
        return Check("keys", ok=True, found="every request needs one")
    return Check(
        "keys", ok=True,
        found="none was made: on loopback every account of this machine reads and writes everything. Where you share "
        "the machine, run: keepword keys create --role admin",
    )  # fmt: skip


def _examine_settings(conn: psycopg.Connection[Any]) -> Iterator[Check]:
    """Say where rooms read more of profiles than was said in them: it is allowed, and must not be forgotten."""
    for tenant, settings in list_settings(conn):
        if settings.profiles_in_rooms == "all":
            yield Check(
                f"tenant {tenant}", ok=True,
                found="profiles_in_rooms is all: rooms are shown what their people said in sessions and in other "
                f"rooms. To end that: keepword settings --tenant {tenant} profiles_in_rooms=room",
            )  # fmt: skip


async def _serving(settings: Settings, serving: str | None) -> Check:
    async with aclosing(load("background").embedders(settings)) as embedder_set:
        try:
            chosen = (await embedder_set.chosen.space()).name if embedder_set.chosen else None
        except Unavailable:
            chosen = None  # the model's own check says so
    if chosen in {None, serving}:
        return Check("vectors", ok=True, found=f"searches use the space {serving}")
    return Check(
        "vectors", ok=False, found=f"searches use the space {serving}, and the settings choose {chosen}",
        fix=f"run: keepword embed --space {chosen}",
    )  # fmt: skip
