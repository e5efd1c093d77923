"""Starts, watches and stops the further processes of the service. A part of the composition root."""

import asyncio
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import structlog

from keepword.config import Settings
from keepword.daemon import run_in_daemon
from keepword.handover import HeldSibling
from keepword.http.accepting import OpenConnections
from keepword.jobs.child import HEAD_BYTES
from keepword.jobs.reading_process import environment
from keepword.sibling import READY, RETIRE, Order

# more processes than this on one machine wait for its PostgreSQL
MOST_PROCESSES = 8
# one that dies at once, such as for lack of memory, is not started again in a tight loop
RESTART_SECONDS = 1.0
STOP_SECONDS = 1.5
# a fresh one that does not load its models within that time serves without; the next one is renewed all the same
LOAD_SECONDS = 60.0
_LOOK_SECONDS = 0.05
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
def shared_folder(inherited: Path | None = None) -> Iterator[Path]:
    """Make a folder that this account alone may open, in which processes show each other what they do."""
    folder = inherited or Path(tempfile.mkdtemp(prefix="keepword-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Sibling:
    """One process beside the first one, started by this image of it or by the one before."""

    def __init__(self, pid: int, stdin: int, started: "subprocess.Popen[bytes] | None" = None) -> None:
        self.pid = pid
        self.stdin = stdin
        self.is_retired = False
        # one that was taken over had loaded all
        self.is_loaded = started is None
        self._started = started
        self._ended = run_in_daemon(self._wait, "sibling")

    def _wait(self) -> int:
        if self._started is not None:
            return self._started.wait()
        with suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return -1

    def notice_loading(self, ready: int) -> None:
        """Wait in a thread until it says that it has loaded everything, or is gone."""

        def wait() -> None:
            self.is_loaded = os.read(ready, 1) == READY
            os.close(ready)

        run_in_daemon(wait, "ready")

    async def ended(self) -> int:
        """Wait until it ends; return its code."""
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    def tell(self, payload: bytes) -> None:
        with suppress(OSError):
            os.write(self.stdin, payload)

    def retire(self) -> None:
        """Ask it to finish its requests and to end."""
        self.is_retired = True
        self.tell(RETIRE)

    def close(self) -> None:
        """Ask it to end."""
        stdin, self.stdin = self.stdin, -1  # the number is soon another file's
        with suppress(OSError):
            os.close(stdin)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Beside:
    """What the processes of a service share."""

    listener: socket.socket
    folder: Path
    counts: OpenConnections
    service: UUID


class Siblings:
    """The processes beside the first one. One that dies is started again."""

    def __init__(self, settings: Settings, conninfo: str, beside: Beside, held: Iterable[HeldSibling] = ()) -> None:
        self._settings = settings.model_copy(update={"worker": False})
        self._conninfo = conninfo
        self._beside = beside
        self._running = {one.number: Sibling(one.pid, one.stdin) for one in held}
        self._stay: Callable[[], bool] = lambda: False

    async def run(self, loaded: asyncio.Event) -> None:
        """Start them once the first process has loaded everything, and keep them running until cancelled."""
        numbers = range(1, self._beside.counts.processes)
        held = [self._keep(number) for number in numbers if number in self._running]
        await asyncio.gather(*held, self._start_when(loaded, [one for one in numbers if one not in self._running]))

    async def _start_when(self, loaded: asyncio.Event, numbers: Sequence[int]) -> None:
        await loaded.wait()
        await asyncio.gather(*(self._keep(number) for number in numbers))

    async def renew(self) -> None:
        """Let each finish its requests and begin anew, one after the other."""
        for number in list(self._running):
            old = self._running.get(number)
            if old is None:  # it died just now, and is started again
                continue
            old.retire()
            await old.ended()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOAD_SECONDS):
                    await self._loaded_anew(number)

    async def _loaded_anew(self, number: int) -> None:
        while True:
            fresh = self._running.get(number)
            if fresh is not None and not fresh.is_retired and fresh.is_loaded:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def leave_if(self, stay: Callable[[], bool]) -> None:
        """Let them go on when `run` is cancelled, if that holds then."""
        self._stay = stay

    def held(self) -> tuple[HeldSibling, ...]:
        """Return those that run, for the next image of this process."""
        return tuple(HeldSibling(number, one.pid, one.stdin) for number, one in self._running.items())

    async def _keep(self, number: int) -> None:
        while True:
            try:
                sibling = self._running.get(number) or self._start(number)
            except OSError as exc:
                _log.warning("a process of the service could not be started, trying again", reason=str(exc))
                await asyncio.sleep(RESTART_SECONDS)
                continue
            self._running[number] = sibling
            try:
                code = await sibling.ended()
            except asyncio.CancelledError:
                if not self._stay():
                    await _end(sibling)
                raise
            del self._running[number]
            sibling.close()
            self._beside.counts.leave(number)
            if not sibling.is_retired:
                _log.warning("a process of the service died, starting it again", number=number, code=code)
                await asyncio.sleep(RESTART_SECONDS)

    def _start(self, number: int) -> Sibling:
        stdin, write = os.pipe()
        ready, say_ready = os.pipe()
        listener = self._beside.listener.fileno()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "keepword.sibling"],
                stdin=stdin, pass_fds=(listener, say_ready), env=environment(), start_new_session=True,
            )  # fmt: skip
        except OSError:
            os.close(write)
            os.close(ready)
            raise
        finally:
            os.close(stdin)
            os.close(say_ready)
        sibling = Sibling(process.pid, write, process)
        sibling.notice_loading(ready)
        order = Order(
            self._settings, self._conninfo, listener, self._beside.folder, number, self._beside.counts.processes,
            self._beside.service, say_ready,
        )  # fmt: skip
        payload = pickle.dumps(order)
        sibling.tell(len(payload).to_bytes(HEAD_BYTES) + payload)
        return sibling


async def _end(sibling: Sibling) -> None:
    sibling.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await sibling.ended()
    except TimeoutError:
        sibling.kill()
        await sibling.ended()
