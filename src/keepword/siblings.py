"""Starts, watches and stops the further processes of the service. A part of the composition root."""

import asyncio
import contextlib
import os
import pickle
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import structlog

from keepword.config import Settings
from keepword.jobs.child import HEAD_BYTES
from keepword.jobs.reading_process import environment
from keepword.sibling import Order

# more processes than this on one machine wait for its PostgreSQL
MOST_PROCESSES = 8
# one that dies at once, such as for lack of memory, is not started again in a tight loop
RESTART_SECONDS = 1.0
STOP_SECONDS = 1.5
_MIN_CONNECTIONS = 4

_log = structlog.get_logger()


def count(settings: Settings) -> int:
    """Return how many processes serve: as many as this process may use processors, unless a number is set."""
    return settings.processes or min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def share(settings: Settings, processes: int) -> Settings:
    """Return the settings of one of several processes: limits of the service are divided among them."""
    if processes == 1:
        return settings

    def part(limit: int, least: int = 1) -> int:
        return min(limit, max(least, -(-limit // processes))) if limit else 0

    return settings.model_copy(
        update={
            "pool_size": part(settings.pool_size, _MIN_CONNECTIONS),
            "requests_at_once": part(settings.requests_at_once, _MIN_CONNECTIONS),
            "requests_waiting": part(settings.requests_waiting),
            "requests_per_tenant": part(settings.requests_per_tenant),
            "requests_per_key": part(settings.requests_per_key),
            "copies_mb": part(settings.copies_mb),
            "connections": part(settings.connections),
            "bodies_mb": part(settings.bodies_mb),
        }
    )


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """Make a folder that this account alone may open, in which processes show each other their metrics."""
    with tempfile.TemporaryDirectory(prefix="keepword-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class Siblings:
    """The processes beside the first one. One that dies is started again."""

    def __init__(self, settings: Settings, conninfo: str, listener: socket.socket, metrics: Path) -> None:
        self._settings = settings.model_copy(update={"worker": False})
        self._conninfo = conninfo
        self._listener = listener
        self._metrics = metrics

    async def run(self, numbers: range, loaded: asyncio.Event) -> None:
        """Start them once the first process has loaded everything, and keep them running until cancelled."""
        await loaded.wait()
        await asyncio.gather(*(self._keep(number) for number in numbers))

    async def _keep(self, number: int) -> None:
        while True:
            code = await self._run_one(number)
            _log.warning("a process of the service died, starting it again", number=number, code=code)
            await asyncio.sleep(RESTART_SECONDS)

    async def _run_one(self, number: int) -> int:
        """Run a process until it ends by itself; when cancelled, end it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "keepword.sibling",
            stdin=PIPE, pass_fds=(self._listener.fileno(),), env=environment(), start_new_session=True,
        )  # fmt: skip
        try:
            await self._instruct(process, number)
            return await process.wait()
        finally:
            await _end(process)

    async def _instruct(self, process: asyncio.subprocess.Process, number: int) -> None:
        order = Order(self._settings, self._conninfo, self._listener.fileno(), self._metrics, number)
        payload = pickle.dumps(order)
        if process.stdin is None:
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(len(payload).to_bytes(HEAD_BYTES) + payload)
            await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
