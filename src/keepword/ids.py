"""Ids that sort by time and tell nothing else: UUIDs of version 7 that share no counter."""

import secrets
import time
from collections.abc import Iterator
from uuid import UUID

_VERSION, _VARIANT = 7 << 76, 2 << 62
_LOW_BITS = 62
# of the 74 free bits: the steps of a series of millions stay below the rest
_START_BITS = 73
_STEP_BITS = 32


def new_id() -> UUID:
    return next(series())


def series() -> Iterator[UUID]:
    """Yield ids of one millisecond, each greater than the last by a random step.

    A counter that callers share would show in the gaps between one's ids how many others were made meanwhile.
    """
    milliseconds = time.time_ns() // 1_000_000
    free = secrets.randbits(_START_BITS)
    while True:
        high, low = divmod(free, 1 << _LOW_BITS)
        yield UUID(int=milliseconds << 80 | _VERSION | high << 64 | _VARIANT | low)
        free += 1 + secrets.randbits(_STEP_BITS)
