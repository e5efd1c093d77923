"""Which of several processes runs which test.

Tests of a file that shares a fixture among its tests run in one process, so that the fixture is made once; all others
go to whichever process is free.
"""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]


class ByFixture(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:  # xdist's name
        return group(nodeid.partition("::")[0]) or nodeid


@cache
def group(file: str) -> str | None:
    """Return the name under which all tests of a file, by its path from the root, go to one process; None for any."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if "redis_keyed_service" in text:
        return "redis"
    return file if 'scope="module"' in text else None
