"""Wires one process with several database servers: services for each, chosen by a request's key. Composition root."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import psycopg
import structlog

from keepword import service_report
from keepword.answers import ServiceReport
from keepword.background import background_task, run_jobs
from keepword.config import DatabaseServer, Settings
from keepword.daemon import run_in_daemon
from keepword.embedding.ports import BacklogDepth
from keepword.errors import KeepwordError, StartError
from keepword.http.server_choice import ServerChoice
from keepword.http.services import Server, Services
from keepword.metrics import SERVER_BACKLOG_ENTRIES, SERVER_POOL_CONNECTIONS
from keepword.postgres import migrate
from keepword.postgres.directory import PostgresDirectory
from keepword.postgres.pool import Pool
from keepword.postgres.server_watch import ServerWatch
from keepword.renewal import Everywhere
from keepword.wiring import Shared, database_services, limits_of, shared

_log = structlog.get_logger()

_POOL_STATES = {"open": "pool_size", "idle": "pool_available", "waiting": "requests_waiting"}
Report = Callable[[], Awaitable[ServiceReport]]


@dataclass(frozen=True, slots=True)
class _Member:
    """A server with what only this room needs of it."""

    server: Server
    watch: ServerWatch


@asynccontextmanager
async def many_services(settings: Settings, pool_type: type[Pool] = Pool) -> AsyncIterator[Services]:
    """Put together the services of every server; one that is down joins when it comes."""
    async with shared(settings) as parts, AsyncExitStack() as stack:
        members = {}
        # what is kept of scopes in memory is divided; connections are those to each server
        each = settings.model_copy(update={"copies_mb": -(-settings.copies_mb // len(settings.servers))})
        pools = {server.name: pool_type(conninfo_of(server), limits_of(settings)) for server in settings.servers}
        for server in settings.servers:
            report = partial(asyncio.to_thread, service_report.make, settings, conninfo_of(server))
            joining = _join(each.on(server), server, parts, pools[server.name], report)
            members[server.name] = await stack.enter_async_context(joining)
        first = pools[settings.servers[0].name]
        loaded = asyncio.Event()
        await stack.enter_async_context(background_task(_first_loaded(list(members.values()), loaded)))
        yield _together(members, ServerChoice(_servers_of(members), PostgresDirectory(first)), loaded)


@asynccontextmanager
async def _join(
    settings: Settings,
    server: DatabaseServer,
    parts: Shared,
    pool: Pool,
    report: Callable[[], Awaitable[ServiceReport]],
) -> AsyncIterator[_Member]:
    watch = watch_of(server)
    async with (
        database_services(settings, conninfo_of(server), parts, pool, found=watch.found, forgets=False) as services,
        background_task(watch.watch(pool.discard_broken)),
    ):
        for state, name in _POOL_STATES.items():
            gauge = SERVER_POOL_CONNECTIONS.labels(server.name, state)
            gauge.set_function(lambda name=name: pool.stats().get(name, 0))  # type: ignore[misc]
        yield _Member(Server(server.name, replace(services, report=report), watch), watch)


def _servers_of(members: Mapping[str, _Member]) -> dict[str, Server]:
    return {name: member.server for name, member in members.items()}


def _together(members: Mapping[str, _Member], choice: ServerChoice, loaded: asyncio.Event) -> Services:
    """Return the services of the process. They answer no key: those of the key's server do."""
    first = next(iter(members.values())).server.services

    async def is_ready() -> bool:
        return any(member.watch.is_up for member in members.values())

    return replace(
        first,
        servers=choice,
        is_ready=is_ready,
        loaded=loaded,
        keyless=False,
        pool_stats=partial(_pool_stats, members),
        depths=partial(_depths, members),
        processes=Everywhere({name: member.server.services.processes for name, member in members.items()}),
    )


def _pool_stats(members: Mapping[str, _Member]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for member in members.values():
        total.update(member.server.services.pool_stats())
    return dict(total)


async def _depths(members: Mapping[str, _Member]) -> list[BacklogDepth]:
    """Add up what waits on the servers that are up, and note it for each."""
    up = [member for member in members.values() if member.watch.is_up]
    answers = await asyncio.gather(*(member.server.services.depths() for member in up), return_exceptions=True)
    waiting: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    SERVER_BACKLOG_ENTRIES.clear()
    for member, depths in zip(up, answers, strict=True):
        for depth in () if isinstance(depths, BaseException) else depths:
            waiting[depth.space] += depth.waiting
            failed[depth.space] += depth.failed
            labels = member.server.name, depth.space
            SERVER_BACKLOG_ENTRIES.labels(*labels, "waiting").set(depth.waiting)
            SERVER_BACKLOG_ENTRIES.labels(*labels, "failed").set(depth.failed)
    return [BacklogDepth(space, waiting[space], failed[space]) for space in waiting]


async def _first_loaded(members: Sequence[_Member], loaded: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(_loaded(member.server.services)) for member in members]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        loaded.set()
    finally:
        for wait in waits:
            wait.cancel()


async def _loaded(services: Services) -> None:
    if services.loaded is not None:
        await services.loaded.wait()


def conninfo_of(server: DatabaseServer) -> str:
    return server.url.get_secret_value()


def watch_of(server: DatabaseServer) -> ServerWatch:
    """Watch a server, and bring it to this version's schema before it is used."""
    conninfo = conninfo_of(server)

    async def prepare() -> None:
        await asyncio.wrap_future(run_in_daemon(partial(migrate.migrate, conninfo), f"migrate {server.name}"))

    return ServerWatch(server.name, conninfo, prepare)


def prepare_any(servers: Sequence[DatabaseServer]) -> None:
    """Bring all servers to this version's schema at once, and return with the first; raises StartError for none."""
    waiting = {run_in_daemon(partial(migrate.migrate, conninfo_of(one)), f"migrate {one.name}"): one for one in servers}
    faults = []
    for done in as_completed(waiting):
        fault = done.exception()
        if fault is None:
            return
        if not isinstance(fault, KeepwordError | psycopg.Error):
            raise fault
        _log.warning("database server is not there", server=waiting[done].name, reason=str(fault))
        faults.append(f"{waiting[done].name}: {fault}")
    raise StartError("no database server of KEEPWORD_SERVERS can be used; " + "; ".join(faults))


async def run_all_jobs(settings: Settings) -> None:
    """Run the jobs of every server until cancelled; what is down stops its own alone."""
    await asyncio.gather(*(_run_jobs_of(settings, server) for server in settings.servers))


async def _run_jobs_of(settings: Settings, server: DatabaseServer) -> None:
    watch = watch_of(server)
    async with background_task(watch.watch(_nothing)):
        await watch.found.wait()
    await run_jobs(settings.on(server), conninfo_of(server), forgets=False)


async def _nothing() -> None:
    pass
