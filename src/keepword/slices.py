"""Where a function is called: here, in a thread, or by whatever else implements `Runner`, such as another process."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Runner(Protocol):
    """Calls a function of a module in another thread or process, and returns its result."""

    async def __call__(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


async def in_thread(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(do, *args, **kwargs)


async def at_once(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return do(*args, **kwargs)
