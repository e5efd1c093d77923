"""What a worker does for erasures: it goes on with those that run, and ends those whose rows are gone."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from keepword.erasure.erase import BATCH_MESSAGES, EraseStores, advance, expire
from keepword.erasure.ports import ErasureStep, OutsideStore
from keepword.errors import TookTooLong

# rewrites what the database's files hold of rows that are gone; False: somebody still reads them, so later again
RewriteFiles = Callable[[], Awaitable[bool]]


@dataclass(slots=True)
class Due:
    """When to look for messages that expired: to look reads the oldest of each tenant that lets them expire."""

    every_seconds: float = 600
    next_at: float = 0

    def is_now(self) -> bool:
        now = time.monotonic()
        if now < self.next_at:
            return False
        self.next_at = now + self.every_seconds
        return True


# for one message, or the rest of a tenant, which is no batch
LONGEST_SECONDS = 600
# so many batches in a row that were fast enough let the next ones be larger
STEADY_BATCHES = 20
# each batch waits for locks and for the disk once. One that takes less than the first is followed by a larger one, one
# that takes more than the second by a smaller one: appends to the conversation wait for it
FAST_SECONDS, SLOW_SECONDS = 0.4, 1.0
MOST_MESSAGES = 16 * BATCH_MESSAGES
# erases so many messages within so many seconds; None: within those that any statement has
Step = Callable[[int, float | None], Awaitable[ErasureStep | None]]

_log = structlog.get_logger()


@dataclass(slots=True)
class Pace:
    """How much is erased at once: less after a batch that took too long, and more again after many that did not."""

    messages: int = BATCH_MESSAGES
    seconds: float | None = None
    steady: int = 0
    clock: Callable[[], float] = time.monotonic

    async def take(self, step: Step) -> ErasureStep | None:
        """Take a step. Raises TookTooLong where one message alone takes longer than the longest limit."""
        while True:
            began = self.clock()
            try:
                done = await step(self.messages, self.seconds)
            except TookTooLong:
                if self.seconds is not None:
                    raise
                self._slow_down()
                continue
            if done is not None:
                self._keep_up(self.clock() - began)
            return done

    def _slow_down(self) -> None:
        self.steady = 0
        if self.messages > 1:
            self.messages //= 2
        else:
            self.seconds = LONGEST_SECONDS
        _log.warning("a batch of an erasure took too long", messages=self.messages, seconds=self.seconds)

    def _keep_up(self, seconds: float) -> None:
        if self.messages < BATCH_MESSAGES:
            self._recover()
        elif seconds < FAST_SECONDS:
            self.messages = min(MOST_MESSAGES, self.messages * 2)
        elif seconds > SLOW_SECONDS:
            self.messages = max(BATCH_MESSAGES, self.messages // 2)

    def _recover(self) -> None:
        self.steady += 1
        if self.steady >= STEADY_BATCHES:
            self.steady, self.seconds, self.messages = 0, None, min(BATCH_MESSAGES, self.messages * 2)


@dataclass(frozen=True, slots=True)
class Eraser:
    stores: EraseStores
    rewrite: RewriteFiles
    outside: OutsideStore | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    due: Due = field(default_factory=Due)
    pace: Pace = field(default_factory=Pace)

    async def work_off(self) -> int:
        """Do all that is to be done; return how many erasures ended."""
        while await self.pace.take(self._advance) is not None:
            pass
        if self.due.is_now():
            while await self.pace.take(self._expire) is not None:
                pass
        scopes = await self.stores.queue.erased()
        if not scopes:
            return 0
        if self.outside is not None:
            for scope in scopes:
                await self.outside.wipe(scope)
        if not await self.rewrite():
            return 0
        for scope in scopes:
            await self.stores.queue.finish(scope)
        return len(scopes)

    async def _advance(self, messages: int, seconds: float | None) -> ErasureStep | None:
        return await advance(self.stores, None, messages, seconds)

    async def _expire(self, messages: int, seconds: float | None) -> ErasureStep | None:
        return await expire(self.stores, self.clock(), messages, seconds)
