"""The composition root: the only place where adapters meet rooms."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
import uvicorn
import uvloop

from keepword import logs
from keepword.access import everything_in
from keepword.compaction.compact import Compactor
from keepword.compaction.plan import Pace
from keepword.compose import Composer, Inline, Layers, Shelf
from keepword.config import Settings
from keepword.embedding import Reader
from keepword.embedding.embedders import Embedders
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.ports import Embedder
from keepword.embedding.remote import Endpoint, RemoteEmbedder
from keepword.embedding.worker import Worker
from keepword.errors import BadSettings, KeepwordError, NotFound, StartError, Unavailable
from keepword.http.app import create_app
from keepword.http.routes import operations
from keepword.http.services import Services
from keepword.jobs import worker
from keepword.jobs.thread import beside
from keepword.jobs.worker import Work
from keepword.llm import chat
from keepword.llm.port import Model
from keepword.memories.use import Extractor
from keepword.postgres import migrate
from keepword.postgres.agent_files import PostgresFiles
from keepword.postgres.backlog import PostgresBacklog, make_space, queue_missing, serve_space
from keepword.postgres.embedded import Cluster, hold, lend
from keepword.postgres.facts import PostgresFacts
from keepword.postgres.keys import PostgresKeys, has_working_key
from keepword.postgres.memories import PostgresMemories, unread
from keepword.postgres.places import PostgresConversations, PostgresDoors
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.queue import PostgresQueue, connector
from keepword.postgres.recall import PostgresIndex, PostgresSpaces
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.working import PostgresBuffer, PostgresFields, PostgresLedger, sweep
from keepword.recall import Recall, Stats, Uses
from keepword.recall.deep import ServedModel
from keepword.recall.synthesize import Synthesizer
from keepword.redis import client as redis
from keepword.redis.buffer import RedisBuffer
from keepword.redis.working import RedisFields, RedisLedger
from keepword.working import Working

_log = structlog.get_logger()

# requests get this long to finish after a signal; the database then gets the rest of five seconds
DRAIN_SECONDS = 1
WORKER_STOP_SECONDS = 0.9
WATCH_SECONDS = 0.5
SWEEP_SECONDS = 600
BACKLOG = 2048
# beside the pool that serves: neither waits for the other. It plans anew each time: tables grow under its hands
WORKER_LIMITS = Limits(connections=4, statement_seconds=60, plans="force_custom_plan")
FILL_LOOK_SECONDS = 1
# of the time that a request has, a model may take this much for an answer: then what was found still gets out
ANSWER_SHARE = 0.8
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(settings: Settings) -> None:
    """Serve until a signal comes. Raises StartError if that can't begin."""
    logs.configure(settings.log_level)
    for number in _SIGNALS:
        signal.signal(number, _stop)
    with _database(settings) as (conninfo, cluster), _bound(settings) as listener:
        _abandonable(lambda: _prepare(settings, conninfo))
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(settings, conninfo, cluster, listener))
        finally:
            _ignore_signals()


def _prepare(settings: Settings, conninfo: str) -> None:
    _migrate(conninfo)
    _require_key(settings, conninfo)


def _migrate(conninfo: str) -> None:
    migrate.migrate(conninfo)


def _abandonable(work: Callable[[], None]) -> None:
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
    pool = Pool(conninfo, Limits(settings.pool_size, settings.statement_timeout_seconds))
    await pool.open()
    try:
        async with (
            working(settings, pool) as made,
            aclosing(embedders(settings)) as deep,
            models(settings) as (model, _),
        ):
            put_together = _services(settings, conninfo, pool, made, deep, model)
            async with _running(put_together.uses.run()), _background(settings, conninfo, deep):
                yield put_together
            await put_together.uses.flush()
    finally:
        await pool.close()


@asynccontextmanager
async def working(settings: Settings, pool: Pool) -> AsyncIterator[Working]:
    """Put together working memory, ledger and buffer; an absent Redis does not keep Keepword from starting."""
    if settings.redis_url is None:
        async with _running(_sweep(pool)):
            yield Working(PostgresFields(pool, _now), PostgresLedger(pool), PostgresBuffer(pool))
        return
    client = redis.connect(settings.redis_url.get_secret_value())
    try:
        yield Working(RedisFields(client), RedisLedger(client), RedisBuffer(client, PostgresBuffer(pool)))
    finally:
        await client.aclose()


