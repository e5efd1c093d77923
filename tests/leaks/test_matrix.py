"""Every viewer in every place against every stored thing: what is seen is what the oracle says, cell by cell."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest

from keepword.access import Grant, Viewer
from leaks import oracle
from leaks.kinds import KINDS, PROFILES, Kind, Read, Stores
from leaks.oracle import Thing, Where
from leaks.settling import make_world
from leaks.viewers import ROLES, Tally, half_bound, look_everywhere, viewers
from leaks.world import World

pytestmark = pytest.mark.anyio

# a busy machine must not keep any of them waiting for a connection until it is refused
AT_ONCE = 64
# over HTTP each viewer makes every sixth request, and six beside each other make all; LEAKS=all: each makes all
HTTP_PARTS = 1 if os.environ.get("LEAKS") == "all" else 6


async def play(worlds: list[World], world: World, stores: Stores, kinds: Sequence[Kind], read, tally: Tally) -> None:
    """Compare what `read` finds, kind by kind, with the oracle, for every viewer of `world` in every place."""
    things = [[thing for each in worlds for thing in kind.things(each)] for kind in kinds]
    async for viewer, where, opened in look_everywhere(stores, world):
        reach = oracle.reach(world, viewer, where)
        found = await read(opened)
        for kind, those, markers in zip(kinds, things, found, strict=True):
            what = f"{kind.table} for {viewer} in {where}"
            tally.compare(what, len(those), markers, oracle.seen(world, reach, those))


async def test_raw_sql_without_any_filter_shows_what_the_design_says_and_no_more(worlds, leaks_pool, tally):
    known: dict[Grant, list[set[str]]] = {}

    async def read(opened: Grant) -> list[set[str]]:
        if opened not in known:
            async with leaks_pool.granted(opened) as conn:
                cursors = [await conn.execute(kind.sql) for kind in KINDS]
            known[opened] = [{marker for (marker,) in await cursor.fetchall()} for cursor in cursors]
        return known[opened]

    for world in worlds:
        await play(worlds, world, Stores(leaks_pool), KINDS, read, tally)


async def test_the_stores_show_what_the_design_says_and_no_more(worlds, leaks_pool, tally):
    for world in worlds:
        await read_all(worlds, world, Stores(leaks_pool), tally)


async def test_the_stores_leak_nothing_with_the_second_wall_alone(worlds, leaks_pool, tally):
    await read_all(worlds, worlds[0], Stores(leaks_pool, first_wall=False), tally)


async def test_the_stores_leak_nothing_with_the_first_wall_alone(worlds, unwalled_pool, tally):
    await read_all(worlds, worlds[1], Stores(unwalled_pool), tally)


async def read_all(worlds: list[World], world: World, stores: Stores, tally: Tally) -> None:
    kinds = [kind for kind in (*KINDS, PROFILES) if kind.store]
    known: dict[Grant, list[set[str]]] = {}

    async def read(opened: Grant) -> list[set[str]]:
        # what may be written does not change what is read: raw SQL shows that above
        key = replace(opened, writes=None, vouches=False, owner=False, shares=frozenset())
        if key not in known:
            known[key] = [await kind.store(stores, opened, world) for kind in kinds]
        return known[key]

    await play(worlds, world, stores, kinds, read, tally)


async def test_http_shows_a_bound_key_what_the_design_says_and_no_more(worlds, make_client, tally):
    those = viewers(worlds[0], ROLES, bound=True)
    await request_all(worlds, worlds[0], partial(make_client, worlds[0]), tally, those)


async def test_http_shows_who_asks_with_headers_what_the_design_says_and_no_more(worlds, make_client, tally):
    """With an admin's key, which opens most."""
    those = viewers(worlds[1], ("admin",), bound=False)
    await request_all(worlds, worlds[1], partial(make_client, worlds[1]), tally, those)


async def test_http_shows_a_key_that_names_the_other_by_a_header_what_the_design_says(worlds, make_client, tally):
    """An agent's key that names a user, and a user's key that names an agent."""
    those = half_bound(worlds[0], ("agent",))
    await request_all(worlds, worlds[0], partial(make_client, worlds[0]), tally, those)


async def test_http_leaks_nothing_with_the_second_wall_alone(worlds, make_client, tally):
    # all roles read alike; the test above compares them
    client_of = partial(make_client, worlds[0], first_wall=False)
    await request_all(worlds, worlds[0], client_of, tally, viewers(worlds[0], ("reader",), bound=True))


async def request_all(
    worlds: list[World], world: World, client_of, tally: Tally, those: Sequence[Viewer], parts: int = HTTP_PARTS
) -> None:
    reads = [
        (read, [thing for each in worlds for thing in kind.things(each)])
        for kind in (*KINDS, PROFILES)
        if kind.http
        for read in kind.http(world)
    ]
    for number, viewer in enumerate(those):
        async with client_of(viewer) as client:
            for some in batched(reads[number % parts :: parts]):
                await asyncio.gather(*(_compare(client, world, viewer, *each, tally) for each in some))


def batched(reads: Sequence[Any], size: int = 50) -> Iterator[Sequence[Any]]:
    """Split: all at once would wait for a connection longer than the pool lets anyone wait."""
    return (reads[start : start + size] for start in range(0, len(reads), size))


async def _compare(client, world: World, viewer: Viewer, read: Read, things: list[Thing], tally: Tally) -> None:
    reach = oracle.reach(world, viewer, read.where)
    answer = await (client.get(read.path) if read.body is None else client.post(read.path, json=read.body))
    what = f"{read.path} for {viewer}"
    if answer.status_code != (200 if reach.enters else 404 if reach.hides else read.refusal):
        tally.wrong.append(f"{what}: status {answer.status_code}")
    found = read.markers(answer.json()) if answer.status_code == 200 else set()
    asked = things if read.about is None else [thing for thing in things if thing.marker in read.about]
    # who is not let in sees nothing, not even what is open to all inside
    tally.compare(what, len(things), found, oracle.seen(world, reach, asked) if reach.enters else set())


async def test_http_lets_write_where_the_design_says_and_nowhere_else(owner, leaks_pool, make_client, tally):
    """In a tenant of its own, because what may be written is written."""
    world = await make_world(owner, leaks_pool)
    for viewer in (*viewers(world, ROLES, bound=True), *half_bound(world, ("agent",))):
        async with make_client(world, viewer) as client:
            await asyncio.gather(*(_write(client, world, viewer, name, tally) for name in world.talks))


async def _write(client: httpx.AsyncClient, world: World, viewer: Viewer, name: str, tally: Tally) -> None:
    reach = oracle.reach(world, viewer, Where("in", name))
    expected = 403 if viewer.role == "reader" else 404 if not reach.enters else 200
    path = f"/v1/conversations/{name}"
    answers = {"patched": await client.patch(path, json={"active": True})}
    for role in ("user", "assistant", "system", "tool"):
        answers[role] = await client.post(f"{path}/messages", json={"role": role, "content": "here"})
    for what, answer in answers.items():
        found = 200 if answer.status_code == 201 else answer.status_code
        is_refused = expected == 200 and what != "patched" and what not in oracle.speaks(viewer)
        tally.compare(f"{what} {path} for {viewer}", 1, {found}, {403 if is_refused else expected})
