"""Working memory, ledger and buffer through the failover of a real Redis: with sentinels, and in a cluster."""

import asyncio
import subprocess
import time
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import RedisError

from keepword.access import Place, Viewer, grant
from keepword.errors import Unavailable
from keepword.model import Message
from keepword.redis import ping
from keepword.redis.buffer import RedisBuffer
from keepword.redis.client import connect
from keepword.redis.working import RedisFields, RedisLedger
from keepword.working import InjectionLedger, WorkingMemory
from patience import HANG_SECONDS
from redis_cluster import ask, cluster_of, is_linked, url_of, wait_for

pytestmark = pytest.mark.anyio

SENTINEL = """
port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor kept 127.0.0.1 {master} 2
sentinel down-after-milliseconds kept 1000
sentinel failover-timeout kept 5000
"""


@pytest.fixture
def watched(make_redis, redis_program, find_port, tmp_path):
    """Return a master, its replica, and the URL of three sentinels that watch them."""
    master = make_redis()
    replica = make_redis("--replicaof", "127.0.0.1", str(master.port))
    wait_for(lambda: is_linked(replica.port), "the replica does not follow")
    sentinels, ports = [], []
    for number in range(3):
        folder = tmp_path / f"sentinel{number}"
        folder.mkdir()
        ports.append(find_port())
        file = folder / "sentinel.conf"
        file.write_text(SENTINEL.format(port=ports[-1], folder=folder, master=master.port))
        sentinels.append(subprocess.Popen([redis_program, file, "--sentinel"], stdout=subprocess.DEVNULL))
    try:
        for port in ports:
            wait_for(lambda port=port: knows_all(port), "the sentinels do not find each other")
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        yield master, replica, f"redis+sentinel://{hosts}/kept/0"
    finally:
        for sentinel in sentinels:
            sentinel.kill()
            sentinel.wait()


def knows_all(port: int) -> bool:
    with suppress(RedisError), Redis(port=port, decode_responses=True) as client:
        return client.sentinel_master("kept")["num-other-sentinels"] == 2 and bool(client.sentinel_slaves("kept"))
    return False


@pytest.fixture
def cluster(tmp_path):
    """Return three masters of a cluster, a replica of each, and the URL of all."""
    with cluster_of(3, 3, tmp_path) as nodes:
        yield nodes[:3], nodes[3:], url_of(nodes)


class Transcript:
    """Says what version it has, and counts how often it is read instead of the buffer."""

    def __init__(self, version: str) -> None:
        self.current, self.read = version, 0

    async def version(self, *_: object) -> str:
        return self.current

    async def snapshot(self, *_: object) -> tuple[str, list]:
        self.read += 1
        return self.current, []


class Talk:
    """All three stores of one conversation."""

    def __init__(self, client, tenant_id, number: int) -> None:
        self.number = number
        self.place = Place("session", f"c{{{number}}}%", "default", conversation_id=uuid4())
        self.opened = grant(Viewer(tenant_id, "agent"), self.place)
        self.memory = WorkingMemory(RedisFields(client), self.opened, self.place)
        self.ledger = InjectionLedger(RedisLedger(client), self.opened, self.place)
        self.transcript = Transcript(f";{self.place.conversation_id}=1;")
        self.buffer = RedisBuffer(client, self.transcript)

    async def write(self) -> None:
        await self.memory.set({"a": 1, "gone": 2}, 1000)
        await self.memory.delete(["gone"])
        assert await self.ledger.mark("seen")
        at = datetime.now(UTC)
        said = Message(uuid4(), "talk", 1, "assistant", None, "ada", "hello", None, None, None, (), {}, None, at)
        self.buffer.note(self.opened, self.place, [said])
        await self.buffer.settle()

    async def check(self) -> None:
        assert await self.memory.get() == {"a": 1}
        assert not await self.ledger.mark("seen")
        assert [entry.text for entry in await self.buffer.read(self.opened, self.place, 10)] == ["hello"]
        await self.memory.set({"b": self.number}, 1000)
        assert await self.memory.get() == {"a": 1, "b": self.number}
        await self.memory.set({"a": 1}, 1000)
        await self.memory.delete(["b"])
        assert self.transcript.read == 0


@asynccontextmanager
async def talks(url: str, amount: int):
    client, tenant_id = connect(url), uuid4()
    made = [Talk(client, tenant_id, number) for number in range(amount)]
    try:
        yield made
    finally:
        await client.aclose()


async def until_served(talk: Talk) -> int:
    """Ask until it is answered; what is refused meanwhile says so at once, and is refused as Unavailable alone."""
    refused, deadline = 0, time.monotonic() + HANG_SECONDS
    while True:
        try:
            # reads only: what was refused may have been done
            await talk.memory.get()
            await talk.ledger.check("seen")
        except Unavailable:
            refused += 1
            assert time.monotonic() < deadline, "it is not served again"
            await asyncio.sleep(0.1)
        else:
            return refused


def wait_for_replicas(*ports: int) -> None:
    for port in ports:
        assert ask(port, "WAIT", 1, 60_000) == 1


async def test_what_sentinels_watch_goes_on_after_a_failover(watched, show):
    master, replica, url = watched
    await ping(url)
    async with talks(url, 20) as all_talks:
        # more at once than there are connections: those that find none free wait
        await asyncio.gather(*(talk.write() for talk in all_talks))
        await asyncio.gather(*(talk.check() for talk in all_talks))
        await asyncio.to_thread(wait_for_replicas, master.port)
        began = time.monotonic()
        master.kill()
        refused = await until_served(all_talks[0])
        show(f"sentinel: served again after {time.monotonic() - began:.1f} s, {refused} refused meanwhile")
        assert refused > 0
        for talk in all_talks:
            await until_served(talk)
            talk.buffer._rests_until = 0
            await talk.check()
        assert ask(replica.port, "ROLE")[0] == "master"


async def test_the_old_master_that_comes_back_takes_no_writes(watched):
    master, _, url = watched
    async with talks(url, 1) as (talk,):
        await talk.write()
        await asyncio.to_thread(wait_for_replicas, master.port)
        master.kill()
        await until_served(talk)
        master.start()
        await asyncio.to_thread(wait_for, lambda: ask(master.port, "ROLE")[0] == "slave", "it does not follow")
        talk.buffer._rests_until = 0
        await talk.check()


async def test_a_cluster_of_three_masters_goes_on_after_the_failover_of_one(cluster, show):
    masters, replicas, url = cluster
    await ping(url)
    async with talks(url, 30) as all_talks:
        await asyncio.gather(*(talk.write() for talk in all_talks))
        await asyncio.gather(*(talk.check() for talk in all_talks))
        held = [ask(node.port, "DBSIZE") for node in masters]
        assert min(held) > 0, held
        await asyncio.to_thread(wait_for_replicas, *(node.port for node in masters))
        began = time.monotonic()
        masters[0].kill()
        refused = 0
        for talk in all_talks:
            refused += await until_served(talk)
        show(f"cluster: all served again after {time.monotonic() - began:.1f} s, {refused} refused meanwhile")
        for talk in all_talks:
            talk.buffer._rests_until = 0
            await talk.check()
        assert ask(replicas[0].port, "ROLE")[0] == "master"


async def test_a_cluster_is_reached_while_the_first_node_of_the_url_is_dead(cluster):
    masters, replicas, url = cluster
    masters[0].kill()
    await asyncio.to_thread(wait_for, lambda: ask(replicas[0].port, "ROLE")[0] == "master", "no failover")
    async with talks(url, 3) as all_talks:
        for talk in all_talks:
            await until_served(talk)
            await talk.write()
            await talk.check()
