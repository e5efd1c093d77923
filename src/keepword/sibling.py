"""A further process of the service, `python -m keepword.sibling`: serves on the first one's socket, and ends with it.

It is told on stdin what to do. One byte more is the order to finish its requests and to end; the end of stdin is the
order to stop, also when the first process was killed.
"""

import asyncio
import io
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import uvloop

from keepword import allocator, logs, preload
from keepword.background import background_task
from keepword.config import Settings
from keepword.daemon import run_in_daemon
from keepword.http.accepting import Listener, OpenConnections
from keepword.http.metrics import ProcessMetrics
from keepword.http.services import Services
from keepword.jobs.child import read
from keepword.renewal import Presence
from keepword.serving import ServingProcess, Stop, serve_requests

# what the first process writes after the order, and what it is answered once all is loaded
RETIRE, READY = b"r", b"+"


@dataclass(frozen=True, slots=True)
class Order:
    """`listener` and `ready` are numbers of inherited files; in `folder` the `processes` find each other."""

    settings: Settings
    conninfo: str
    listener: int
    folder: Path
    number: int
    processes: int
    service: UUID
    ready: int


def main() -> None:
    # a terminal's Ctrl-C is for the first process, which then ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # not buffered: a thread that waits for more in a buffer's lock would keep the process from ending
    told = io.FileIO(sys.stdin.fileno(), closefd=False)
    order: Order = pickle.loads(read(told))  # noqa: S301 - from the process that started us
    logs.configure(order.settings.log_level)
    allocator.configure()
    preload.begin()
    with (
        socket.socket(fileno=order.listener) as listener,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(order, listener, told))


async def _serve(order: Order, listener: socket.socket, told: io.FileIO) -> None:
    stop = Stop(asyncio.Event(), lambda: None)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.requested.set)
    run_in_daemon(
        _until_told(
            told,
            lambda: loop.call_soon_threadsafe(stop.requested.set),
            lambda: loop.call_soon_threadsafe(stop.retired.set),
        ),
        "stop",
    )
    presence = Presence(order.service, order.number)
    shared = Listener(listener, OpenConnections(order.folder, order.number, order.processes))
    process = ServingProcess(shared, ProcessMetrics(order.folder, order.number), presence)

    def beside(services: Services) -> Sequence[AbstractAsyncContextManager[None]]:
        noting = presence.keep_noting(services.processes, asyncio.Event())
        return background_task(noting), background_task(_say_ready(order.ready, services.loaded))

    await serve_requests(order.settings, order.conninfo, process, stop, beside=beside)


async def _say_ready(ready: int, loaded: asyncio.Event | None) -> None:
    if loaded is not None:
        await loaded.wait()
    with suppress(OSError):
        os.write(ready, READY)


def _until_told(told: io.FileIO, stop: Callable[[], object], retire: Callable[[], object]) -> Callable[[], None]:
    def wait() -> None:
        while told.read(1) == RETIRE:
            retire()
        stop()

    return wait


if __name__ == "__main__":
    main()
