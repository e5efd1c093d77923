"""The doctor's checks, each with what to do when it fails."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import psycopg

from keepword.checks import Check, check_database, check_keys, check_machine, check_redis
from keepword.cli.local import database, load
from keepword.cli.replicas import examine_replicas
from keepword.cli.server_list import connected, doubled, tenants_of
from keepword.config import Settings
from keepword.errors import KeepwordError, ModelAway, ModelCutOff, ModelFailed, Unavailable
from keepword.llm.chat import Chat, Endpoint
from keepword.llm.port import Prompt
from keepword.postgres import migrate
from keepword.postgres.backlog import failures, serving_space
from keepword.postgres.settings import list_settings

# a local model of 14 billion parameters is loaded from disk within this
ANSWER_SECONDS = 60
_ARE_YOU_THERE = Prompt("You are asked whether you are there.", "Answer with one word: yes.", budget_tokens=256)


def examine(settings: Settings) -> Iterator[Check]:
    yield from check_machine(settings)
    for server, each in zip(settings.servers or (None,), settings.each(), strict=True):
        for check in _examine_database(each):
            yield check if server is None else replace(check, name=f"{server.name}: {check.name}")
    if settings.servers:
        yield _examine_places(settings)
    yield check_redis(settings)
    yield from _language_models(settings)
    yield asyncio.run(_model(settings))


def _examine_database(settings: Settings) -> Iterator[Check]:
    try:
        with database(settings) as conninfo:
            yield from check_database(conninfo)
            yield from _examine_vectors(settings, conninfo)
            yield from examine_replicas([url.get_secret_value() for url in settings.replica_urls], conninfo)
    except KeepwordError as exc:
        yield Check("database", ok=False, found=str(exc), fix="start PostgreSQL, or correct KEEPWORD_DATABASE_URL")


def _examine_places(settings: Settings) -> Check:
    """Look for tenants on two servers, of which either would take what is written."""
    with connected(settings) as servers:
        places = tenants_of(servers)
    twice = doubled(places)
    if twice:
        fix = "decide which copy counts; docs/howto/production.md, Several servers, says how to shut the other"
        return Check("tenants", ok=False, found=f"on two servers: {', '.join(twice)}", fix=fix)
    return Check("tenants", ok=True, found=f"{len(places)}, each on one server")


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
        yield check_keys(conn)
    yield asyncio.run(_serving(settings, serving))
    for space, reason, count in failed:
        yield Check(
            f"space {space}", ok=False, found=f"{count} entries could not be embedded: {reason}",
            fix=f"when the reason is gone, run: keepword embed --space {space}",
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
