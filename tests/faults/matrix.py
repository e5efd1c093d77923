"""The leak matrix on what a house holds: raw SQL without any filter, for viewers in places, against the oracle."""

import asyncio
import os
from itertools import product

from keepword.postgres import migrate
from keepword.postgres.pool import Pool
from leaks import oracle
from leaks.conftest import make_probes
from leaks.kinds import KINDS, Stores
from leaks.settling import make_world
from leaks.viewers import look, viewers, wheres
from leaks.world import World
from patience import PATIENT

# FAULTS=long: more rounds, longer faults, in an order of chance, and the whole matrix after each
LONG = os.environ.get("FAULTS") == "long"
PARTS = 1 if LONG else 97
# a worker that derives more from what was said in these worlds would change what the oracle knows
_AT_REST = "TRUNCATE outbox, compactions; UPDATE extractions SET waiting = false"


def settle_worlds(conninfo: str) -> list[World]:
    """Store two tenants that share every name."""

    async def settle() -> list[World]:
        pool = Pool(conninfo, PATIENT)
        await pool.open()
        try:
            return [await make_world(owner, pool, erases=False) for _ in range(2)]
        finally:
            await pool.close()

    with migrate.owner(conninfo) as owner:
        make_probes(owner)
        made = asyncio.run(settle())
        owner.execute(_AT_REST)
        return made


def count_leaks(conninfo: str, worlds: list[World], part: int, parts: int) -> tuple[int, list[str]]:
    """Compare each of so many pairs of a viewer and a place; return how many cells there were, and what differs."""
    return asyncio.run(_count(conninfo, worlds, part, parts))


async def _count(conninfo: str, worlds: list[World], part: int, parts: int) -> tuple[int, list[str]]:
    pool = Pool(conninfo, PATIENT)
    await pool.open()
    try:
        found = [await _count_of(world, worlds, pool, part, parts) for world in worlds]
    finally:
        await pool.close()
    return sum(cells for cells, _ in found), [what for _, wrong in found for what in wrong]


async def _count_of(world: World, worlds: list[World], pool: Pool, part: int, parts: int) -> tuple[int, list[str]]:
    things = [[thing for each in worlds for thing in kind.things(each)] for kind in KINDS]
    stores, cells, wrong = Stores(pool), 0, []
    for viewer, where in list(product(viewers(world), wheres(world)))[part % parts :: parts]:
        async with pool.granted(await look(stores, viewer, where)) as conn:
            cursors = [await conn.execute(kind.sql) for kind in KINDS]
        reach = oracle.reach(world, viewer, where)
        for kind, those, cursor in zip(KINDS, things, cursors, strict=True):
            markers = {marker for (marker,) in await cursor.fetchall()}
            expected = oracle.seen(world, reach, those)
            cells += len(those)
            if markers != expected:
                leaked, lost = sorted(markers - expected), sorted(expected - markers)
                wrong.append(f"{kind.table} for {viewer} in {where}: leaked {leaked}, lost {lost}")
    return cells, wrong
