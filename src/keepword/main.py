"""The processes: the service and the worker, from their start to their orderly end."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager

import structlog
import uvloop

from keepword import allocator, logs, preload, siblings
from keepword.background import background_task, embedders, embedding, quotas, run_jobs
from keepword.config import Settings
from keepword.daemon import run_in_daemon
from keepword.errors import StartError
from keepword.http.metrics import ProcessMetrics
from keepword.jobs.thread import worker_thread
from keepword.listening import announce, bound, greet, is_loopback, listen
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster, FolderLock, database_for_command, lock_data_folder
from keepword.postgres.keys import has_working_key
from keepword.serving import Stop, serve_requests
from keepword.siblings import Siblings

_log = structlog.get_logger()

WORKER_STOP_SECONDS = 0.9
# jobs can wait, requests can't; inside the service a thread that gave way while it holds Python's lock would block them
WORKER_NICE = 10
WATCH_SECONDS = 0.5
# besides the time in which another process starts or stops the server
HOLD_SECONDS = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(settings: Settings) -> None:
    """Serve until a signal comes. Raises StartError if that can't begin."""
    logs.configure(settings.log_level)
    allocator.configure()
    for number in _SIGNALS:
        signal.signal(number, _stop)
    preload.begin()
    # a port that is taken is found before a database is made
    with _data_folder(settings) as holder, bound(settings) as listener:
        announce(settings)
        with _running_database(settings, holder) as (conninfo, cluster):
            listen(settings, listener)
            _abandonable(lambda: _prepare(settings, conninfo))
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    runner.run(_serve(settings, conninfo, cluster, listener))
            finally:
                _ignore_signals()


def _prepare(settings: Settings, conninfo: str) -> None:
    migrate.migrate(conninfo)
    _require_key(settings, conninfo)


def _abandonable(work: Callable[[], object]) -> None:
    """Run work that a signal may abandon at any point, and not unwind: each step of it can be done again.

    In this thread a signal's exception would surface inside the driver, with a statement under way, where nothing
    can be rolled back any more, or between the birth of a process and the note of its number.
    """
    run_in_daemon(work, "prepare").result()


def _stop(_: int, __: object) -> None:
    # before there is a loop: the exception unwinds the contexts of serve()
    _ignore_signals()
    raise SystemExit(0)


def _ignore_signals() -> None:
    # a second signal must not cut the database's stop short
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def work(settings: Settings) -> None:
    """Do the background work alone until a signal comes."""
    logs.configure(settings.log_level)
    allocator.configure()
    for number in _SIGNALS:
        signal.signal(number, _stop)
    with database_for_command(settings.home, settings.database_url) as conninfo:
        _abandonable(lambda: migrate.migrate(conninfo))
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_work(settings, conninfo))
        finally:
            _ignore_signals()


async def _work(settings: Settings, conninfo: str) -> None:
    stopping = _on_signals()
    with worker_thread(lambda: run_jobs(settings, conninfo), WORKER_STOP_SECONDS, nice=WORKER_NICE):
        async with (
            aclosing(embedders(settings)) as embedder_set,
            embedding(conninfo, embedder_set.all, quotas(settings)),
        ):
            sys.stdout.write("Keepword's worker runs. Ctrl-C stops it.\n")
            sys.stdout.flush()
            await stopping.wait()


@contextmanager
def database(settings: Settings) -> Iterator[tuple[str, Cluster | None]]:
    """Hold the data folder and run its server, or lend the other database; raises AlreadyRunning."""
    with _data_folder(settings) as holder, _running_database(settings, holder) as conninfo_and_cluster:
        yield conninfo_and_cluster


def _data_folder(settings: Settings) -> AbstractContextManager[FolderLock | None]:
    return contextlib.nullcontext() if settings.database_url else lock_data_folder(settings.home, HOLD_SECONDS)


@contextmanager
def _running_database(settings: Settings, holder: FolderLock | None) -> Iterator[tuple[str, Cluster | None]]:
    if settings.database_url:
        yield settings.database_url.get_secret_value(), None
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


async def _serve(settings: Settings, conninfo: str, cluster: Cluster | None, listener: socket.socket) -> None:
    stopping = _on_signals()
    beside_it = worker_thread(lambda: run_jobs(settings, conninfo), WORKER_STOP_SECONDS)
    processes = siblings.count(settings)
    own = siblings.share(settings, processes)
    with (
        siblings.metrics_folder() as folder,
        beside_it if settings.worker else contextlib.nullcontext(lambda: None) as stop_jobs,
    ):
        others = Siblings(own, conninfo, listener, folder)
        await serve_requests(
            own, conninfo, listener, ProcessMetrics(folder), Stop(stopping, stop_jobs),
            when_listening=lambda: greet(settings, listener),
            beside=lambda loaded: (
                background_task(restart_on_crash(cluster)),
                background_task(others.run(range(1, processes), loaded)),
            ),
        )  # fmt: skip


def _on_signals() -> asyncio.Event:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(_: int, __: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, which is what was asked for
            loop.call_soon_threadsafe(stopping.set)

    for number in _SIGNALS:
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
