"""Requests that give way have database connections of their own, whose processes have a low priority."""

import os

import pytest

from keepword.postgres.logins import is_embedded
from keepword.postgres.pool import Limits, Pool
from keepword.priority import NICE, gives_way

pytestmark = pytest.mark.anyio


async def backend(pool: Pool, *, giving_way: bool) -> int:
    token = gives_way.set(giving_way)
    try:
        ((pid,),) = await pool.fetch("SELECT pg_backend_pid()", {})
    finally:
        gives_way.reset(token)
    return pid


@pytest.fixture
async def pool(conninfo):
    made = Pool(conninfo, Limits(8, has_lanes=True))
    await made.open()
    yield made
    await made.close()


async def test_who_gives_way_never_gets_a_connection_of_others(pool):
    slow = {await backend(pool, giving_way=True) for _ in range(8)}
    fast = {await backend(pool, giving_way=False) for _ in range(8)}
    assert slow
    assert not slow & fast
    assert pool.stats()["pool_max"] == 8


async def test_the_processes_of_its_connections_give_way(pool, conninfo):
    if not is_embedded(conninfo):
        pytest.skip("the processes of another server are not ours")
    assert os.getpriority(os.PRIO_PROCESS, await backend(pool, giving_way=True)) == NICE
    assert os.getpriority(os.PRIO_PROCESS, await backend(pool, giving_way=False)) < NICE


async def test_a_pool_that_is_too_small_for_lanes_has_one(conninfo):
    small = Pool(conninfo, Limits(1, has_lanes=True))
    await small.open()
    try:
        assert await backend(small, giving_way=True) == await backend(small, giving_way=False)
    finally:
        await small.close()


@pytest.mark.parametrize(("waits", "shown"), [(True, "on"), (False, "off")])
async def test_commits_are_waited_for_unless_a_pool_is_told_otherwise(conninfo, waits, shown):
    made = Pool(conninfo, Limits(1, waits_for_disk=waits))
    await made.open()
    try:
        assert await made.fetch("SHOW synchronous_commit", {}) == [(shown,)]
    finally:
        await made.close()
