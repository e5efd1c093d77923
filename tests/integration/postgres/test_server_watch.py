"""The watch of a server: prepared before it is used, lost when it is away, back by itself."""

import pytest
from psycopg.conninfo import make_conninfo

from keepword.errors import UnfitDatabase
from keepword.postgres.server_watch import ServerWatch

pytestmark = pytest.mark.anyio


async def nothing() -> None: ...


async def test_a_server_is_prepared_once_before_it_counts_as_up(conninfo):
    prepared, returned = [], []

    async def prepare() -> None:
        prepared.append(len(prepared))
        if len(prepared) == 1:
            raise UnfitDatabase("it has no extension")

    async def note() -> None:
        returned.append(watch.is_up)

    watch = ServerWatch("north", conninfo, prepare)
    assert not watch.is_up
    await watch.look(note)
    assert not watch.is_up, "what could not be prepared is not used"
    await watch.look(note)
    await watch.look(note)
    assert watch.is_up
    assert watch.found.is_set()
    assert (prepared, returned) == ([0, 1], [False])
    watch.close()


async def test_a_server_that_can_t_be_reached_is_not_up(conninfo):
    watch = ServerWatch("north", make_conninfo(conninfo, port=1), nothing)
    await watch.look(nothing)
    assert not watch.is_up
    assert watch.lost.done()
    assert not watch.found.is_set()