def embedders(settings: Settings) -> Embedders:
    match settings.embedding:
        case "none":
            return Embedders(())
        case "local":
            return Embedders((LocalEmbedder(settings.embedding_threads),))
        case "remote":
            # the bundled one as well: its space serves until the new one is filled
            return Embedders((_remote(settings), LocalEmbedder(settings.embedding_threads)))


def _remote(settings: Settings) -> Embedder:
    key = settings.embedding_key.get_secret_value() if settings.embedding_key else None
    model = settings.embedding_model or ""
    return RemoteEmbedder(Endpoint(str(settings.embedding_url), model, key, settings.embedding_rate))


@asynccontextmanager
async def _worker(conninfo: str, made: Sequence[Embedder]) -> AsyncIterator[PostgresBacklog]:
    """Do the background work beside what is inside."""
    pool = Pool(conninfo, WORKER_LIMITS)
    await pool.open()
    try:
        backlog = PostgresBacklog(pool, conninfo)
        async with _running(Worker(backlog, made, _Counted()).run()):
            yield backlog
    finally:
        await pool.close()


class _Counted:
    def embedded(self, space: str, texts: int) -> None:
        operations.EMBEDDED.labels(space).inc(texts)

    def failed(self, space: str, entries: int) -> None:
        operations.EMBEDDING_FAILURES.labels(space).inc(entries)


def work(settings: Settings) -> None:
    """Do the background work alone until a signal comes."""
    logs.configure(settings.log_level)
    for number in _SIGNALS:
        signal.signal(number, _stop)
    with lend(settings.home, settings.database_url) as conninfo:
        _abandonable(lambda: _migrate(conninfo))
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_work(settings, conninfo))
        finally:
            _ignore_signals()


async def _work(settings: Settings, conninfo: str) -> None:
    stopping = _on_signals()
    with beside(lambda: run_jobs(settings, conninfo), WORKER_STOP_SECONDS):
        async with aclosing(embedders(settings)) as made, _worker(conninfo, made.all):
            sys.stdout.write("Keepword's worker runs. Ctrl-C stops it.\n")
            sys.stdout.flush()
            await stopping.wait()


def fill(settings: Settings, name: str | None, show: Callable[[int, int], None], *, despite_failures: bool) -> str:
    """Embed all that has no vector in a space, then let searches use it; return its name. `show(done, of)` is told."""
    with lend(settings.home, settings.database_url) as conninfo:
        migrate.migrate(conninfo)
        return asyncio.run(_fill(settings, conninfo, name, show, despite_failures=despite_failures))


async def _fill(
    settings: Settings, conninfo: str, name: str | None, show: Callable[[int, int], None], *, despite_failures: bool
) -> str:
    async with aclosing(embedders(settings)) as made:
        embedder = await _choose(made, name)
        space = await embedder.space()
        number = await asyncio.to_thread(make_space, conninfo, space)
        with migrate.owner(conninfo) as conn:
            async with _worker(conninfo, [embedder]) as backlog:
                # what was appended while the space was new may not have been queued: look until nothing is found
                while await asyncio.to_thread(queue_missing, conn, number) or await backlog.waiting(space.name):
                    failed = await _drain(backlog, space.name, show)
                    if failed and despite_failures:
                        break
                    if failed:
                        raise _not_filled(space.name, failed)
            serve_space(conn, number)
        return space.name


def _not_filled(space: str, failed: int) -> Unavailable:
    return Unavailable(
        f"{failed} entries could not be embedded (`keepword doctor` says why), and {space} does not serve yet; "
        "run this again to retry them, or with --despite-failures to do without"
    )


async def _choose(made: Embedders, name: str | None) -> Embedder:
    if made.chosen is None:
        raise BadSettings("KEEPWORD_EMBEDDING is 'none': there is no model to embed with; set local or remote")
    if name is None:
        return made.chosen
    found = await made.of(name)
    if found is None:
        known = ", ".join([(await embedder.space()).name for embedder in made.all])
        raise NotFound(f"no embedder makes the space {name!r}; with these settings there are: {known}")
    return found


async def _drain(backlog: PostgresBacklog, space: str, show: Callable[[int, int], None]) -> int:
    """Wait until nothing waits any more; return how many failed."""
    total = waiting = await backlog.waiting(space)
    while waiting:
        show(total - waiting, total)
        await asyncio.sleep(FILL_LOOK_SECONDS)
        waiting = await backlog.waiting(space)
        total = max(total, waiting)
    show(total, total)
    return await backlog.failed(space)


