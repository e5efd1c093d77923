"""Wires the background work: models, vectors, jobs. A part of the composition root."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import Any
from uuid import UUID

from pydantic import AnyHttpUrl

from keepword import metrics, priority, redis
from keepword.access import everything_in
from keepword.compaction.compact import Compactor
from keepword.compaction.plan import CompactionPolicy
from keepword.config import Settings
from keepword.embedding import TextIndexer, text_indexer
from keepword.embedding.embedders import Embedders
from keepword.embedding.onnx import LocalEmbedder
from keepword.embedding.ports import Embedder
from keepword.embedding.remote import Endpoint, RemoteEmbedder
from keepword.embedding.worker import Worker
from keepword.erasure.erase import EraseStores
from keepword.erasure.eraser import Eraser
from keepword.erasure.forget import Forgetting
from keepword.erasure.ports import OutsideStore
from keepword.erasure.tables import ERASED
from keepword.errors import BadSettings, NotFound, Unavailable
from keepword.jobs import import_folder, imports, worker
from keepword.jobs.imports import ImportOrder
from keepword.jobs.reading_process import ReadingProcess
from keepword.jobs.worker import JobHandlers
from keepword.llm import chat
from keepword.llm.port import Model
from keepword.llm.rate import RequestRate
from keepword.memories.operations import Extractor
from keepword.period import utc_now
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog, make_space, queue_missing, serve_space
from keepword.postgres.embedded import database_for_command
from keepword.postgres.erasures import PostgresErasureQueue, PostgresErasures, rewrite_files
from keepword.postgres.history_imports import PostgresImportQueue
from keepword.postgres.items import PostgresItemBacklog
from keepword.postgres.memories import PostgresMemories, unread
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.queue import PostgresQueue, connector
from keepword.postgres.quotas import MEGABYTE, NO_QUOTAS, PostgresQuotas, Quotas
from keepword.postgres.summaries import PostgresSummaries, PostgresTasks
from keepword.postgres.webhooks import PostgresDeliveries
from keepword.slices import Runner
from keepword.webhooks.deliver import Deliverer
from keepword.webhooks.sender import HttpSender

# a pool of its own, so that requests and the worker do not wait for each other. Custom plans: the tables grow while the
# worker runs, so a cached plan would go stale
WORKER_LIMITS = Limits(connections=4, statement_seconds=60, plans="force_custom_plan", nice=priority.NICE)
FILL_LOOK_SECONDS = 1


@asynccontextmanager
async def models(settings: Settings) -> AsyncIterator[tuple[Model | None, Model | None]]:
    """Make the client of the language model, and that for the sentences of tool calls; None where none is set."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(chat.Chat(endpoint, rate=_rate(endpoint, settings))) if endpoint else None
            for endpoint in endpoints(settings)
        ]
        yield clients[0], clients[1]


def _rate(endpoint: chat.Endpoint, settings: Settings) -> RequestRate | None:
    most = settings.llm_requests_a_minute
    return _rate_of_process(endpoint.url, most) if most else None


@cache
def _rate_of_process(url: str, requests_a_minute: int) -> RequestRate:  # noqa: ARG001 - each address has its own
    """Return the one limit of this address: jobs run in a thread of their own, with clients of their own."""
    return RequestRate(requests_a_minute)


def endpoints(settings: Settings) -> tuple[chat.Endpoint | None, chat.Endpoint | None]:
    """Return where the language model is, and that for the sentences of tool calls; None where none is set."""
    synth_url, synth_model = settings.tool_synth_endpoint or settings.llm_url, settings.tool_synth_model
    return (
        _endpoint(settings, settings.llm_url, settings.llm_model),
        _endpoint(settings, synth_url, synth_model or settings.llm_model),
    )


def _endpoint(settings: Settings, url: AnyHttpUrl | None, model: str) -> chat.Endpoint | None:
    if url is None:
        return None
    # a key is only for the address that it was given for
    key = settings.llm_key.get_secret_value() if settings.llm_key and url == settings.llm_url else None
    return chat.Endpoint(
        str(url), model, key, settings.llm_context_tokens, settings.llm_timeout_seconds, settings.llm_extra_body
    )


