"""What a worker does for erasures: it goes on with those that run, and ends those whose rows are gone."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from keepword.erasure.erase import EraseStores, advance
from keepword.erasure.ports import OutsideStore

# rewrites what the database's files hold of rows that are gone; False: somebody still reads them, so later again
RewriteFiles = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Eraser:
    stores: EraseStores
    rewrite: RewriteFiles
    outside: OutsideStore | None = None

    async def work_off(self) -> int:
        """Do all that is to be done; return how many erasures ended."""
        while await advance(self.stores, None) is not None:
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
