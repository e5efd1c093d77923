"""Lets a process forget what it keeps of texts in memory, after something was erased anywhere."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import structlog

from keepword import allocator
from keepword.erasure.ports import ErasureQueue
from keepword.errors import KeepwordError

LOOK_SECONDS = 2.0
# between two cleanings: one takes a second of processor time, and erasures come in bursts
REST_SECONDS = 30.0
_CACHE = type(lru_cache(maxsize=1)(str))

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Looks whether something was erased since, and then calls what forgets; every process runs one."""

    queue: ErasureQueue
    # on the loop, whose caches are of no other thread
    clear: Sequence[Callable[[], object]] = ()
    # connections, which keep what they read last
    drain: Sequence[Callable[[], Awaitable[None]]] = ()
    # in a thread: these wait
    end: Sequence[Callable[[], object]] = ()
    look_seconds: float = LOOK_SECONDS
    rest_seconds: float = REST_SECONDS

    async def run(self) -> None:
        """Run until cancelled."""
        seen, is_first = None, True
        while True:
            try:
                last = await self.queue.last()
                if last != seen and not is_first:
                    await self._forget()
                    await asyncio.sleep(self.rest_seconds)
                seen, is_first = last, False
            except KeepwordError as exc:
                _log.warning("could not ask what was erased, asking again", reason=str(exc))
            await asyncio.sleep(self.look_seconds)

    async def _forget(self) -> None:
        # clean memory first, so that nothing that begins to live now begins in what was said
        for clear in self.clear:
            clear()
        await asyncio.to_thread(self._end)
        with allocator.wiped_blocks():
            for drain in self.drain:
                await drain()
            await asyncio.to_thread(_clean)

    def _end(self) -> None:
        for end in self.end:
            end()
        _clean()


def _clean() -> None:
    clear_text_caches()
    gc.collect()
    allocator.give_back()
    allocator.wipe()


def clear_text_caches() -> int:
    """Empty every cache of a function that has a limit, and return how many: those hold texts, the others tables."""
    caches = [one for one in gc.get_objects() if isinstance(one, _CACHE) and one.cache_parameters()["maxsize"]]
    for one in caches:
        one.cache_clear()
    return len(caches)
