"""The choice among several database servers: a hint saves questions, and only a server that has the key is used."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from keepword.access.keys import StoredKey
from keepword.errors import TenantMoved, Unavailable
from keepword.http import server_choice
from keepword.http.server_choice import ServerChoice
from keepword.http.services import Server
from keepword.model import Key

pytestmark = pytest.mark.anyio


@dataclass
class FakeKeys:
    """What a server has: keys, and those of tenants that live elsewhere."""

    here: dict[str, UUID] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hangs: bool = False
    fails: bool = False

    async def find(self, key_id, _external_id):
        self.asked.append(key_id)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise Unavailable("the database is away")
        if key_id in self.elsewhere:
            raise TenantMoved(self.elsewhere[key_id])
        tenant = self.here.get(key_id)
        return None if tenant is None else (StoredKey(Key(key_id, tenant, "t", "admin"), b"", None, None), None)


class FakeHealth:
    def __init__(self) -> None:
        self.lost = asyncio.get_running_loop().create_future()

    @property
    def is_up(self) -> bool:
        return not self.lost.done()

    def lose(self) -> None:
        self.lost.set_result(None)


class FakeDirectory:
    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self.asked = 0

    async def find(self, key_id):
        self.asked += 1
        return self.places.get(key_id)

    async def note(self, key_id, _tenant, server):
        self.places[key_id] = server


class Several:
    def __init__(self) -> None:
        self.keys = {name: FakeKeys() for name in "abc"}
        self.health = {name: FakeHealth() for name in "abc"}
        self.directory = FakeDirectory()
        self.choice = self.another_process()

    def another_process(self) -> ServerChoice:
        servers = {name: Server(name, SimpleNamespace(keys=self.keys[name]), self.health[name]) for name in self.keys}
        return ServerChoice(servers, self.directory)

    async def find(self, key_id: str) -> str | None:
        found = await self.choice.find(key_id, None)
        await asyncio.sleep(0)  # the directory is corrected in the background
        return found[0].name if found else None

    @property
    def asked(self) -> dict[str, int]:
        return {name: len(keys.asked) for name, keys in self.keys.items()}


@pytest.fixture
async def several() -> Several:
    return Several()


async def test_a_key_is_found_by_the_directory_without_asking_the_other_servers(several):
    several.keys["b"].here["key"] = uuid4()
    several.directory.places["key"] = "b"
    assert await several.find("key") == "b"
    assert await several.find("key") == "b"
    assert several.asked == {"a": 0, "b": 2, "c": 0}
    assert several.directory.asked == 1, "what a process knows it asks nobody"


async def test_a_key_that_is_in_no_directory_is_found_by_asking_all_and_then_noted(several):
    several.keys["c"].here["key"] = uuid4()
    assert await several.find("key") == "c"
    assert several.directory.places == {"key": "c"}
    assert await several.find("key") == "c"
    assert several.asked == {"a": 1, "b": 1, "c": 2}


async def test_a_directory_that_lies_is_corrected_and_not_obeyed(several):
    several.keys["c"].here["key"] = uuid4()
    for lie in ("a", "nowhere"):
        several.choice = several.another_process()
        several.directory.places["key"] = lie
        assert await several.find("key") == "c"
        assert several.directory.places == {"key": "c"}


async def test_a_server_that_gave_a_tenant_away_says_where_it_lives(several):
    several.keys["a"].here["key"] = uuid4()
    assert await several.find("key") == "a"
    several.keys["a"].elsewhere["key"] = "b"
    several.keys["b"].here["key"] = uuid4()
    assert await several.find("key") == "b"
    assert several.asked["c"] == 1, "only at first"
    assert several.directory.places == {"key": "b"}


async def test_a_tenant_between_two_servers_is_waited_for(several):
    several.keys["a"].elsewhere["key"] = "b"
    several.keys["b"].elsewhere["key"] = "a"
    several.directory.places["key"] = "a"
    finding = asyncio.create_task(several.find("key"))
    await asyncio.sleep(server_choice.MOVE_LOOK_SECONDS / 2)
    assert not finding.done()
    del several.keys["b"].elsewhere["key"]
    several.keys["b"].here["key"] = uuid4()
    assert await finding == "b"


async def test_a_tenant_that_stays_between_two_servers_is_refused_for_now(several, monkeypatch):
    monkeypatch.setattr(server_choice, "MOVE_SECONDS", 0.1)
    several.keys["a"].elsewhere["key"] = "b"
    several.keys["b"].elsewhere["key"] = "a"
    with pytest.raises(Unavailable, match="being moved between the servers a and b"):
        await several.find("key")


async def test_a_server_that_is_not_in_the_settings_is_named(several):
    several.keys["a"].elsewhere["key"] = "west"
    with pytest.raises(TenantMoved, match="'west'"):
        await several.find("key")


async def test_a_key_that_nobody_made_is_unknown_only_if_every_server_said_so(several):
    assert await several.find("key") is None
    several.health["b"].lose()
    with pytest.raises(Unavailable, match="the database server b is away"):
        await several.find("key")


async def test_the_tenants_of_a_server_that_is_down_ask_the_others_once_in_a_while(several):
    several.keys["b"].here["key"] = uuid4()
    assert await several.find("key") == "b"
    several.health["b"].lose()
    before = several.asked
    for _ in range(5):
        with pytest.raises(Unavailable, match="server b is away"):
            await several.find("key")
    assert several.asked == before | {"a": before["a"] + 1, "c": before["c"] + 1}
    several.health["b"] = FakeHealth()
    several.choice = several.another_process()
    assert await several.find("key") == "b"


@pytest.mark.parametrize("down", ["a", "b"])
async def test_a_directory_that_leads_to_a_server_that_is_down_keeps_nobody_from_theirs(several, down):
    """The first server has the directory: where that one is down, all others are asked."""
    several.keys["c"].here["key"] = uuid4()
    several.directory.places["key"] = down
    several.health[down].lose()
    assert await several.find("key") == "c"


async def test_a_server_that_fails_before_its_health_is_known_keeps_nobody_from_theirs(several):
    several.keys["c"].here["key"] = uuid4()
    several.keys["a"].fails = True
    assert await several.find("key") == "c"


async def test_a_server_that_hangs_is_not_waited_for_once_it_is_lost(several):
    several.keys["b"].hangs = True
    several.directory.places["key"] = "b"
    finding = asyncio.create_task(several.find("key"))
    await asyncio.sleep(0.01)
    several.health["b"].lose()
    with pytest.raises(Unavailable, match="server b is away"):
        await asyncio.wait_for(finding, 1)


async def test_a_directory_that_is_slow_is_not_waited_for(several, monkeypatch):
    monkeypatch.setattr(server_choice, "HINT_SECONDS", 0.01)
    several.keys["b"].here["key"] = uuid4()
    answered = asyncio.Event()
    several.directory.find = lambda _: answered.wait()
    assert await several.find("key") == "b"
    answered.set()