def _now() -> datetime:
    return datetime.now(UTC)


def _services(
    settings: Settings, conninfo: str, pool: Pool, made: Working, deep: Embedders, model: Model | None
) -> Services:
    reader = Reader()
    index = PostgresIndex(pool)
    recall = Recall(index, reader.table, ServedModel(PostgresSpaces(pool), deep), _now, settings.timezone)
    uses = Uses(index)
    layers = Layers(
        recall, PostgresFacts(pool), PostgresProfiles(pool), PostgresLandmarks(pool, reader),
        PostgresSummaries(pool, reader), made,
        PostgresRegistry(pool), PostgresFiles(pool),
    )  # fmt: skip
    return Services(
        keys=PostgresKeys(pool),
        doors=PostgresDoors(pool),
        transcript=PostgresTranscript(pool),
        reader=reader,
        conversations=PostgresConversations(pool),
        registry=PostgresRegistry(pool),
        working=made,
        recall=recall,
        stats=Stats(index),
        uses=uses,
        facts=layers.facts,
        profiles=layers.profiles,
        summaries=layers.summaries,
        landmarks=layers.landmarks,
        memories=PostgresMemories(pool),
        files=layers.files,
        composer=Composer(
            layers,
            Shelf(settings.home / "templates"),
            uses.note,
            _now,
            settings.timezone,
            Inline(_compactor(settings, pool, reader, model)),
        ),
        clock=_now,
        is_ready=pool.is_ready,
        pool_stats=pool.stats,
        depths=PostgresBacklog(pool, conninfo).depths,
        keyless=is_loopback(settings.host),
        request_timeout_seconds=settings.request_timeout_seconds,
        synthesizer=Synthesizer(model, ANSWER_SHARE * settings.request_timeout_seconds) if model else None,
    )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, Cluster | None]]:
    if settings.database_url:
        yield settings.database_url.get_secret_value(), None
        return
    with hold(settings.home):
        cluster = Cluster(settings.home)
        try:
            _abandonable(cluster.start)
            yield cluster.conninfo, cluster
        finally:
            cluster.abandon()
            cluster.stop()


@contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as exc:
            raise StartError(
                f"can't listen on {settings.host}:{settings.port}: {exc.strerror}; "
                "name another with KEEPWORD_HOST and KEEPWORD_PORT"
            ) from exc
        listener.listen(BACKLOG)
        yield listener


def _require_key(settings: Settings, conninfo: str) -> None:
    if is_loopback(settings.host):
        return
    with migrate.owner(conninfo) as conn:
        if not has_working_key(conn):
            raise StartError(
                f"{settings.host} can be reached from other machines, and there is no key yet; make one with: "
                "keepword keys create --tenant default --role admin"
            )


