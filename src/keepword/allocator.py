"""Keeps the memory of a process that runs for long level, where glibc manages it; elsewhere nothing changes."""

import ctypes
from contextlib import suppress

# parameters of mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENAS = -1, -3, -8
# each thread would get its own arena, which keeps the memory of its largest request
ARENAS = 2
# larger blocks, such as bodies of requests, go back to the system when they are freed. Without a limit that is set, one
# body of 32 MiB raises it to that, and every later one stays
LARGE_BYTES = 4 * 2**20
_FREE_BYTES = 8 * 2**20


def configure() -> None:
    """Limit the arenas, and give large blocks back as soon as they are free. It is the whole process that changes."""
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENAS, ARENAS)
        libc.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, _FREE_BYTES)


def give_back() -> None:
    """Give free memory back to the system. Takes a few milliseconds, without Python's lock."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
