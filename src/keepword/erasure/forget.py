"""Lets a process forget what it keeps of texts in memory, after something was erased anywhere."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import structlog

from keepword import allocator
from keepword.erasure.ports import ErasureQueue
from keepword.errors import KeepwordError

LOOK_SECONDS = 2.0
_CACHE = type(lru_cache(maxsize=1)(str))

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Looks whether something was erased since, and then calls what forgets; every process runs one."""

    queue: ErasureQueue
    # on the loop, whose caches are of no other thread
    clear: Sequence[Callable[[], object]] = ()
    # in a thread: these wait
    end: Sequence[Callable[[], object]] = ()
    look_seconds: float = LOOK_SECONDS

    async def run(self) -> None:
        """Run until cancelled."""
        seen, is_first = None, True
        while True:
            try:
                last = await self.queue.last()
                if last != seen and not is_first:
                    for clear in self.clear:
                        clear()
                    await asyncio.to_thread(self._forget)
                seen, is_first = last, False
            except KeepwordError as exc:
                _log.warning("could not ask what was erased, asking again", reason=str(exc))
            await asyncio.sleep(self.look_seconds)

    def _forget(self) -> None:
        for end in self.end:
            end()
        clear_text_caches()
        gc.collect()
        allocator.give_back()


def clear_text_caches() -> int:
    """Empty every cache of a function that has a limit, and return how many: those hold texts, the others tables."""
    caches = [one for one in gc.get_objects() if isinstance(one, _CACHE) and one.cache_parameters()["maxsize"]]
    for one in caches:
        one.cache_clear()
    return len(caches)