def _greet(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    where = "another PostgreSQL (KEEPWORD_DATABASE_URL)" if settings.database_url else str(settings.home)
    sys.stdout.write(
        f"Keepword listens on {url}\n"
        f"Its data lies in {where}\n"
        "Try it:\n"
        f"  curl -X PUT {url}/v1/conversations/demo -H 'Content-Type: application/json' -d '{{\"title\": \"Hello\"}}'\n"
        f"Every route is described at {url}/docs. Ctrl-C stops it.\n"
    )
    sys.stdout.flush()


async def run_jobs(settings: Settings, conninfo: str) -> None:
    """Run jobs until cancelled."""
    concurrency = settings.worker_concurrency
    pool = Pool(conninfo, Limits(concurrency + 1, settings.statement_timeout_seconds))
    async with models(settings) as (model, tool_model):
        try:
            todo = jobs(settings, pool, model, tool_model)
            await worker.run(pool.open, lambda: connector(conninfo, concurrency + 1), todo, concurrency)
        finally:
            await pool.close()


def jobs(settings: Settings, pool: Pool, model: Model | None, tool_model: Model | None) -> Work:
    reader = Reader()
    compactor = _compactor(settings, pool, reader, model)
    extractor = Extractor(PostgresMemories(pool), PostgresProfiles(pool), reader, model)
    return Work(compactor, PostgresTasks(pool, reader), PostgresQueue(pool), tool_model, _now, extractor)


def _compactor(settings: Settings, pool: Pool, reader: Reader, model: Model | None) -> Compactor:
    pace = Pace(
        settings.compact_window_messages,
        settings.compact_tail_messages,
        timedelta(seconds=settings.compact_silence_seconds),
    )
    return Compactor(PostgresSummaries(pool, reader), model, pace)


def extract_all(settings: Settings, show: Callable[[int, int], None], *, backfill: bool) -> tuple[int, int]:
    """Read every conversation that waits for it; return how many, and how many memories were made."""
    with lend(settings.home, settings.database_url) as conninfo:
        migrate.migrate(conninfo)
        with migrate.owner(conninfo) as conn:
            waiting = unread(conn, backfill=backfill)
        return len(waiting), asyncio.run(_extract_all(settings, conninfo, waiting, show))


async def _extract_all(
    settings: Settings, conninfo: str, waiting: Sequence[tuple[UUID, UUID]], show: Callable[[int, int], None]
) -> int:
    pool = Pool(conninfo, WORKER_LIMITS)
    await pool.open()
    made = 0
    try:
        async with models(settings) as (model, _):
            extractor = Extractor(PostgresMemories(pool), PostgresProfiles(pool), Reader(), model)
            for done, (tenant_id, conversation_id) in enumerate(waiting):
                show(done, len(waiting))
                made += await extractor.extract(everything_in(tenant_id), conversation_id)
        show(len(waiting), len(waiting))
        return made
    finally:
        await pool.close()


@asynccontextmanager
async def models(settings: Settings) -> AsyncIterator[tuple[Model | None, Model | None]]:
    """Make the client of the language model, and that for the sentences of tool calls; None where none is set."""
    async with contextlib.AsyncExitStack() as stack:
        made: list[chat.Chat | None] = []
        for url, name in (
            (settings.llm_url, settings.llm_model),
            (settings.tool_synth_endpoint or settings.llm_url, settings.tool_synth_model or settings.llm_model),
        ):
            key = settings.llm_key.get_secret_value() if settings.llm_key and url == settings.llm_url else None
            limits = (settings.llm_context_tokens, settings.llm_timeout_seconds)
            endpoint = chat.Endpoint(str(url), name, key, *limits) if url else None
            made.append(await stack.enter_async_context(chat.Chat(endpoint)) if endpoint else None)
        yield made[0], made[1]


async def _serve(settings: Settings, conninfo: str, cluster: Cluster | None, listener: socket.socket) -> None:
    stopping = _on_signals()
    beside_it = beside(lambda: run_jobs(settings, conninfo), WORKER_STOP_SECONDS)
    with beside_it if settings.worker else contextlib.nullcontext(lambda: None) as stop_jobs:
        await _serve_requests(settings, conninfo, cluster, listener, _Stop(stopping, stop_jobs))


async def _serve_requests(
    settings: Settings, conninfo: str, cluster: Cluster | None, listener: socket.socket, stop: "_Stop"
) -> None:
    async with services(settings, conninfo) as made, _running(_keep_up(cluster)):
        config = uvicorn.Config(
            create_app(made), log_config=None, access_log=False, lifespan="off", server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS, backlog=BACKLOG, proxy_headers=False,
        )  # fmt: skip
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        waiting = asyncio.create_task(stop.asked.wait())
        _greet(settings, listener)
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        stop.jobs()
        server.should_exit = True
        waiting.cancel()
        await serving


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
    async with _worker(conninfo, models.all):
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


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something beside what is inside, until that ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _sweep(pool: Pool) -> None:
    """Free working memory that expired, now and then; nobody can read it any more in the meantime."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            freed = await sweep(pool, _now())
        except KeepwordError as exc:
            _log.warning("sweep failed, the next one will do its work", reason=str(exc))
        else:
            _log.info("swept working memory", freed=freed)


async def _keep_up(cluster: Cluster | None) -> None:
    """Start the embedded database again when it dies under us; until then requests get 503."""
    while cluster:
        await asyncio.sleep(WATCH_SECONDS)
        if not cluster.is_running():
            _log.warning("database died, starting it again")
            try:
                await asyncio.to_thread(cluster.launch)
            except StartError as exc:
                _log.error("database does not start", reason=str(exc))
            except asyncio.CancelledError:
                cluster.abandon()  # the loop's end waits for the thread
                raise
