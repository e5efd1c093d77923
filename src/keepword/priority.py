"""Who goes first: processes of low priority, and requests that give way to those of other tenants."""

import os
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

NICE = 10

T = TypeVar("T")

# whether the current request gives way to those of other tenants
gives_way: ContextVar[bool] = ContextVar("gives_way", default=False)
# what counts the processor time of the current request, in seconds
_meter: ContextVar[Callable[[float], None] | None] = ContextVar("meter", default=None)


def lower(pid: int, nice: int = NICE) -> None:
    """Give a process the processor after others. If the system does not allow it, nothing changes."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    # with autogroups, Linux shares the processor among sessions first: nice alone counts only inside a session
    with suppress(OSError):
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def charge(seconds: float) -> None:
    """Count processor time that was used for the current request outside its own steps."""
    meter = _meter.get()
    if meter is not None:
        meter(seconds)


class Metered(Generic[T]):
    """An awaitable that counts the processor time of each step of another one, and what is charged meanwhile."""

    def __init__(self, work: Awaitable[T], meter: Callable[[float], None]) -> None:
        self._work = work
        self._meter = meter

    def __await__(self) -> Generator[Any, Any, T]:
        token = _meter.set(self._meter)
        steps = self._work.__await__()
        step: Callable[[], Any] = partial(next, steps)
        try:
            while True:
                began = time.thread_time()
                try:
                    awaited = step()
                except StopIteration as done:
                    result: T = done.value
                    return result
                finally:
                    self._meter(time.thread_time() - began)
                step = partial(next, steps)
                try:
                    yield awaited
                except BaseException as exc:  # noqa: BLE001 - the work decides what to do about it
                    step = partial(steps.throw, exc)
        finally:
            _meter.reset(token)
