"""The data folder has one holder at a time, and its server may have several users."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepword.errors import AlreadyRunning, StartError

# a first start on a busy machine, or the recovery of a large database
BRIEF_SECONDS = 120
LOOK_SECONDS = 0.05
_BRIEF = "brief"


class FolderLock:
    """The process that holds the folder. Its note in the lock file tells the others whether waiting is worth it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.lasting()

    @property
    def handle(self) -> int:
        """The number of the file that holds the lock."""
        return self._handle

    def brief(self) -> None:
        """Ask others to wait: the server is being started or stopped."""
        self._note(f"{os.getpid()} {_BRIEF}")

    def lasting(self) -> None:
        self._note(str(os.getpid()))

    def _note(self, text: str) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text.encode(), 0)


@contextmanager
def lock_data_folder(home: Path, wait_seconds: float = 0, brief_seconds: float = BRIEF_SECONDS) -> Iterator[FolderLock]:
    """Hold the data folder for this process; raises AlreadyRunning if another holds it for longer than that.

    While the other starts or stops the server, the wait goes on for up to `brief_seconds`.
    """
    with _opened(home, "lock") as handle:
        _lock(handle, home, wait_seconds, brief_seconds)
        yield FolderLock(handle)


@contextmanager
def kept_data_folder(handle: int) -> Iterator[FolderLock]:
    """Hold the data folder on by a lock that this process has already."""
    try:
        yield FolderLock(handle)
    finally:
        os.close(handle)


class ServerUse:
    """One of those who use the server without holding the folder: the last of them stops it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        fcntl.flock(handle, fcntl.LOCK_SH)

    def end(self) -> None:
        fcntl.flock(self._handle, fcntl.LOCK_UN)

    def was_last(self) -> bool:
        """Tell whether nobody uses the server any more; if so, nobody begins to until this use is closed."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def use_server(home: Path) -> Iterator[ServerUse]:
    with _opened(home, "in-use") as handle:
        yield ServerUse(handle)


def make_home(home: Path) -> None:
    """Make the data folder unless it is there; one that others own or may write to is refused."""
    missing = [folder for folder in (home, *home.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            # the server's account has to pass through folders that are made for it, whatever the umask
            folder.chmod(0o711)
    status = home.stat()
    if status.st_uid not in {os.geteuid(), 0}:
        raise StartError(
            f"the data folder {home} belongs to the account {status.st_uid}, which could change everything in it, not "
            f"to {os.geteuid()}, which runs Keepword; name another with KEEPWORD_HOME, or take it with chown"
        )
    if status.st_mode & 0o002 or (status.st_mode & 0o020 and status.st_gid not in {os.getegid(), *os.getgroups()}):
        raise StartError(
            f"others may write to the data folder {home}; name another with KEEPWORD_HOME, or close it: "
            f"chmod go-w '{home}'"
        )


@contextmanager
def _opened(home: Path, name: str) -> Iterator[int]:
    try:
        make_home(home)
        # not inheritable: a server that outlives us must not keep the lock
        handle = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as exc:
        raise StartError(f"can't use the data folder {home}: {exc.strerror}; name another with KEEPWORD_HOME") from exc
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, home: Path, wait_seconds: float, brief_seconds: float) -> None:
    started = time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            pid, _, word = os.pread(handle, 40, 0).decode().partition(" ")
            patience = max(wait_seconds, brief_seconds) if word == _BRIEF else wait_seconds
            if time.monotonic() >= started + patience:
                raise AlreadyRunning(
                    f"Keepword is already running on {home} (process {pid or 'unknown'}); stop it, or name another "
                    "folder with KEEPWORD_HOME"
                ) from exc
        else:
            return
        time.sleep(LOOK_SECONDS)
