"""The service inside somebody else's process, without a port. A part of the composition root."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from keepword import logs, preload
from keepword.background import background_task, run_jobs
from keepword.config import Settings, read_settings
from keepword.errors import AlreadyRunning, BadSettings, UnfitDatabase
from keepword.http.app import build_routes, create_app
from keepword.jobs.thread import worker_thread
from keepword.main import database, restart_on_crash
from keepword.model import Key, check_name
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import open_tenant
from keepword.wiring import OwnerCalls, services

# another process that holds the data folder may be about to start its database, or to stop it
HOLDER_SECONDS = 30
LOOK_SECONDS = 0.1
NO_FOLDER = Path(os.devnull)

T = TypeVar("T")

# no signal waits for the end of a program's own block: the jobs under way may finish
STOP_SECONDS = 5.0


@asynccontextmanager
async def open_app(tenant: str, given: Mapping[str, Any], *, environment: bool) -> AsyncIterator[ASGIApp]:
    """Run all that `keepword serve` runs but the server, and lend the application."""
    check_name(tenant, "tenant")
    settings = (read_settings(given=given) if environment else read_settings({}, NO_FOLDER, given)).settings
    if settings.servers:
        raise BadSettings("KEEPWORD_SERVERS is for `keepword serve`; a program uses one server: set database_url")
    logs.leave_to_logging()
    preload.begin()
    async with AsyncExitStack() as stack:
        conninfo, cluster = await _database(stack, settings)
        tenant_id = await asyncio.to_thread(_prepare, conninfo, tenant)
        if settings.worker:
            jobs = worker_thread(lambda: run_jobs(settings, conninfo), STOP_SECONDS)
            await stack.enter_async_context(_in_thread(jobs))
        all_services = await stack.enter_async_context(services(settings, conninfo))
        await stack.enter_async_context(background_task(restart_on_crash(cluster)))
        owner = Key("owner", tenant_id, tenant, "admin")
        app = create_app(replace(all_services, keys=OwnerCalls(all_services, all_services.keys, owner), keyless=True))
        routes = asyncio.wrap_future(build_routes(app))
        if all_services.loaded is not None:
            await all_services.loaded.wait()
        await routes
        yield _in_a_task(app)


def _prepare(conninfo: str, tenant: str) -> UUID:
    migrate.migrate(conninfo)
    with migrate.owner(conninfo) as conn:
        return open_tenant(conn, tenant)


async def _database(stack: AsyncExitStack, settings: Settings) -> tuple[str, Cluster | None]:
    """Start the database, or share the one of whoever holds the data folder, as soon as it is up."""
    deadline = time.monotonic() + HOLDER_SECONDS
    while True:
        try:
            return await stack.enter_async_context(_in_thread(database(settings)))
        except AlreadyRunning:
            conninfo = Cluster(settings.home).conninfo
            if await asyncio.to_thread(_is_up, conninfo):
                return conninfo, None
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(LOOK_SECONDS)


def _is_up(conninfo: str) -> bool:
    with contextlib.suppress(UnfitDatabase):
        migrate.connect(conninfo).close()
        return True
    return False


@asynccontextmanager
async def _in_thread(blocking: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave in a thread, each to its end: what is cancelled halfway could not be stopped."""
    entering = asyncio.create_task(asyncio.to_thread(blocking.__enter__))

    async def leave() -> None:
        await asyncio.wait({entering})
        if entering.exception() is None:
            await asyncio.to_thread(blocking.__exit__, None, None, None)

    try:
        yield await asyncio.shield(entering)
    finally:
        await asyncio.shield(leave())


def _in_a_task(app: ASGIApp) -> ASGIApp:
    """Give each call a context of its own: what the service notes for its log is not the caller's."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.ensure_future(app(scope, receive, send))

    return call