def embedders(settings: Settings) -> Embedders:
    match settings.embedding:
        case "none":
            return Embedders(())
        case "local":
            return Embedders((_local(settings),))
        case "remote":
            # the bundled one as well: its space serves until the new one is filled
            return Embedders((_remote(settings), _local(settings)))


def _local(settings: Settings) -> Embedder:
    return LocalEmbedder(settings.embedding_threads, ReadingProcess())


def _remote(settings: Settings) -> Embedder:
    key = settings.embedding_key.get_secret_value() if settings.embedding_key else None
    model = settings.embedding_model or ""
    return RemoteEmbedder(Endpoint(str(settings.embedding_url), model, key, settings.embedding_rate))


@asynccontextmanager
async def embedding(
    conninfo: str,
    embedder_set: Sequence[Embedder],
    limits: Quotas = NO_QUOTAS,
    *,
    wait: bool = True,
    forgets: bool = True,
) -> AsyncIterator[PostgresBacklog]:
    """Run the vector worker during the context. Without `wait`, the database may still be away."""
    pool = Pool(conninfo, WORKER_LIMITS)
    try:
        await pool.open(wait=wait)
        tenant_quotas, meter = PostgresQuotas(pool, limits, utc_now), _MetricsMeter()
        backlog = PostgresBacklog(pool, conninfo, tenant_quotas)
        items = PostgresItemBacklog(pool, conninfo, tenant_quotas)
        forgetting = Forgetting(PostgresErasureQueue(pool), drain=(pool.drain,))
        async with (
            background_task(Worker(backlog, embedder_set, meter).run()),
            background_task(forgetting.run()) if forgets else nullcontext(),
            background_task(Worker(items, embedder_set, meter).run()),
        ):
            yield backlog
    finally:
        await pool.close()


class _MetricsMeter:
    def embedded(self, space: str, texts: int) -> None:
        metrics.TEXTS_EMBEDDED.labels(space).inc(texts)

    def failed(self, space: str, entries: int) -> None:
        metrics.EMBEDDING_FAILURES.labels(space).inc(entries)


async def run_jobs(settings: Settings, conninfo: str, *, forgets: bool = True) -> None:
    """Run jobs until cancelled. `forgets` as in `services`."""
    concurrency = settings.worker_concurrency
    pool = Pool(conninfo, Limits(concurrency + 1, settings.statement_timeout_seconds, nice=priority.NICE))
    async with models(settings) as (model, tool_model), outside_store(settings) as outside:
        reading = ReadingProcess()
        try:
            todo = replace(jobs(settings, pool, model, tool_model, reading), eraser=eraser(pool, conninfo, outside))
            async with (
                background_task(run_imports(settings, conninfo, pool)),
                background_task(_forgetting(pool, reading)) if forgets else nullcontext(),
                _deliveries(settings, pool),
            ):
                await worker.run(pool.open, lambda: connector(conninfo, concurrency + 1), todo, concurrency)
        finally:
            reading.close()
            await pool.close()


async def run_imports(settings: Settings, conninfo: str, pool: Pool) -> None:
    """Run imports of histories until cancelled."""
    order = ImportOrder(settings, conninfo, settings.home / "imports")
    if settings.imports_at_once:
        sweep = partial(import_folder.sweep, order.folder)
        await imports.run(PostgresImportQueue(pool), order, settings.imports_at_once, sweep)


@asynccontextmanager
async def _deliveries(settings: Settings, pool: Pool) -> AsyncIterator[None]:
    """Deliver to webhooks during the context."""
    async with HttpSender(allows_private=settings.webhooks_private) as sender:
        deliverer = Deliverer(PostgresDeliveries(pool), sender, utc_now)
        async with background_task(deliverer.run(pool.open)):
            yield


def jobs(settings: Settings, pool: Pool, model: Model | None, tool_model: Model | None, run: Runner) -> JobHandlers:
    reader = text_indexer()
    extractor = Extractor(PostgresMemories(pool), reader, model, run, keeps_secrets=settings.secrets == "keep")
    conversation_compactor = compactor(settings, pool, reader, model, run)
    limits = PostgresQuotas(pool, quotas(settings), utc_now)
    return JobHandlers(
        conversation_compactor,
        PostgresTasks(pool, reader),
        PostgresQueue(pool),
        tool_model,
        utc_now,
        extractor,
        limits,
        run,
    )


