"""Where the primary's log was when a request was looked up, and whether its reads may go to a replica."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LogPosition:
    """`offset`: the byte of the primary's log up to which a replica must have replayed; `server_since`: its start."""

    offset: int
    server_since: datetime


_located: ContextVar[LogPosition | None] = ContextVar("log_position", default=None)
_may_use_replicas: ContextVar[bool] = ContextVar("may_use_replicas", default=False)


def locate(position: LogPosition) -> None:
    """Note what the latest look-up of this request said: grants that are decided from it need no older state."""
    _located.set(position)


@contextmanager
def replica_reads() -> Iterator[None]:
    """Let the reads inside go to a replica; what is written inside is read there after `stay_on_primary` only."""
    token = _may_use_replicas.set(True)
    try:
        yield
    finally:
        _may_use_replicas.reset(token)


def stay_on_primary() -> None:
    """Send the further reads of this task to the primary: it is about to write what it reads."""
    _may_use_replicas.set(False)


def required_position() -> LogPosition | None:
    """Return how far a replica must be to answer what is read now; None where only the primary may."""
    return _located.get() if _may_use_replicas.get() else None
