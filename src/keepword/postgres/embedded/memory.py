"""How much memory PostgreSQL takes for its buffers."""

import os
from contextlib import suppress
from pathlib import Path

# of the memory that it may use, PostgreSQL keeps this share for itself, so that the indexes of a million entries stay
# there; what it does not need it does not take
BUFFERS_SHARE = 1 / 4
MIN_BUFFERS_MB, MAX_BUFFERS_MB = 128, 4096
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes() -> int:
    """Return how much memory there is, or how much of it this process may use."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in _CGROUP_LIMITS:
        # "max" is no limit
        with suppress(OSError, ValueError):
            limits.append(int(limit.read_text()))
    return min(limits)


def buffers_mb(memory: int) -> int:
    return max(MIN_BUFFERS_MB, min(MAX_BUFFERS_MB, int(memory * BUFFERS_SHARE) >> 20))