async def _forgetting(pool: Pool, reading: ReadingProcess) -> None:
    await pool.open()
    await Forgetting(PostgresErasureQueue(pool), drain=(pool.drain,), end=(reading.end_child,)).run()


def eraser(pool: Pool, conninfo: str, outside: OutsideStore | None) -> Eraser:
    stores = EraseStores(PostgresErasures(pool), PostgresErasureQueue(pool), PostgresMemories(pool), text_indexer())
    return Eraser(stores, lambda: asyncio.to_thread(rewrite_files, conninfo, ERASED), outside)


@asynccontextmanager
async def outside_store(settings: Settings) -> AsyncIterator[OutsideStore | None]:
    """Lend what keeps working memory, ledger and buffer outside of the database; None if nothing does."""
    if settings.redis_url is None:
        yield None
        return
    async with redis.outside_store(settings.redis_url.get_secret_value()) as store:
        yield store


def quotas(settings: Settings) -> Quotas:
    megabytes = settings.quota_mb
    return Quotas(
        settings.quota_messages,
        None if megabytes is None else megabytes * MEGABYTE,
        settings.quota_background_seconds,
    )


def compactor(settings: Settings, pool: Pool, reader: TextIndexer, model: Model | None, run: Runner) -> Compactor:
    policy = CompactionPolicy(
        settings.compact_window_messages,
        settings.compact_tail_messages,
        timedelta(seconds=settings.compact_silence_seconds),
    )
    return Compactor(PostgresSummaries(pool, reader), model, policy, run=run, keeps_secrets=settings.secrets == "keep")


def fill_space(
    settings: Settings, name: str | None, show: Callable[[int, int], None], *, despite_failures: bool
) -> str:
    """Embed all that has no vector in a space, then let searches use it; return its name. `show(done, of)` is told."""
    with database_for_command(settings.home, settings.main_url) as conninfo:
        migrate.migrate(conninfo)
        return asyncio.run(_fill(settings, conninfo, name, show, despite_failures=despite_failures))


async def _fill(
    settings: Settings, conninfo: str, name: str | None, show: Callable[[int, int], None], *, despite_failures: bool
) -> str:
    async with aclosing(embedders(settings)) as embedder_set:
        embedder = await _choose(embedder_set, name)
        space = await embedder.space()
        number = await asyncio.to_thread(make_space, conninfo, space)
        with migrate.owner(conninfo) as conn:
            async with embedding(conninfo, [embedder]) as backlog:
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


async def _choose(embedder_set: Embedders, name: str | None) -> Embedder:
    if embedder_set.chosen is None:
        raise BadSettings("KEEPWORD_EMBEDDING is 'none': there is no model to embed with; set local or remote")
    if name is None:
        return embedder_set.chosen
    named_embedder = await embedder_set.of(name)
    if named_embedder is None:
        known = ", ".join([(await embedder.space()).name for embedder in embedder_set.all])
        raise NotFound(f"no embedder makes the space {name!r}; with these settings there are: {known}")
    return named_embedder


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


def extract_all(settings: Settings, show: Callable[[int, int], None], *, backfill: bool) -> tuple[int, int]:
    """Read every conversation that waits for it; return how many, and how many memories were made."""
    with database_for_command(settings.home, settings.main_url) as conninfo:
        migrate.migrate(conninfo)
        with migrate.owner(conninfo) as conn:
            waiting = unread(conn, backfill=backfill)
        return len(waiting), asyncio.run(_extract_all(settings, conninfo, waiting, show))


async def _extract_all(
    settings: Settings, conninfo: str, waiting: Sequence[tuple[UUID, UUID]], show: Callable[[int, int], None]
) -> int:
    pool = Pool(conninfo, WORKER_LIMITS)
    await pool.open()
    memory_count = 0
    try:
        async with models(settings) as (model, _):
            extractor = Extractor(
                PostgresMemories(pool), text_indexer(), model, keeps_secrets=settings.secrets == "keep"
            )
            for done, (tenant_id, conversation_id) in enumerate(waiting):
                show(done, len(waiting))
                memory_count += await extractor.extract(everything_in(tenant_id), conversation_id)
        show(len(waiting), len(waiting))
        return memory_count
    finally:
        await pool.close()


@asynccontextmanager
async def background_task(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine during the context, and cancel it at the end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
