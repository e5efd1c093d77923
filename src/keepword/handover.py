"""A process that replaces itself: the same number, socket, locks and children, and memory that begins anew."""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar
from uuid import UUID

from keepword.config import Settings

# the number of a pipe from which the next image of this process reads what it takes over
_VARIABLE = "_KEEPWORD_HANDOVER"
_LENGTH = 1 << 16
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class HeldSibling:
    """A process beside the first one: the end of `stdin` ends it."""

    number: int
    pid: int
    stdin: int


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a worker hands to its next image: its settings, and how long that goes on at least."""

    settings: Settings
    rest_seconds: float

    @property
    def files(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Handover:
    """What the service's first process hands to its next image; files by their numbers."""

    settings: Settings
    listener: int
    folder_lock: int | None
    folder: Path
    service: UUID
    processes: int
    rest_seconds: float
    siblings: tuple[HeldSibling, ...] = ()

    @property
    def files(self) -> tuple[int, ...]:
        lock = () if self.folder_lock is None else (self.folder_lock,)
        return (self.listener, *lock, *(one.stdin for one in self.siblings))


Handed = TypeVar("Handed", Handover, Renewal)


def take_over(kind: type[Handed]) -> Handed | None:
    """Return what the image before this one left, if there was one; ask once, before anything else."""
    number = os.environ.pop(_VARIABLE, None)
    if number is None:
        return None
    with os.fdopen(int(number), "rb") as pipe:
        handed = pickle.load(pipe)  # noqa: S301 - from this very process
    for file in handed.files:
        os.set_inheritable(file, False)
    return handed if isinstance(handed, kind) else None


def replace_process(handed: Handover | Renewal, is_stopping: Callable[[], bool]) -> None:
    """Begin anew with the same command. Comes back only if a signal asked to stop meanwhile.

    Signals wait: the next image gets those that come before it can handle them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    reader = _leave(handed)
    environment = os.environ | {_VARIABLE: str(reader)}
    # last: a signal that another thread of this image took is in no mask
    if is_stopping():
        os.close(reader)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return
    _begin_anew(environment)


def let_signals_come() -> None:
    """Let those come that waited; call it once they are handled."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _leave(handed: Handover | Renewal) -> int:
    payload = pickle.dumps(handed)
    if len(payload) >= _LENGTH:
        raise ValueError(f"the settings take {len(payload)} bytes, and a pipe holds {_LENGTH}")
    reader, writer = os.pipe()
    os.write(writer, payload)
    os.close(writer)
    for file in (reader, *handed.files):
        os.set_inheritable(file, True)
    return reader


def _begin_anew(environment: dict[str, str]) -> NoReturn:
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606 - this very command
