"""Wires the services that the routes call, and the background tasks: adapters meet packages here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import structlog

from keepword import preload, redis, service_report
from keepword.access import Place
from keepword.access.keys import StoredKey
from keepword.access.settings import QUOTAS
from keepword.background import background_task, compactor, embedders, embedding, models, quotas
from keepword.compose import Composer, InlineCompactor, TemplateLoader, TurnStores
from keepword.compose.kept_turns import TurnLog
from keepword.compose.shown_turn import TurnReader
from keepword.config import Settings
from keepword.embedding import TextIndexer, text_indexer
from keepword.embedding.embedders import Embedders
from keepword.erasure.forget import Forgetting
from keepword.errors import KeepwordError
from keepword.http.protected_resource import ResourceSettings
from keepword.http.services import Keys, Services
from keepword.items import Items
from keepword.jobs.reading_process import ReadingProcess
from keepword.listening import is_loopback
from keepword.llm.port import Model
from keepword.memories.trial import ExtractionTrials
from keepword.model import Key
from keepword.period import Calendar, utc_now
from keepword.postgres.agent_files import PostgresFiles
from keepword.postgres.audit import PostgresAudit
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.erasures import PostgresErasureQueue, PostgresErasures, PostgresProcesses
from keepword.postgres.facts import PostgresFacts
from keepword.postgres.files import PostgresFileTrees
from keepword.postgres.history_imports import PostgresImports
from keepword.postgres.history_imports import sweep as sweep_imports
from keepword.postgres.items import PostgresItems
from keepword.postgres.items import sweep as sweep_items
from keepword.postgres.keys import PostgresKeys
from keepword.postgres.log_position import replica_reads, stay_on_primary
from keepword.postgres.memories import PostgresMemories
from keepword.postgres.memories import sweep as sweep_memories
from keepword.postgres.personal import PostgresPersonalData
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.queue import PostgresFailedWork
from keepword.postgres.quotas import MEGABYTE, PostgresQuotas
from keepword.postgres.recall import PostgresIndex, PostgresSpaces
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.replicas import CHECKOUT_SECONDS, Replicas
from keepword.postgres.retractions import PostgresRetractions
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.sources import PostgresSources
from keepword.postgres.stats import PostgresCounts
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.turns import PostgresTurns
from keepword.postgres.turns import sweep as sweep_turns
from keepword.postgres.webhooks import PostgresWebhooks
from keepword.postgres.webhooks import sweep as sweep_deliveries
from keepword.postgres.working import PostgresBuffer, PostgresFields, PostgresLedger, sweep
from keepword.recall import Recall, Uses
from keepword.recall.deep import ServedModel
from keepword.recall.synthesize import Synthesizer
from keepword.stats import StatsReader
from keepword.working import WorkingStores

_log = structlog.get_logger()

SWEEP_SECONDS = 600
DELIVERY_DAYS = 7
# a model gets this share of a request's time for an answer: the rest is for sending the hits
ANSWER_SHARE = 0.8
# a trial waits for its turn first
TRIAL_SHARE = 0.5
# an import stores several conversations at once; its statements may wait for those of requests
IMPORT_CONNECTIONS = 6
IMPORT_STATEMENT_SECONDS = 60
# between requests and the background: what it stores is searchable before the graphs of vectors have it
IMPORT_NICE = 5


@dataclass(frozen=True, slots=True)
class Shared:
    """What a process has once, however many database servers it uses: models, and the children that read texts."""

    deep: Embedders
    model: Model | None
    reading: ReadingProcess
    texts: ReadingProcess


@asynccontextmanager
async def shared(settings: Settings) -> AsyncIterator[Shared]:
    reading, texts = ReadingProcess(), ReadingProcess()
    try:
        async with aclosing(embedders(settings)) as deep, models(settings) as (model, _):
            yield Shared(deep, model, reading, texts)
    finally:
        reading.close()
        texts.close()


@asynccontextmanager
async def services(
    settings: Settings, conninfo: str, pool_type: type[Pool] = Pool, *, forgets: bool = True
) -> AsyncIterator[Services]:
    """Put together all that the routes call, and run what goes on in the background.

    Without `forgets` somebody else sees to it that the process forgets what was erased, by ending it.
    """
    async with shared(settings) as parts:
        replicas = _replicas(settings)
        pool = pool_type(conninfo, limits_of(settings), replicas)
        async with database_services(settings, conninfo, parts, pool, replicas, forgets=forgets) as put_together:
            yield put_together


def limits_of(settings: Settings) -> Limits:
    return Limits(settings.pool_size, settings.statement_timeout_seconds, has_lanes=True)


@asynccontextmanager
async def database_services(
    settings: Settings,
    conninfo: str,
    parts: Shared,
    pool: Pool,
    replicas: Replicas | None = None,
    *,
    found: asyncio.Event | None = None,
    forgets: bool = True,
) -> AsyncIterator[Services]:
    """Put together what the routes call for the tenants of one database.

    With `found`, an event that is set once the database answers, nothing waits for that but what loads the first turn.
    """
    deep, reading, texts = parts.deep, parts.reading, parts.texts
    try:
        await pool.open(wait=found is None)
        async with (
            working(settings, pool) as working_memory,
            aclosing(ScopeCache(pool, settings.copies_mb * 2**20)) as cache,
        ):
            index = PostgresIndex(pool, cache if settings.copies_mb else None)
            put_together = _services(settings, conninfo, pool, working_memory, deep, index)
            put_together = _with_options(put_together, settings, conninfo, parts.model)
            inline = InlineCompactor(
                compactor(settings, pool, text_indexer(), parts.model, reading), begin=stay_on_primary
            )
            composer = replace(put_together.composer, inline=inline, run=texts)
            put_together = replace(put_together, composer=composer, run=texts)
            # nobody outside is asked for a turn that nobody reads
            loading = preload.Preload(put_together.composer, "best" if settings.embedding == "local" else "fast")
            put_together = replace(put_together, loaded=loading.done)
            forgetting = Forgetting(
                put_together.erasure_queue, (cache.clear,), (pool.drain,),
                (reading.end_child, texts.end_child, deep.forget),
            )  # fmt: skip
            async with (
                background_task(_load(loading, found)),
                background_task(put_together.uses.run()),
                background_task(forgetting.run()) if forgets else nullcontext(),
                background_task(put_together.turn_log.run()),
                background_task(replicas.watch(pool)) if replicas else nullcontext(),
                _background(settings, conninfo, deep, wait=found is None, forgets=forgets),
            ):
                yield put_together
            await put_together.uses.flush()
            await put_together.turn_log.flush()
    finally:
        await asyncio.gather(pool.close(), replicas.close() if replicas else asyncio.sleep(0))


async def _load(loading: preload.Preload, found: asyncio.Event | None) -> None:
    if found is not None:
        await found.wait()
    await loading.run()


def _replicas(settings: Settings) -> Replicas | None:
    if not settings.replica_urls:
        return None
    limits = Limits(settings.pool_size, settings.statement_timeout_seconds, CHECKOUT_SECONDS, has_lanes=True)
    return Replicas([url.get_secret_value() for url in settings.replica_urls], limits)


@asynccontextmanager
async def import_services(settings: Settings, conninfo: str) -> AsyncIterator[Services]:
    """Put together what an import of a history calls: no model is loaded, and no request waits for it.

    What it stored is on disk once it was noted: that commit is waited for, and comes later. Redis knows nothing of that
    order, and must not keep what a machine lost.
    """
    waits = settings.redis_url is not None
    limits = Limits(IMPORT_CONNECTIONS, IMPORT_STATEMENT_SECONDS, nice=IMPORT_NICE, waits_for_disk=waits)
    pool = Pool(conninfo, limits)
    try:
        await pool.open()
        async with working(settings, pool) as working_memory:
            index = PostgresIndex(pool, None)
            put_together = _services(settings, conninfo, pool, working_memory, Embedders(()), index)
            yield _with_options(put_together, settings, conninfo, None)
    finally:
        await pool.close()


@asynccontextmanager
async def working(settings: Settings, pool: Pool) -> AsyncIterator[WorkingStores]:
    """Put together working memory, ledger and buffer; an absent Redis does not keep Keepword from starting."""
    if settings.redis_url is None:
        async with background_task(_sweep(pool, settings.turns_days)):
            yield WorkingStores(PostgresFields(pool, utc_now), PostgresLedger(pool), PostgresBuffer(pool))
        return
    async with (
        background_task(_sweep(pool, settings.turns_days, has_working_memory=False)),
        redis.working_stores(settings.redis_url.get_secret_value(), PostgresBuffer(pool)) as stores,
    ):
        yield stores


def _services(
    settings: Settings, conninfo: str, pool: Pool, working_memory: WorkingStores, deep: Embedders, index: PostgresIndex
) -> Services:
    reader = text_indexer()
    calendar = Calendar(utc_now, settings.timezone)
    served = ServedModel(PostgresSpaces(pool), deep)
    recall = Recall(index, reader.table, served, calendar)
    uses = Uses(index)
    turns, sources = PostgresTurns(pool), PostgresSources(pool)
    layers = _turn_stores(pool, reader, recall, working_memory)
    return Services(
        keys=PostgresKeys(pool),
        managed_keys=PostgresKeys(pool),
        lookup=PostgresPlaceLookup(pool),
        transcript=PostgresTranscript(pool),
        reader=reader,
        conversations=PostgresConversations(pool),
        registry=PostgresRegistry(pool),
        audit=PostgresAudit(pool),
        webhooks=PostgresWebhooks(pool),
        working=working_memory,
        recall=recall,
        stats=StatsReader(PostgresCounts(pool)),
        failed_work=PostgresFailedWork(pool),
        uses=uses,
        sources=sources,
        facts=layers.facts,
        profiles=layers.profiles,
        summaries=layers.summaries,
        landmarks=layers.landmarks,
        memories=PostgresMemories(pool),
        retractions=PostgresRetractions(pool),
        erasures=PostgresErasures(pool),
        erasure_queue=PostgresErasureQueue(pool),
        processes=PostgresProcesses(pool),
        personal=PostgresPersonalData(pool),
        files=layers.files,
        trees=PostgresFileTrees(pool),
        items=Items(PostgresItems(pool), reader.table, served),
        composer=Composer(layers, TemplateLoader(settings.home / "templates"), uses.note, utc_now, settings.timezone),
        imports=PostgresImports(pool),
        turns=turns,
        turn_log=TurnLog(turns, keeps=settings.turns_days > 0),
        turn_reader=TurnReader(layers, sources),
        clock=utc_now,
        calendar=calendar,
        is_ready=pool.is_ready,
        pool_stats=pool.stats,
        depths=PostgresBacklog(pool, conninfo).depths,
        replica_reads=replica_reads,
        quotas=PostgresQuotas(pool, quotas(settings), utc_now),
        keyless=is_loopback(settings.host),
        request_timeout_seconds=settings.request_timeout_seconds,
    )


def _turn_stores(pool: Pool, reader: TextIndexer, recall: Recall, working_memory: WorkingStores) -> TurnStores:
    return TurnStores(
        recall, PostgresFacts(pool), PostgresProfiles(pool), PostgresLandmarks(pool, reader),
        PostgresSummaries(pool, reader), working_memory,
        PostgresRegistry(pool), PostgresFiles(pool), pool.together,
    )  # fmt: skip


def _with_options(put_together: Services, settings: Settings, conninfo: str, model: Model | None) -> Services:
    """Add what the settings allow, and what a model answers where there is one."""
    seconds = settings.request_timeout_seconds
    return replace(
        put_together,
        imports_bytes=settings.imports_mb * MEGABYTE,
        default_quotas={name: getattr(settings, name) for name in QUOTAS},
        metrics_for_anyone=settings.metrics == "anyone",
        resource=ResourceSettings(
            str(settings.public_url) if settings.public_url else None, tuple(map(str, settings.oauth_servers))
        ),
        report=partial(asyncio.to_thread, service_report.make, settings, conninfo),
        synthesizer=Synthesizer(model, ANSWER_SHARE * seconds) if model else None,
        trials=ExtractionTrials(model, TRIAL_SHARE * seconds, keeps_secrets=settings.secrets == "keep"),
    )


@asynccontextmanager
async def _background(
    settings: Settings, conninfo: str, models: Embedders, *, wait: bool, forgets: bool
) -> AsyncIterator[None]:
    if not settings.worker:
        yield
        return
    async with embedding(conninfo, models.all, quotas(settings), wait=wait, forgets=forgets):
        yield


async def _sweep(pool: Pool, turns_days: int, *, has_working_memory: bool = True) -> None:
    """Free working memory, composed turns and items, and end memories, that expired, now and then."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            freed = await sweep(pool, utc_now()) if has_working_memory else 0
            ended = await sweep_memories(pool)
            items = await sweep_items(pool)
            turns = await sweep_turns(pool, utc_now() - timedelta(days=turns_days))
            uploads = await sweep_imports(pool, utc_now())
            await sweep_deliveries(pool, utc_now() - timedelta(days=DELIVERY_DAYS))
        except KeepwordError as exc:
            _log.warning("sweep failed, retrying with the next one", reason=str(exc))
        else:
            swept = {"working_memories": freed, "memories": ended, "turns": turns, "items": items, "uploads": uploads}
            _log.info("what expired was swept", **swept)


@dataclass(frozen=True, slots=True)
class OwnerCalls:
    """Whoever opens the database needs no key to be its owner; a key that is sent still counts."""

    services: Services
    keys: Keys
    owner: Key

    async def find(self, key_id: str, external_id: str | None) -> tuple[StoredKey, Place | None] | None:
        return await self.keys.find(key_id, external_id)

    async def keyless(self, external_id: str | None) -> tuple[Key, Place | None] | None:
        place = await self.services.lookup.place(self.owner.tenant_id, external_id) if external_id else None
        return self.owner, place
