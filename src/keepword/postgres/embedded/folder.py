"""The data folder has one holder at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepword.errors import AlreadyRunning, StartError


@contextmanager
def hold(home: Path, wait_seconds: float = 0) -> Iterator[None]:
    """Hold the data folder for this process; raises AlreadyRunning if another holds it for longer than that."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        # not inheritable: a server that outlives us must not keep the lock
        handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise StartError(f"can't use the data folder {home}: {exc.strerror}; name another with KEEPWORD_HOME") from exc
    try:
        _lock(handle, home, time.monotonic() + wait_seconds)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, home: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            if time.monotonic() >= deadline:
                pid = os.pread(handle, 20, 0).decode().strip() or "unknown"
                raise AlreadyRunning(
                    f"Keepword is already running on {home} (process {pid}); stop it, or name another folder with "
                    "KEEPWORD_HOME"
                ) from exc
        else:
            return
        time.sleep(0.05)
