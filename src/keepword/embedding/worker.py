"""The vector worker: adds new entries to the instant index, and fills the deep spaces, newest first."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from keepword.embedding.ports import Backlog, ChunkVector, Claim, Embedder, Meter
from keepword.errors import InvalidInput, KeepwordError, Unavailable

_log = structlog.get_logger()

# two loops for each embedder: while one waits for the database, the other embeds
LOOPS_PER_EMBEDDER = 2
RELEASE_SECONDS = 0.5
CANCEL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class WorkerTiming:
    """Batch sizes, polling intervals, and pauses after errors."""

    settle_amount: int = 200
    # nothing waits for the instant index, and a batch costs less than single entries
    settle_pause_seconds: float = 0.2
    # of a processor, for the instant index while a history is imported: each insertion into its graph takes as long as
    # all else that a message needs, and what is not there yet is found by its words, or compared one by one
    import_share: float = 0.2
    flush_seconds: float = 0.5
    claim_amount: int = 32
    # claims of long texts are smaller, so that newer entries do not wait long for them
    claim_seconds: float = 1.5
    # longer than the longest texts take on a busy machine; after a crash the claims expire
    lease_seconds: float = 300
    sweep_seconds: float = 2
    attempts: int = 3
    retry_seconds: float = 10
    trouble_seconds: float = 1
    max_trouble_seconds: float = 60


class Worker:
    def __init__(
        self, backlog: Backlog, embedders: Sequence[Embedder], meter: Meter, timing: WorkerTiming | None = None
    ) -> None:
        self._backlog = backlog
        self._embedders = embedders
        self._meter = meter
        self._timing = timing or WorkerTiming()
        self._sleepers: set[asyncio.Event] = set()

    async def run(self) -> None:
        """Run until cancelled; errors are logged and retried."""
        hands = [
            _SpaceWorker(self._backlog, embedder, self._meter, self._timing)
            for embedder in self._embedders
            for _ in range(LOOPS_PER_EMBEDDER)
        ]
        steps = [self._listen, self._index_instant, *(hand.work for hand in hands)]
        tasks = {asyncio.create_task(self._repeat(step)) for step in steps}
        try:
            await asyncio.wait(tasks)
        finally:
            await _cancel(tasks)
            await asyncio.gather(*(hand.release() for hand in hands))

    async def _index_instant(self) -> bool:
        began = time.monotonic()
        settled = await self._backlog.settle(self._timing.settle_amount)
        if settled:
            await self._rest(settled, time.monotonic() - began)
        return settled > 0

    async def _rest(self, settled: int, took: float) -> None:
        if await self._backlog.is_importing():
            await self._give_way(max(self._timing.settle_pause_seconds, took / self._timing.import_share - took))
        elif settled < self._timing.settle_amount:
            await asyncio.sleep(self._timing.settle_pause_seconds)

    async def _give_way(self, seconds: float) -> None:
        """Leave the processor to an import; its words are moved into the index meanwhile."""
        while seconds > 0:
            await asyncio.sleep(min(seconds, self._timing.flush_seconds))
            await self._backlog.flush()
            seconds -= self._timing.flush_seconds

    async def _repeat(self, step: Callable[[], Awaitable[bool]]) -> None:
        """Repeat a step while there is work; then sleep until an append wakes it, or until the next poll.

        While a history is imported, appends wake nobody.
        """
        trouble = 0
        while True:
            started = time.monotonic()
            try:
                if not await step():
                    await self._sleep(step)
                trouble = 0
            except Exception as exc:  # noqa: BLE001 - the worker's loop: whatever happens, it goes on
                _warn(exc)
                went_well = time.monotonic() - started > self._timing.max_trouble_seconds
                trouble = 1 if went_well else trouble + 1
                await asyncio.sleep(self._pause(trouble))

    async def _sleep(self, step: Callable[[], Awaitable[bool]]) -> None:
        woken = asyncio.Event()
        self._sleepers.add(woken)
        try:
            # an import would wake every loop with each append, for work that waits for its end
            if not await self._backlog.is_importing():
                await self._backlog.sleep()
            # entries appended between our last check and setting the flag send no NOTIFY: check once more
            if not await step():
                # not wait_for: before Python 3.12 it loses a cancellation that comes with the wake-up
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._timing.sweep_seconds):
                        await woken.wait()
        finally:
            self._sleepers.discard(woken)

    async def _listen(self) -> bool:
        """Listen for NOTIFY and wake sleeping loops. Optional: polling finds the work as well."""
        async for _ in self._backlog.wakes():
            for sleeper in self._sleepers:
                sleeper.set()
        raise Unavailable("the database connection that listens for appends was closed")

    def _pause(self, trouble: int) -> float:
        longest = min(self._timing.max_trouble_seconds, self._timing.trouble_seconds * 2.0 ** min(trouble - 1, 20))
        # jitter: several workers must not retry at the same moment
        return longest * random.uniform(0.5, 1)  # noqa: S311


class _SpaceWorker:
    """Fills one space: claims entries, embeds them outside any transaction, stores the vectors."""

    def __init__(self, backlog: Backlog, embedder: Embedder, meter: Meter, timing: WorkerTiming) -> None:
        self._backlog = backlog
        self._embedder = embedder
        self._meter = meter
        self._timing = timing
        self._name = ""
        self._space: int | None = None
        self._claiming: asyncio.Future[list[Claim]] | None = None
        self._amount = timing.claim_amount

    async def work(self) -> bool:
        """Embed some entries; False if there was nothing to do. Raises Unavailable while the embedder is."""
        if self._space is None:
            space = await self._embedder.space()
            self._name, self._space = space.name, await self._backlog.open(space)
        # shielded: if we are stopped during the claim, we must know it, to release it
        claiming = asyncio.ensure_future(self._backlog.claim(self._space, self._amount, self._timing.lease_seconds))
        try:
            claims = await asyncio.shield(claiming)
            if claims:
                started = time.monotonic()
                await self._fill(self._space, claims)
                took = time.monotonic() - started
                self._adapt(len(claims) / took)
                await self._backlog.note_time(claims, took)
        except asyncio.CancelledError:
            self._claiming = claiming
            raise
        return bool(claims)

    def _adapt(self, entries_a_second: float) -> None:
        fitting = round(entries_a_second * self._timing.claim_seconds)
        self._amount = max(1, min(fitting, 2 * self._amount, self._timing.claim_amount))

    async def _fill(self, space: int, claims: Sequence[Claim]) -> None:
        texts = await self._backlog.texts(claims)
        if lost := [claim for claim in claims if claim not in texts]:
            await self._give_up(space, lost, "there is no text to embed")
        chunks = await self._chunks(texts)
        try:
            vectors = await self._embed(chunks)
        except InvalidInput as exc:
            if len(texts) == 1:
                await self._give_up(space, list(texts), str(exc))
            else:
                await self._fill_one_by_one(space, [claim for claim in claims if claim in texts])
        except Exception as exc:
            # while the embedder is down, probe with one entry per claim, so that an outage uses up few attempts
            self._amount = 1
            await self._give_up(space, list(texts), str(exc) or type(exc).__name__)
            raise
        else:
            if vectors:
                await self._store(space, vectors)
                self._meter.embedded(self._name, len(vectors))

    async def _fill_one_by_one(self, space: int, claims: Sequence[Claim]) -> None:
        """Embed claims one by one, so that a text that can't be embedded does not fail the others."""
        for claim in claims:
            await self._fill(space, [claim])

    async def _chunks(self, texts: dict[Claim, str]) -> list[tuple[Claim, int, str]]:
        split_texts = await self._embedder.split(list(texts.values()))
        return [
            (claim, part, chunk)
            for claim, chunks in zip(texts, split_texts, strict=True)
            for part, chunk in enumerate(chunks)
        ]

    async def _embed(self, chunks: Sequence[tuple[Claim, int, str]]) -> list[ChunkVector]:
        vectors = await self._embedder.embed([chunk for _, _, chunk in chunks]) if chunks else []
        return [ChunkVector(claim, part, vector) for (claim, part, _), vector in zip(chunks, vectors, strict=True)]

    async def _store(self, space: int, vectors: Sequence[ChunkVector]) -> None:
        """Store vectors; retry during a restart of the database, so that nothing is embedded twice."""
        for _ in range(20):
            try:
                await self._backlog.store(space, vectors)
            except Unavailable as exc:
                _warn(exc)
                await asyncio.sleep(self._timing.trouble_seconds)
            else:
                return
        raise Unavailable("the database did not come back; these entries are embedded again later")

    async def _give_up(self, space: int, claims: Sequence[Claim], reason: str) -> None:
        if claims:
            self._meter.failed(self._name, len(claims))
            await self._backlog.give_up(space, claims, reason, self._timing.attempts, self._timing.retry_seconds)

    async def release(self) -> None:
        """Release the claims that were held when the worker was stopped."""
        if self._claiming is None or self._space is None:
            return
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                if claims := await self._claiming:
                    await self._backlog.release(self._space, claims)
        except (KeepwordError, TimeoutError) as exc:
            _log.info("claims were not released; they expire with their lease", reason=repr(exc))


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel until it is done: before Python 3.12 the driver may lose a cancellation that comes with an answer."""
    pending = tasks
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)


def _warn(exc: Exception) -> None:
    if isinstance(exc, KeepwordError):
        _log.warning("vector worker waits", reason=str(exc))
    else:
        _log.error("vector worker failed, retrying", exc_info=exc)
