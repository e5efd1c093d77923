"""A thread with an event loop of its own for background work."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog
import uvloop

_log = structlog.get_logger()


@contextmanager
def worker_thread(
    work: Callable[[], Coroutine[Any, Any, None]], stop_seconds: float, *, nice: int = 0
) -> Iterator[Callable[[], None]]:
    """Run work in a thread while the context lasts; then cancel it, and abandon it after `stop_seconds`.

    The callable that it gives cancels without waiting, so that the time runs while others stop as well.

    The thread is a daemon: work that waits for a stuck database can't keep the process from stopping, and what it
    computes does not hold up the requests' loop. With `nice` it gives way to everything else on the machine.
    """
    started = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def body() -> None:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        started.set()
        await work()

    def run() -> None:
        if nice:
            # on Linux a thread has its own; those that it starts inherit it, the process' children do not
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        with suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(body())

    cancelled_at: list[float] = []

    def cancel() -> None:
        if cancelled_at:
            return
        cancelled_at.append(time.monotonic())
        for loop, task in running:
            with suppress(RuntimeError):  # it ended by itself
                loop.call_soon_threadsafe(task.cancel)

    thread = threading.Thread(target=run, name="keepword-worker", daemon=True)
    thread.start()
    started.wait()
    try:
        yield cancel
    finally:
        cancel()
        thread.join(max(0.0, cancelled_at[0] + stop_seconds - time.monotonic()))
        if thread.is_alive():
            _log.warning("background work did not stop in time; other workers take over its jobs")
