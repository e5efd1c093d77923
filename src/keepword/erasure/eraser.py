"""What a worker does for erasures: it goes on with those that run, and ends those whose rows are gone."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from keepword.erasure.erase import EraseStores, advance, expire
from keepword.erasure.ports import OutsideStore

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


@dataclass(frozen=True, slots=True)
class Eraser:
    stores: EraseStores
    rewrite: RewriteFiles
    outside: OutsideStore | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    due: Due = field(default_factory=Due)

    async def work_off(self) -> int:
        """Do all that is to be done; return how many erasures ended."""
        while await advance(self.stores, None) is not None:
            pass
        if self.due.is_now():
            while await expire(self.stores, self.clock()) is not None:
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
