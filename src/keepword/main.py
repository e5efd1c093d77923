"""The processes: the service and the worker, from their start to their orderly end, or to a fresh image of them."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import structlog
import uvloop

from keepword import allocator, handover, logs, preload, siblings
from keepword.background import background_task, embedders, embedding, quotas, run_jobs
from keepword.config import Settings
from keepword.daemon import run_in_daemon
from keepword.errors import KeepwordError, StartError
from keepword.handover import Handover, Renewal
from keepword.http.accepting import Listener, OpenConnections
from keepword.http.metrics import ProcessMetrics
from keepword.http.services import Services
from keepword.jobs.thread import worker_thread
from keepword.listening import announce, bound, greet, is_loopback, listen
from keepword.many_servers import conninfo_of, prepare_any, run_all_jobs
from keepword.postgres import migrate
from keepword.postgres.driver_errors import mapped_errors
from keepword.postgres.embedded import Cluster, FolderLock, database_for_command, kept_data_folder, lock_data_folder
from keepword.postgres.erasures import PostgresProcesses
from keepword.postgres.keys import has_working_key
from keepword.postgres.pool import Limits, Pool
from keepword.renewal import Everywhere, Presence
from keepword.serving import ServingProcess, Stop, serve_requests
from keepword.siblings import Beside, Siblings

_log = structlog.get_logger()

WORKER_STOP_SECONDS = 0.9
# jobs can wait, requests can't; inside the service a thread that gave way while it holds Python's lock would block them
WORKER_NICE = 10
WATCH_SECONDS = 0.5
AGAIN_SECONDS = 1.0
# a renewed service waits for its database for so long; what does not go away by itself ends it then
LONGEST_AWAY_SECONDS = 600
# besides the time in which another process starts or stops the server
HOLD_SECONDS = 2


def serve(settings: Settings, taken: Handover | None = None) -> None:
    """Serve until a signal comes, from what an image before this one left if there was one.

    Raises StartError if that can't begin.
    """
    logs.configure(settings.log_level)
    allocator.configure()
    for number in handover.SIGNALS:
        signal.signal(number, _stop)
    preload.begin()
    # a port that is taken is found before a database is made
    with (
        _data_folder(settings, taken) as holder,
        _listener(settings, taken) as listener,
        siblings.shared_folder(taken.folder if taken else None) as folder,
    ):
        if taken is None:
            announce(settings)
        with _running_database(settings, holder) as (conninfo, cluster):
            handover.let_signals_come()  # from here on the server is stopped whatever happens
            if taken is None:
                listen(settings, listener)
            _abandonable(lambda: _prepare(settings, conninfo, taken), is_renewed=taken is not None)
            service = _Service(settings, conninfo, cluster, listener, folder, holder, taken)
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    stopping, handed = runner.run(_serve(service))
                if handed is not None:
                    handover.replace_process(handed, lambda: stopping.was_made)
            except KeepwordError as exc:
                if taken is None or service.listens.is_set():
                    raise
                _begin_again(taken, exc)
            finally:
                _ignore_signals()


class _StopRequest(asyncio.Event):
    """Is set in the loop; `was_made` already when the signal comes, and also when the loop has ended."""

    was_made: bool = False


@dataclass(frozen=True, slots=True)
class _Service:
    """What the first process serves with; `taken` is what an image before it left."""

    settings: Settings
    conninfo: str
    cluster: Cluster | None
    listener: socket.socket
    folder: Path
    holder: FolderLock | None
    taken: Handover | None
    listens: threading.Event = field(default_factory=threading.Event)


def _begin_again(taken: Handover | Renewal, exc: KeepwordError) -> None:
    """Hand on what was taken over: this image could not begin, such as for want of connections, and the next may."""
    _log.warning("could not begin anew, trying again", reason=str(exc))
    for number in handover.SIGNALS:
        signal.signal(number, _stop)
    time.sleep(AGAIN_SECONDS)
    handover.replace_process(taken, lambda: False)


def _listener(settings: Settings, taken: Handover | None) -> AbstractContextManager[socket.socket]:
    return bound(settings) if taken is None else socket.socket(fileno=taken.listener)


def _prepare(settings: Settings, conninfo: str, taken: Handover | None = None) -> None:
    if settings.servers:  # where every call needs a key anyway
        prepare_any(settings.servers)
        return
    migrate.migrate(conninfo)
    if taken is None:  # the image before this one served, and may have erased the last key
        _require_key(settings, conninfo)


def _abandonable(work: Callable[[], object], *, is_renewed: bool = False) -> None:
    """Run work that a signal may abandon at any point, and not unwind: each step of it can be done again.

    In this thread a signal's exception would surface inside the driver, with a statement under way, where nothing
    can be rolled back any more, or between the birth of a process and the note of its number.
    """
    run_in_daemon(lambda: _until_it_works(work) if is_renewed else work(), "prepare").result()


def _until_it_works(work: Callable[[], object]) -> None:
    """Try work again that an image before this one did: a database that is away for a moment ends no service."""
    until = time.monotonic() + LONGEST_AWAY_SECONDS
    while True:
        try:
            with mapped_errors():
                work()
        except KeepwordError as exc:
            if time.monotonic() > until:
                raise
            _log.warning("could not begin anew, trying again", reason=str(exc))
            time.sleep(WATCH_SECONDS)
        else:
            return


def _stop(_: int, __: object) -> None:
    # before there is a loop: the exception unwinds the contexts of serve()
    _ignore_signals()
    raise SystemExit(0)


def _ignore_signals() -> None:
    # a second signal must not cut the database's stop short
    for number in handover.SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def work(settings: Settings, taken: Renewal | None = None) -> None:
    """Do the background work alone until a signal comes."""
    logs.configure(settings.log_level)
    allocator.configure()
    for number in handover.SIGNALS:
        signal.signal(number, _stop)
    handover.let_signals_come()
    is_renewed = taken is not None
    presence = Presence(uuid4(), 0, taken.rest_seconds if taken else 0)
    with database_for_command(settings.home, settings.main_url) as conninfo:
        _abandonable(
            lambda: prepare_any(settings.servers) if settings.servers else migrate.migrate(conninfo),
            is_renewed=is_renewed,
        )
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                stopping = runner.run(_work(settings, conninfo, presence, is_renewed=is_renewed))
            handed = Renewal(settings, presence.next_rest_seconds())
            handover.replace_process(handed, lambda: stopping.was_made)
        except KeepwordError as exc:
            if taken is None or not presence.is_new:
                raise
            _begin_again(taken, exc)
        finally:
            _ignore_signals()


async def _work(settings: Settings, conninfo: str, presence: Presence, *, is_renewed: bool) -> _StopRequest:
    """Work until a signal comes, which is told by the answer, or until something was erased."""
    stopping, due = _on_signals(), asyncio.Event()
    databases = [conninfo_of(server) for server in settings.servers] or [conninfo]
    async with _register(databases) as processes:
        await presence.begin(processes)
        with worker_thread(lambda: _jobs(settings, conninfo), WORKER_STOP_SECONDS, nice=WORKER_NICE):
            async with aclosing(embedders(settings)) as embedder_set, AsyncExitStack() as stack:
                for each in databases:
                    running = embedding(
                        each, embedder_set.all, quotas(settings), wait=not settings.servers, forgets=False
                    )
                    await stack.enter_async_context(running)
                await stack.enter_async_context(background_task(presence.keep_noting(processes, due)))
                if not is_renewed:
                    sys.stdout.write("Keepword's worker runs. Ctrl-C stops it.\n")
                    sys.stdout.flush()
                await _either(stopping, due)
    return stopping


@asynccontextmanager
async def _register(databases: Sequence[str]) -> AsyncIterator[Everywhere]:
    pools = {database: Pool(database, Limits(connections=1)) for database in databases}
    try:
        for pool in pools.values():
            await pool.open(wait=False)
        yield Everywhere({database: PostgresProcesses(pool) for database, pool in pools.items()})
    finally:
        await asyncio.gather(*(pool.close() for pool in pools.values()))


async def _either(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


def _jobs(settings: Settings, conninfo: str) -> Coroutine[Any, Any, None]:
    return run_all_jobs(settings) if settings.servers else run_jobs(settings, conninfo, forgets=False)


@contextmanager
def database(settings: Settings) -> Iterator[tuple[str, Cluster | None]]:
    """Hold the data folder and run its server, or lend the other database; raises AlreadyRunning."""
    with _data_folder(settings) as holder, _running_database(settings, holder) as conninfo_and_cluster:
        yield conninfo_and_cluster


def _data_folder(settings: Settings, taken: Handover | None = None) -> AbstractContextManager[FolderLock | None]:
    if taken is not None and taken.folder_lock is not None:
        return kept_data_folder(taken.folder_lock)
    return contextlib.nullcontext() if settings.main_url else lock_data_folder(settings.home, HOLD_SECONDS)


@contextmanager
def _running_database(settings: Settings, holder: FolderLock | None) -> Iterator[tuple[str, Cluster | None]]:
    if settings.main_url:
        yield settings.main_url.get_secret_value(), None
        return
    if holder is None:
        raise StartError(f"the data folder {settings.home} is not held")
    cluster = Cluster(settings.home)
    try:
        holder.brief()
        _abandonable(cluster.start)
        holder.lasting()
        yield cluster.conninfo, cluster
    finally:
        holder.brief()
        cluster.abandon()
        cluster.stop()


def _require_key(settings: Settings, conninfo: str) -> None:
    if is_loopback(settings.host):
        return
    with migrate.owner(conninfo) as conn:
        if not has_working_key(conn):
            raise StartError(
                f"{settings.host} can be reached from other machines, and there is no key yet; make one with: "
                "keepword keys create --tenant default --role admin"
            )


async def _serve(service: _Service) -> tuple[_StopRequest, Handover | None]:
    """Serve until a signal comes; or until it is time for a fresh image, which takes over what the answer says."""
    settings, taken = service.settings, service.taken
    stopping = _on_signals()
    beside_it = worker_thread(lambda: _jobs(settings, service.conninfo), WORKER_STOP_SECONDS)
    # as many as share the file of connections, also where this process may use other processors by now
    processes = taken.processes if taken else siblings.count(settings)
    own = siblings.share(settings, processes)
    presence = Presence(taken.service, 0, taken.rest_seconds) if taken is not None else Presence(uuid4(), 0)
    counts = OpenConnections(service.folder, 0, processes)
    beside_us = Beside(service.listener, service.folder, counts, presence.service)
    others = Siblings(own, service.conninfo, beside_us, taken.siblings if taken else ())
    with beside_it if settings.worker else contextlib.nullcontext(lambda: None) as stop_jobs:
        stop = Stop(stopping, stop_jobs)

        async def renew(due: asyncio.Event) -> None:
            await due.wait()
            _log.info("something was erased, beginning anew")
            await others.renew()
            others.leave_if(lambda: not stopping.was_made)
            stop.retired.set()

        def beside(services: Services) -> Sequence[AbstractAsyncContextManager[None]]:
            due = asyncio.Event()
            return (
                background_task(restart_on_crash(service.cluster)),
                background_task(others.run(services.loaded or asyncio.Event())),
                background_task(presence.keep_noting(services.processes, due)),
                background_task(renew(due)),
            )

        shared = Listener(service.listener.dup(), counts if processes > 1 else None)
        own_part = ServingProcess(shared, ProcessMetrics(service.folder), presence)
        await serve_requests(
            own, service.conninfo, own_part, stop,
            when_listening=lambda: _begun(service), beside=beside,
        )  # fmt: skip
    is_over = stopping.was_made or not stop.retired.is_set()
    return stopping, None if is_over else _hand_over(service, presence, processes, others)


def _begun(service: _Service) -> None:
    service.listens.set()
    if service.taken is None:
        greet(service.settings, service.listener)


def _hand_over(service: _Service, presence: Presence, processes: int, others: Siblings) -> Handover:
    lock = service.holder.handle if service.holder else None
    return Handover(
        service.settings, service.listener.fileno(), lock, service.folder, presence.service, processes,
        presence.next_rest_seconds(), others.held(),
    )  # fmt: skip


def _on_signals() -> _StopRequest:
    stopping = _StopRequest()
    loop = asyncio.get_running_loop()

    def stop(_: int, __: object) -> None:
        stopping.was_made = True
        with contextlib.suppress(RuntimeError):  # the loop has ended, which is what was asked for
            loop.call_soon_threadsafe(stopping.set)

    for number in handover.SIGNALS:
        # not the loop's own handlers: when it closes, they give way to the default, which ends us before the database
        signal.signal(number, stop)
    return stopping


async def restart_on_crash(cluster: Cluster | None) -> None:
    """Start the embedded database again when it dies under us; until then requests get 503."""
    while cluster:
        await asyncio.sleep(WATCH_SECONDS)
        with contextlib.suppress(OSError):  # such as a full disk: a long log is the lesser evil
            cluster.rotate_log()
        if not cluster.is_running():
            _log.warning("database died, starting it again")
            try:
                await asyncio.to_thread(cluster.launch)
            except StartError as exc:
                _log.error("database does not start", reason=str(exc))
            except asyncio.CancelledError:
                cluster.abandon()  # the loop's end waits for the thread
                raise
