"""Folders in which imports keep their copy of an upload. Each is held while it is used; a killed process leaves it."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = ".lock"


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Make a folder for this account alone, and remove it at the end. Waits for another process that holds it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    with (path / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders that nobody holds."""
    for path in parent.glob("*/"):
        try:
            with (path / _LOCK).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue  # held, or removed by another process meanwhile
