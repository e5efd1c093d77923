"""The composition root: the only place where adapters meet rooms."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

import structlog
import uvicorn
import uvloop

from keepword import logs, preload
from keepword.access.settings import QUOTAS
from keepword.background import background_task, compactor, embedders, embedding, models, now, quotas, run_jobs
from keepword.compose import Composer, InlineCompactor, TemplateLoader, TurnStores
from keepword.config import Settings
from keepword.embedding import TextIndexer
from keepword.embedding.embedders import Embedders
from keepword.errors import KeepwordError, StartError
from keepword.http.app import create_app
from keepword.http.concurrency import Limits as RequestLimits
from keepword.http.connections import Connections
from keepword.http.services import Services
from keepword.jobs.reading_process import ReadingProcess
from keepword.jobs.thread import worker_thread
from keepword.listening import BACKLOG, announce, bound, greet, is_loopback, listen
from keepword.llm.port import Model
from keepword.postgres import migrate
from keepword.postgres.agent_files import PostgresFiles
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.embedded import Cluster, FolderLock, database_for_command, lock_data_folder
from keepword.postgres.facts import PostgresFacts
from keepword.postgres.keys import PostgresKeys, has_working_key
from keepword.postgres.memories import PostgresMemories
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.quotas import PostgresQuotas
from keepword.postgres.recall import PostgresIndex, PostgresSpaces
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.working import PostgresBuffer, PostgresFields, PostgresLedger, sweep
from keepword.recall import Recall, StatsReader, Uses
from keepword.recall.deep import ServedModel
from keepword.recall.synthesize import Synthesizer
from keepword.redis import client as redis
from keepword.redis.buffer import RedisBuffer
from keepword.redis.working import RedisFields, RedisLedger
from keepword.working import WorkingStores

_log = structlog.get_logger()

# requests get this long to finish after a signal; the database then gets the rest of five seconds
DRAIN_SECONDS = 1
WORKER_STOP_SECONDS = 0.9
# jobs can wait, requests can't; inside the service a thread that gave way while it holds Python's lock would block them
WORKER_NICE = 10
WATCH_SECONDS = 0.5
# besides the time in which another process starts or stops the server
HOLD_SECONDS = 2
SWEEP_SECONDS = 600
# of the time that a request has, a model may take this much for an answer: then what was found still gets out
ANSWER_SHARE = 0.8
# of the places, one tenant takes this share while other tenants are active, and one key while others of its tenant are
# a thread that computes gives up Python's lock after so long: the loop asks for it dozens of times in a request
SWITCH_SECONDS = 0.0005
TENANT_SHARE, KEY_SHARE = 0.5, 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(settings: Settings) -> None:
    """Serve until a signal comes. Raises StartError if that can't begin."""
    logs.configure(settings.log_level)
    for number in _SIGNALS:
        signal.signal(number, _stop)
    preload.begin()
    # a port that is taken is found before a database is made
    with _held(settings) as holder, bound(settings) as listener:
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
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as exc:  # noqa: BLE001 - raised again by who waits
            failed.append(exc)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _stop(_: int, __: object) -> None:
    # before there is a loop: unwinds what serve() began
    _ignore_signals()
    raise SystemExit(0)


def _ignore_signals() -> None:
    # a second signal must not cut the database's stop short
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@asynccontextmanager
async def services(settings: Settings, conninfo: str) -> AsyncIterator[Services]:
    """Put together all that the routes call, and run what goes on in the background."""
    pool = Pool(conninfo, Limits(settings.pool_size, settings.statement_timeout_seconds, has_lanes=True))
    reading, texts = ReadingProcess(), ReadingProcess()
    try:
        await pool.open()
        async with (
            working(settings, pool) as working_memory,
            aclosing(embedders(settings)) as deep,
            models(settings) as (model, _),
            aclosing(ScopeCache(pool, settings.copies_mb * 2**20)) as cache,
        ):
            index = PostgresIndex(pool, cache if settings.copies_mb else None)
            put_together = _services(settings, conninfo, pool, working_memory, deep, model, index)
            inline = InlineCompactor(compactor(settings, pool, TextIndexer(), model, reading))
            composer = replace(put_together.composer, inline=inline, run=texts)
            put_together = replace(put_together, composer=composer, run=texts)
            # nobody outside is asked for a turn that nobody reads
            loading = preload.Preload(put_together.composer, "best" if settings.embedding == "local" else "fast")
            put_together = replace(put_together, loaded=loading.done)
            async with (
                background_task(loading.run()),
                background_task(put_together.uses.run()),
                _background(settings, conninfo, deep),
            ):
                yield put_together
            await put_together.uses.flush()
    finally:
        reading.close()
        texts.close()
        await pool.close()


@asynccontextmanager
async def working(settings: Settings, pool: Pool) -> AsyncIterator[WorkingStores]:
    """Put together working memory, ledger and buffer; an absent Redis does not keep Keepword from starting."""
    if settings.redis_url is None:
        async with background_task(_sweep(pool)):
            yield WorkingStores(PostgresFields(pool, now), PostgresLedger(pool), PostgresBuffer(pool))
        return
    client = redis.connect(settings.redis_url.get_secret_value())
    try:
        yield WorkingStores(RedisFields(client), RedisLedger(client), RedisBuffer(client, PostgresBuffer(pool)))
    finally:
        await client.aclose()


