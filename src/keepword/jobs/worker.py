"""The job worker: runs jobs, enqueues due work every second, and takes over the jobs of dead workers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import structlog
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.jobs import Job

from keepword.access import Grant, Viewer, WholeTenant, grant
from keepword.compaction.compact import Compactor, describe_tool_calls, find_landmarks
from keepword.compaction.ports import Tasks
from keepword.erasure.eraser import Eraser
from keepword.errors import KeepwordError, OverQuota, WorkStopped
from keepword.llm.port import Model
from keepword.memories.operations import BATCH_MESSAGES, Extractor
from keepword.slices import Runner, in_thread

QUEUE = "keepword"
TASKS = ("compact", "describe", "extract", "landmark", "recompact")
SWEEP_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0
# a worker without a heartbeat for this long is dead, and its jobs are taken over
STALLED_SECONDS = 20.0
RESTART_SECONDS = 1.0
STOP_SECONDS = 0.3
ATTEMPTS = 3
# messages are read for memories after this much silence, so that one job reads a whole exchange
EXCHANGE_SILENCE = timedelta(seconds=3)
# in a busy place they are read after this long without silence
LONGEST_WAIT = timedelta(seconds=30)
RETRY_SECONDS = 5
QUOTA_SECONDS = 600

_log = structlog.get_logger()


class _Retry(BaseRetryStrategy):
    """Three attempts. A shutdown or a quota does not count; a text that took too long is not tried again."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_in={"seconds": 0})
        if isinstance(exception, OverQuota):
            # a quota may be raised before midnight
            return RetryDecision(retry_in={"seconds": min(exception.retry_after_seconds, QUOTA_SECONDS)})
        if isinstance(exception, WorkStopped):
            return None  # the same text would take as long again
        return RetryDecision(retry_in={"seconds": RETRY_SECONDS}) if job.attempts + 1 < ATTEMPTS else None


class Queue(Protocol):
    async def enqueue(self, at: datetime, due_messages: int, silence: timedelta) -> int: ...

    async def enqueue_exchanges(self, at: datetime, silence: timedelta, longest: timedelta, many: int) -> int: ...

    async def balance_tenants(self) -> int: ...

    async def waiting(self) -> int: ...

    async def reclaim(self, after_seconds: float) -> int: ...

    async def note(self, tenant_id: UUID, conversation_id: UUID, task: str, error: str | None) -> None: ...


class BackgroundQuotas(Protocol):
    async def require_background(self, tenant_id: UUID) -> None:
        """Raise OverQuota if the tenant has used up today's background time."""
        ...

    async def note_background(self, seconds: Mapping[UUID, float]) -> None: ...


@dataclass(frozen=True, slots=True)
class JobHandlers:
    """The handlers of all tasks. Each job runs under the grant of its own tenant's owner."""

    compactor: Compactor
    tasks: Tasks
    queue: Queue
    tool_model: Model | None
    clock: Callable[[], datetime]
    extractor: Extractor | None = None
    quotas: BackgroundQuotas | None = None
    run: Runner = in_thread
    eraser: Eraser | None = None

    async def compact(self, grant: Grant, conversation_id: UUID) -> int:
        return await self.compactor.compact(grant, conversation_id, self.clock())

    async def describe(self, grant: Grant, conversation_id: UUID) -> int:
        return await describe_tool_calls(self.tasks, grant, conversation_id, self.tool_model)

    async def landmark(self, grant: Grant, conversation_id: UUID) -> int:
        return await find_landmarks(
            self.tasks, grant, conversation_id, self.run, keeps_secrets=self.compactor.keeps_secrets
        )

    async def recompact(self, grant: Grant, conversation_id: UUID) -> int:
        return await self.compactor.recompact(grant, conversation_id, self.clock())

    async def extract(self, grant: Grant, conversation_id: UUID) -> int:
        return await self.extractor.extract(grant, conversation_id) if self.extractor else 0

    async def sweep(self) -> int:
        policy, now = self.compactor.policy, self.clock()
        await self.queue.reclaim(STALLED_SECONDS)
        due = await self.queue.enqueue(now, policy.window_messages + policy.tail_messages, policy.silence)
        if self.extractor is not None:
            due += await self.queue.enqueue_exchanges(now, EXCHANGE_SILENCE, LONGEST_WAIT, BATCH_MESSAGES)
        await self.queue.balance_tenants()
        return due


