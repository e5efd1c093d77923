"""The matrix over tenants on three servers, one of each; also with a directory that lies at every request.

The servers are three databases of one PostgreSQL: to the service each is a server of its own, with connections, stores
and keys of its own.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from keepword.http import server_choice
from keepword.http.app import create_app
from keepword.http.server_choice import ServerChoice
from keepword.http.services import Server
from keepword.postgres import directory, migrate
from keepword.postgres.directory import PostgresDirectory
from keepword.postgres.pool import Pool
from leaks.conftest import PATIENT_LIMITS, client_maker, make_probes, services_of
from leaks.kinds import Stores
from leaks.settling import make_world
from leaks.test_matrix import HTTP_PARTS, request_all
from leaks.viewers import viewers
from leaks.world import World
from patience import PATIENT

pytestmark = pytest.mark.anyio

# each tenant chose otherwise what sessions and direct conversations read
SETTINGS: dict[str, dict[str, Any]] = {
    "north": {}, "south": {"session_reach": "user", "direct_reads_rooms": False}, "west": {"session_reach": "user"},
}  # fmt: skip

# the walls are those of one server, which the matrix plays; what is new here is the choice of the server
PARTS = 1 if HTTP_PARTS == 1 else 3 * HTTP_PARTS


class Up:
    is_up = True

    def __init__(self) -> None:
        self.lost = asyncio.get_running_loop().create_future()


class Lies:
    """A directory that names a server at random, and learns nothing."""

    def __init__(self) -> None:
        self.asked = 0
        self._random = random.Random(1)

    async def find(self, _key_id: str) -> str:
        self.asked += 1
        return self._random.choice([*SETTINGS, "nowhere"])

    async def note(self, *_: object) -> None: ...


class House:
    """Three servers with a tenant each, and the application over them."""

    def __init__(self) -> None:
        self.pools: dict[str, Pool] = {}
        self.owners: dict[str, Any] = {}
        self.worlds: list[World] = []

    async def settle(self, name: str, conninfo: str, stack: ExitStack) -> None:
        self.owners[name] = stack.enter_context(migrate.owner(conninfo))
        make_probes(self.owners[name])
        self.pools[name] = Pool(conninfo, PATIENT)
        await self.pools[name].open()
        self.worlds.append(await make_world(self.owners[name], self.pools[name], **SETTINGS[name]))

    def client_of(self, number: int, hints) -> Any:
        """Make clients of one tenant; they go to the application of all servers."""
        servers = {
            name: Server(name, services_of(pool, Stores(pool, first_wall=False)), Up())
            for name, pool in self.pools.items()
        }
        first = next(iter(servers.values())).services
        services = replace(first, servers=ServerChoice(servers, hints))
        make = client_maker({True: create_app(services, PATIENT_LIMITS)}, list(self.owners.values())[number])
        return partial(make, self.worlds[number])


@pytest.fixture(scope="module")
async def house(make_migrated_database) -> AsyncIterator[House]:
    made = House()
    with ExitStack() as stack:
        for name in SETTINGS:
            await made.settle(name, make_migrated_database(), stack)
        yield made
        await asyncio.gather(*(pool.close() for pool in made.pools.values()))


@pytest.mark.parametrize("number", range(len(SETTINGS)))
async def test_http_over_three_servers_shows_what_the_design_says_and_no_more(house, number, tally):
    hints = PostgresDirectory(house.pools["north"])
    those = viewers(house.worlds[number], ("reader",), bound=True)
    await request_all(house.worlds, house.worlds[number], house.client_of(number, hints), tally, those, PARTS)
    place = directory.place_of(house.owners["north"], house.worlds[number].id)
    assert place == list(SETTINGS)[number]


@pytest.mark.parametrize("number", range(len(SETTINGS)))
async def test_http_shows_no_more_by_a_directory_that_lies_at_each_request(house, number, tally, show, monkeypatch):
    monkeypatch.setattr(server_choice, "KNOWN_KEYS", 0)
    lies = Lies()
    those = viewers(house.worlds[number], ("reader",), bound=True)
    await request_all(house.worlds, house.worlds[number], house.client_of(number, lies), tally, those, PARTS)
    show(f"requests that a directory lied about: {lies.asked:,}")
    assert lies.asked > len(those)