def work(settings: Settings) -> None:
    """Do the background work alone until a signal comes."""
    logs.configure(settings.log_level)
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


def _services(
    settings: Settings,
    conninfo: str,
    pool: Pool,
    working_memory: WorkingStores,
    deep: Embedders,
    model: Model | None,
    index: PostgresIndex,
) -> Services:
    reader = TextIndexer()
    recall = Recall(index, reader.table, ServedModel(PostgresSpaces(pool), deep), now, settings.timezone)
    uses = Uses(index)
    layers = TurnStores(
        recall, PostgresFacts(pool), PostgresProfiles(pool), PostgresLandmarks(pool, reader),
        PostgresSummaries(pool, reader), working_memory,
        PostgresRegistry(pool), PostgresFiles(pool), pool.together,
    )  # fmt: skip
    return Services(
        keys=PostgresKeys(pool),
        lookup=PostgresPlaceLookup(pool),
        transcript=PostgresTranscript(pool),
        reader=reader,
        conversations=PostgresConversations(pool),
        registry=PostgresRegistry(pool),
        working=working_memory,
        recall=recall,
        stats=StatsReader(index),
        uses=uses,
        facts=layers.facts,
        profiles=layers.profiles,
        summaries=layers.summaries,
        landmarks=layers.landmarks,
        memories=PostgresMemories(pool),
        files=layers.files,
        composer=Composer(
            layers,
            TemplateLoader(settings.home / "templates"),
            uses.note,
            now,
            settings.timezone,
        ),
        clock=now,
        is_ready=pool.is_ready,
        pool_stats=pool.stats,
        depths=PostgresBacklog(pool, conninfo).depths,
        quotas=PostgresQuotas(pool, quotas(settings), now),
        default_quotas={name: getattr(settings, name) for name in QUOTAS},
        keyless=is_loopback(settings.host),
        request_timeout_seconds=settings.request_timeout_seconds,
        metrics_for_anyone=settings.metrics == "anyone",
        synthesizer=Synthesizer(model, ANSWER_SHARE * settings.request_timeout_seconds) if model else None,
    )


@contextmanager
def database(settings: Settings) -> Iterator[tuple[str, Cluster | None]]:
    """Hold the data folder and run its server, or lend the other database; raises AlreadyRunning."""
    with _held(settings) as holder, _running_database(settings, holder) as conninfo_and_cluster:
        yield conninfo_and_cluster


def _held(settings: Settings) -> AbstractContextManager[FolderLock | None]:
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
    with beside_it if settings.worker else contextlib.nullcontext(lambda: None) as stop_jobs:
        await _serve_requests(settings, conninfo, cluster, listener, _Stop(stopping, stop_jobs))


async def _serve_requests(
    settings: Settings, conninfo: str, cluster: Cluster | None, listener: socket.socket, stop: "_Stop"
) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    connections = Connections(settings.connections, settings.pool_size, BACKLOG)
    async with (
        services(settings, conninfo) as all_services,
        background_task(restart_on_crash(cluster)),
        background_task(connections.watch()),
    ):
        config = uvicorn.Config(
            create_app(all_services, _admission(settings), settings.bodies_mb * 2**20),
            http=connections.protocol, log_config=None, access_log=False, lifespan="off",
            server_header=False, timeout_graceful_shutdown=DRAIN_SECONDS, backlog=connections.backlog,
            proxy_headers=False,
        )  # fmt: skip
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        waiting = asyncio.create_task(stop.asked.wait())
        greet(settings, listener)
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        stop.jobs()
        server.should_exit = True
        waiting.cancel()
        await serving


def _admission(settings: Settings) -> RequestLimits:
    # a place without a connection is worth nothing: one tenant's slow statements must leave some of both
    scarce = min(settings.requests_at_once, settings.pool_size)
    return RequestLimits(
        settings.requests_at_once, settings.requests_waiting, settings.requests_wait_seconds,
        settings.requests_per_tenant or _share(scarce, TENANT_SHARE),
        settings.requests_per_key or _share(settings.requests_at_once, KEY_SHARE),
    )  # fmt: skip


def _share(places: int, share: float) -> int:
    return max(1, int(places * share))


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


@asynccontextmanager
async def _background(settings: Settings, conninfo: str, models: Embedders) -> AsyncIterator[None]:
    if not settings.worker:
        yield
        return
    async with embedding(conninfo, models.all, quotas(settings)):
        yield


@dataclass(frozen=True, slots=True)
class _Stop:
    """`asked` is set by a signal; `jobs` begins to stop them without waiting."""

    asked: asyncio.Event
    jobs: Callable[[], None]


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to us: uvicorn would raise them again, past the database's orderly stop."""
        yield


async def _sweep(pool: Pool) -> None:
    """Free working memory that expired, now and then; nobody can read it any more in the meantime."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            freed = await sweep(pool, now())
        except KeepwordError as exc:
            _log.warning("sweep failed, retrying with the next one", reason=str(exc))
        else:
            _log.info("expired working memory deleted", freed=freed)


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