def make_app(connector: PsycopgConnector, work: JobHandlers) -> App:
    app = App(connector=connector)
    for name in TASKS:
        app.task(name=name, queue=QUEUE, retry=_Retry())(
            _job(name, _metered(getattr(work, name), work.quotas), work.queue)
        )
    return app


def _job(name: str, do: Callable[[Grant, UUID], Awaitable[int]], queue: Queue) -> Callable[..., Awaitable[int]]:
    async def run(tenant_id: str, conversation_id: str) -> int:
        tenant, conversation = UUID(tenant_id), UUID(conversation_id)
        try:
            result = await do(grant(Viewer(tenant, "admin"), WholeTenant()), conversation)
        except Exception as exc:
            _log.warning("job failed", task=name, conversation=conversation_id, exc_info=exc)
            await queue.note(tenant, conversation, name, f"{type(exc).__name__}: {exc}")
            raise
        await queue.note(tenant, conversation, name, None)
        _log.debug("job done", task=name, conversation=conversation_id, made=result)
        return result

    return run


def _metered(
    do: Callable[[Grant, UUID], Awaitable[int]], quotas: BackgroundQuotas | None
) -> Callable[[Grant, UUID], Awaitable[int]]:
    """Count a job's time for its tenant; start no job of a tenant that is over its quota."""
    if quotas is None:
        return do

    async def run(grant: Grant, conversation_id: UUID) -> int:
        await quotas.require_background(grant.tenant_id)
        started = time.monotonic()
        try:
            return await do(grant, conversation_id)
        finally:
            await quotas.note_background({grant.tenant_id: time.monotonic() - started})

    return run


async def run(
    prepare: Callable[[], Awaitable[None]],
    make_connector: Callable[[], PsycopgConnector],
    work: JobHandlers,
    concurrency: int,
) -> None:
    """Run until cancelled; after an error, such as a lost database, start again."""
    while True:
        try:
            await prepare()
            await _first_end(_work(make_app(make_connector(), work), concurrency), _sweep(work), _erase(work))
        except Exception as exc:  # noqa: BLE001 - the worker's loop: nothing may end it
            _log.warning("worker stopped, starting it again", reason=repr(exc))
        await asyncio.sleep(RESTART_SECONDS)


async def _first_end(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until one ends, which none should; then cancel the others, and raise its error."""
    tasks = {asyncio.create_task(work) for work in works}
    try:
        result, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in result:
        task.result()


async def run_until_idle(connector: PsycopgConnector, work: JobHandlers, concurrency: int) -> None:
    """Do everything that is due now, and return."""
    async with make_app(connector, work).open_async() as app:
        while await work.sweep() or await work.queue.waiting():
            await app.run_worker_async(wait=False, **_options(concurrency, None))
    if work.eraser is not None:
        await work.eraser.work_off()


async def _work(app: App, concurrency: int) -> None:
    async with app.open_async():
        await app.run_worker_async(wait=True, **_options(concurrency))


async def _sweep(work: JobHandlers) -> None:
    while True:
        try:
            await work.sweep()
        except KeepwordError as exc:
            _log.warning("sweep failed, retrying with the next one", reason=str(exc))
        await asyncio.sleep(SWEEP_SECONDS)


async def _erase(work: JobHandlers) -> None:
    """Go on with erasures: those that a request began, and those that a process that died left behind."""
    while True:
        try:
            if work.eraser is not None:
                await work.eraser.work_off()
        except KeepwordError as exc:
            _log.warning("erasure failed, going on with the next sweep", reason=str(exc))
        await asyncio.sleep(SWEEP_SECONDS)


def _options(concurrency: int, stop_seconds: float | None = STOP_SECONDS) -> Any:
    return {
        "queues": [QUEUE],
        "concurrency": concurrency,
        "delete_jobs": "successful",
        "install_signal_handlers": False,
        "shutdown_graceful_timeout": stop_seconds,
        "update_heartbeat_interval": HEARTBEAT_SECONDS,
        "stalled_worker_timeout": STALLED_SECONDS,
    }
