"""Shares new connections among the processes of a service: the one with the fewest open takes the next.

A process that wakes up for a socket takes all that wait there, so of connections made at once one process got nearly
all, and the other idled. Each shows its number of open connections in a file that all of them map.
"""

import asyncio
import contextlib
import mmap
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

_COUNT = struct.Struct("=q")
_NOT_SERVING = -1
# a process leaves a connection to one with fewer for so long: that one may be busy, stopped or just dying
LEAVE_SECONDS = 0.005
# how many more than another it holds before it leaves one, and how many it takes when nobody else does
SLACK, AT_ONCE = 1, 4
# without a free file or memory, accepting again at once would fail again
_RETRY_SECONDS = 0.5

_log = structlog.get_logger()


class OpenConnections:
    """How many connections each process of the service has open, in a file of eight bytes for each of them."""

    def __init__(self, folder: Path, own: int, processes: int) -> None:
        """Map the file; number 0 makes it, before there are others, unless it took over from an image of itself."""
        self._own, self.processes, self._has_left = own, processes, False
        with (folder / "connections").open("a+b") as opened:
            if own == 0 and not opened.tell():
                opened.write(_COUNT.pack(_NOT_SERVING) * processes)
                opened.flush()
            self._counts = mmap.mmap(opened.fileno(), _COUNT.size * processes)

    def show(self, connections: int) -> None:
        """Show the own number to the others, unless this process serves no longer and only finishes."""
        if not self._has_left:
            self._write(self._own, connections)

    def expect(self) -> None:
        """Count a connection that is about to be open."""
        self._write(self._own, max(self._read(self._own), 0) + 1)

    def leave(self, number: int | None = None) -> None:
        """Say that a process, this one or one that died, serves no longer."""
        self._has_left |= number is None
        self._write(self._own if number is None else number, _NOT_SERVING)

    def is_ahead(self) -> bool:
        """Tell whether another process that serves has fewer."""
        counts = [self._read(number) for number in range(self.processes)]
        others = [count for number, count in enumerate(counts) if number != self._own and count != _NOT_SERVING]
        return bool(others) and counts[self._own] >= min(others) + SLACK

    def _read(self, number: int) -> int:
        (count,) = _COUNT.unpack_from(self._counts, number * _COUNT.size)
        return int(count)

    def _write(self, number: int, count: int) -> None:
        _COUNT.pack_into(self._counts, number * _COUNT.size, count)


@dataclass(frozen=True, slots=True)
class Listener:
    """The socket that listens, and the counts of those who accept from it, if there are several."""

    socket: socket.socket
    counts: OpenConnections | None


class Acceptor:
    """Accepts from a socket that other processes accept from as well."""

    def __init__(
        self, listener: socket.socket, make_protocol: Callable[[], asyncio.Protocol], counts: OpenConnections
    ) -> None:
        self._listener, self._make_protocol, self._counts = listener, make_protocol, counts
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.TimerHandle | None = None
        self._has_left = False
        self._opening: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._listener.setblocking(False)
        self._counts.show(0)
        self._begin()

    def stop(self) -> None:
        self._loop.remove_reader(self._listener)
        if self._waiting is not None:
            self._waiting.cancel()
        self._counts.leave()

    def _begin(self) -> None:
        self._waiting = None
        self._loop.add_reader(self._listener, self._ready)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._waiting = self._loop.call_later(seconds, self._begin)

    def _ready(self) -> None:
        leaves = not self._has_left and self._counts.is_ahead()
        taken = AT_ONCE if self._has_left else 1
        self._has_left = leaves
        if leaves:
            self._pause(LEAVE_SECONDS)
            return
        try:
            for _ in range(taken):
                self._take()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as exc:
            _log.warning("no connection can be accepted, trying again", reason=str(exc))
            self._pause(_RETRY_SECONDS)

    def _take(self) -> None:
        accepted, _ = self._listener.accept()
        self._counts.expect()
        task = self._loop.create_task(self._open(accepted))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with contextlib.suppress(OSError):  # it may be closed by now
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, accepted)
        except OSError:
            accepted.close()
