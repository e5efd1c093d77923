"""A child process that reads texts and can be killed: hostile text blocks neither requests nor other jobs."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, Self, TypeVar

import structlog

from keepword.daemon import settle
from keepword.errors import Unavailable, WorkStopped
from keepword.jobs import child
from keepword.priority import charge

# processor time; all functions that read text are linear and take far less for each MiB
CALL_SECONDS = 10.0
SECONDS_A_MIB = 20.0
# a process that was stopped, or hangs, uses no processor time; one on a busy machine uses some
STUCK_SECONDS = 200.0
# starting one takes about a second; a waiting one holds 60 to 190 MB
IDLE_SECONDS = 120.0
STOPPING = "the service is stopping"

T = TypeVar("T")
P = ParamSpec("P")

Call = tuple[Future[Any], Callable[..., Any], Any, Any]

_log = structlog.get_logger()


class ReadingProcess:
    """Runs pure functions in a child process, one at a time. A call starts it where there is none."""

    def __init__(
        self,
        call_seconds: float = CALL_SECONDS,
        stuck_seconds: float = STUCK_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._call_seconds = call_seconds
        self._stuck_seconds = stuck_seconds
        self._idle_seconds = idle_seconds
        self._turn = threading.Lock()
        # one thread for all calls: each new thread would keep its own memory arena
        self._thread: threading.Thread | None = None
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    async def __call__(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of a module by its name. Raises WorkStopped on a time-out, else the function's error."""
        result: Future[tuple[T, float]] = Future()
        result.set_running_or_notify_cancel()
        with self._gate:
            if self._is_closed:
                raise Unavailable(STOPPING)
            if self._thread is None:
                self._thread = self._start()
            self._calls.put((result, do, args, kwargs))
        value, used_seconds = await asyncio.wrap_future(result)
        charge(used_seconds)
        return value

    def end_child(self) -> None:
        """End the child with all texts that it read, once it is done with its call; the next call starts another."""
        with self._turn:
            process, self._process = self._process, None
        if process is not None:
            _ended(process)

    def close(self) -> None:
        with self._gate:
            self._is_closed = True
            self._calls.put(None)
        self._kill()

    def _start(self) -> threading.Thread:
        # a daemon thread: shutdown does not wait for a call that never ends
        thread = threading.Thread(target=self._work, name="keepword-apart", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while (call := self._next()) is not None:
            result, do, args, kwargs = call
            settle(result, partial(self._call_in_turn, do, args, kwargs))

    def _next(self) -> Call | None:
        """Wait for a call; a child that waits with us for long is ended, and with it the tables that it loaded."""
        while True:
            with suppress(Empty):
                return self._calls.get(timeout=self._idle_seconds if self._process else None)
            self.end_child()

    def _call_in_turn(self, do: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, float]:
        with self._turn:
            is_good, value, used_seconds = self._call(do, args, kwargs)
        if not is_good:
            raise value
        return value, used_seconds

    def _call(self, do: Callable[..., Any], args: Any, kwargs: Any) -> tuple[bool, Any, float]:
        pickled_call = pickle.dumps((do, args, kwargs))
        seconds = self._call_seconds + SECONDS_A_MIB * len(pickled_call) / 2**20
        process = self._running()
        with _Watch(process, self._stuck_seconds) as watch:
            answer = _ask(process, pickle.dumps((seconds, do, args, kwargs)))
        if answer:
            is_good, value, used_seconds = pickle.loads(answer)  # noqa: S301 - from our own child
            return is_good, value, used_seconds
        code = _ended(process)
        self._process = None
        if self._is_closed:
            raise Unavailable(STOPPING)
        _log.warning("reading process ended", call=do.__qualname__, code=code, seconds=seconds)
        if watch.is_stuck:
            raise Unavailable(
                f"the process that reads text used no processor time for {self._stuck_seconds:.0f} s and was ended; "
                "another one is started"
            )
        if code != -signal.SIGPROF:
            raise Unavailable(f"the process that reads text ended with status {code}; another one is started")
        raise WorkStopped(
            f"{do.__qualname__} took more than {seconds:.0f} s of processor time for this text and was stopped; "
            "the text is stored and searched"
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise Unavailable(STOPPING)
        if self._process is not None and self._process.poll() is not None:
            _ended(self._process)
            self._process = None
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-P", "-m", child.__name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for the service, which then closes it
            )
        return self._process

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()
            # the thread that waits for its answer reads the end of the stream, and closes it
            with self._turn:
                _ended(process)


class _Watch:
    """Kills a process that used no processor time for `stuck_seconds`, while the context lasts."""

    def __init__(self, process: subprocess.Popen[bytes], stuck_seconds: float) -> None:
        self._process = process
        self._stuck_seconds = stuck_seconds
        self._is_over = threading.Event()
        self.is_stuck = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="keepword-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def _run(self) -> None:
        used_ticks = _processor_ticks(self._process.pid)
        while not self._is_over.wait(self._stuck_seconds):
            before, used_ticks = used_ticks, _processor_ticks(self._process.pid)
            if used_ticks == before:
                self.is_stuck = True
                self._process.kill()
                return


def _processor_ticks(pid: int) -> int:
    """Return the processor time that a process used; 0 where the system does not tell: it then counts as stuck."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _ask(process: subprocess.Popen[bytes], payload: bytes) -> bytes:
    """Return the answer; empty if the process ended instead."""
    if process.stdin is None or process.stdout is None:
        return b""
    try:
        child.write(process.stdin, payload)
        return child.read(process.stdout)
    except OSError:
        return b""


def _ended(process: subprocess.Popen[bytes]) -> int:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what could not be written any more
                stream.close()
    return process.wait()


def environment() -> dict[str, str]:
    """Return the environment without Keepword's variables: a child process gets no secret that it needs not."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KEEPWORD_", "TOOL_SYNTH_"))}
