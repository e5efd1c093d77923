"""A further process of the service, `python -m keepword.sibling`: serves on the first one's socket, and ends with it.

It is told on stdin what to do; the end of stdin is the order to stop, also when the first process was killed.
"""

import asyncio
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvloop

from keepword import allocator, logs, preload
from keepword.config import Settings
from keepword.daemon import run_in_daemon
from keepword.http.metrics import ProcessMetrics
from keepword.jobs.child import read
from keepword.serving import Stop, serve_requests


@dataclass(frozen=True, slots=True)
class Order:
    """`listener` is the number of the inherited file; `metrics` the folder in which siblings find each other."""

    settings: Settings
    conninfo: str
    listener: int
    metrics: Path
    number: int


def main() -> None:
    # a terminal's Ctrl-C is for the first process, which then ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order: Order = pickle.loads(read(sys.stdin.buffer))  # noqa: S301 - from the process that started us
    logs.configure(order.settings.log_level)
    allocator.configure()
    preload.begin()
    with (
        socket.socket(fileno=order.listener) as listener,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(order, listener))


async def _serve(order: Order, listener: socket.socket) -> None:
    requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, requested.set)
    run_in_daemon(_until_told(lambda: loop.call_soon_threadsafe(requested.set)), "stop")
    metrics = ProcessMetrics(order.metrics, order.number)
    await serve_requests(order.settings, order.conninfo, listener, metrics, Stop(requested, lambda: None))


def _until_told(stop: Callable[[], object]) -> Callable[[], None]:
    def wait() -> None:
        sys.stdin.buffer.read()
        stop()

    return wait


if __name__ == "__main__":
    main()
