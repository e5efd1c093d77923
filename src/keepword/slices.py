"""Long work outside the event loop: in one shared thread, in slices of 10 ms.

All callers share the thread, slice by slice in turn, so that a large one does not keep the small ones waiting, and the
event loop competes with one thread for Python's lock, never with many. A caller that is cancelled stops after a slice.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

SLICE_SECONDS = 0.01

T = TypeVar("T")
P = ParamSpec("P")

_thread = ThreadPoolExecutor(1, "keepword-slices")


class Runner(Protocol):
    """Calls a function of a module somewhere else, and returns what it returns."""

    async def __call__(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


async def in_thread(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(do, *args, **kwargs)


async def at_once(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return do(*args, **kwargs)


async def in_slices(work: Iterator[T]) -> list[T]:
    """Run an iterator to its end; each of its steps should take milliseconds at most."""
    loop = asyncio.get_running_loop()
    results: list[T] = []
    is_done = False
    while not is_done:
        more, is_done = await loop.run_in_executor(_thread, _slice, work)
        results += more
    return results


def _slice(work: Iterator[T]) -> tuple[list[T], bool]:
    until = time.monotonic() + SLICE_SECONDS
    results: list[T] = []
    for one in work:
        results.append(one)
        if time.monotonic() > until:
            return results, False
    return results, True


async def apart(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in the thread, as one slice: for what gives up Python's lock by itself every few milliseconds."""
    return await asyncio.get_running_loop().run_in_executor(_thread, lambda: do(*args, **kwargs))
