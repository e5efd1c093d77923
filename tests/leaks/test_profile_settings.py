"""Lines of profiles, by each setting of the tenant: in raw SQL, in the stores, over HTTP and in compose."""

import asyncio
from functools import partial
from itertools import product

import pytest

from keepword.access import Grant
from leaks import oracle
from leaks.kinds import KINDS, PROFILES, Stores, profile_markers
from leaks.oracle import Where
from leaks.settling import make_world
from leaks.test_matrix import play
from leaks.viewers import Tally, viewers
from leaks.world import World

pytestmark = pytest.mark.anyio

SETTINGS = [
    {"profile_per_agent": per_agent, "profiles_in_rooms": in_rooms}
    for per_agent, in_rooms in product((False, True), ("room", "all"))
]
ABOUT_USERS = [kind for kind in KINDS if kind.table in {"facts", "fact_versions", "profile_texts", "profile_lines"}]
FEW = 10
BODY = {"message": "?", "budget_tokens": 50_000, "dry_run": True, "sections": ["profile"]}


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda one: "-".join(map(str, one.values())))
def made(request, owner, leaks_pool):
    return lambda: make_world(owner, leaks_pool, **request.param)


async def test_each_setting_opens_what_the_design_says_and_no_more(made, leaks_pool, make_client, tally):
    world = await made()
    await _read_by_hand(world, leaks_pool, tally)
    for first_wall in (True, False):
        await _read_stores(world, Stores(leaks_pool, first_wall=first_wall), tally)
    await _compose_all(world, partial(make_client, world), tally)


async def test_the_first_wall_alone_knows_the_settings(made, unwalled_pool, tally):
    await _read_stores(await made(), Stores(unwalled_pool), tally)


async def _read_by_hand(world: World, pool, tally: Tally) -> None:
    async def read(opened: Grant) -> list[set[str]]:
        async with pool.granted(opened) as conn:
            cursors = [await conn.execute(kind.sql) for kind in ABOUT_USERS]
        return [{marker for (marker,) in await cursor.fetchall()} for cursor in cursors]

    await play([world], world, Stores(pool), ABOUT_USERS, _once(read), tally)


async def _read_stores(world: World, stores: Stores, tally: Tally) -> None:
    kinds = [kind for kind in (*ABOUT_USERS, PROFILES) if kind.store]

    async def read(opened: Grant) -> list[set[str]]:
        return [await kind.store(stores, opened, world) for kind in kinds]

    await play([world], world, stores, kinds, _once(read), tally)


def _once(read):
    """Ask once for each grant: many viewers have the same."""
    known: dict[Grant, list[set[str]]] = {}

    async def again(opened: Grant) -> list[set[str]]:
        if opened not in known:
            known[opened] = await read(opened)
        return known[opened]

    return again


async def _compose_all(world: World, client_of, tally: Tally) -> None:
    for viewer in viewers(world, ("agent", "reader"), bound=True):
        async with client_of(viewer) as client:
            names = list(world.talks)
            for some in (names[start : start + FEW] for start in range(0, len(names), FEW)):
                await asyncio.gather(*(_compose(client, world, viewer, name, tally) for name in some))


async def _compose(client, world: World, viewer, name: str, tally: Tally) -> None:
    answer = await client.post("/v1/compose", json=BODY | {"conversation": name})
    reach = oracle.reach(world, viewer, Where("in", name))
    things = list(profile_markers(world))
    held = {thing.marker for thing in things if _holds(answer.text, thing.marker)}
    expected = oracle.seen(world, reach, things) if reach.enters else set()
    tally.compare(f"compose in {name} for {viewer} with {world.profiles_in_rooms}", len(things), held, expected)
    if answer.status_code == 200 and world.talks[name].kind == "room":
        _check_reasons(answer.json(), world, name)


def _holds(text: str, marker: str) -> bool:
    # one marker may begin as another one does
    return any(f"{marker}{end}" in text for end in ('"', "\\n"))


def _check_reasons(composed, world: World, name: str) -> None:
    """Whatever a room shows of a profile that was not said in it says by which setting it is shown."""
    talks = {str(id_): talk for talk, id_ in world.memories.items()}
    for line in (line for section in composed["sections"] for line in section["lines"] if line["kind"] == "profile"):
        talk = talks.get(line["id"], name)
        from_elsewhere = world.run_id(talk) != world.run_id(name)
        assert ("profiles_in_rooms: all" in line["reason"]) == from_elsewhere, line
        assert (world.run_id(talk) in line["reason"]) == from_elsewhere, line
        assert bool(line["links"]) == (line["id"] in talks), line
