"""Every operation works on a real Redis Cluster of two nodes, also while its script cache is empty."""

import time
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from redis import Redis

from keepword.access import Place, Viewer, grant
from keepword.errors import Unavailable
from keepword.model import Message
from keepword.redis.buffer import RedisBuffer
from keepword.redis.client import connect
from keepword.redis.working import RedisFields, RedisLedger
from keepword.working import InjectionLedger, WorkingMemory
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

SLOTS = 16384


@pytest.fixture
def cluster(make_redis, tmp_path):
    """Return the URL of a cluster whose two nodes have half of the slots each."""
    nodes = [
        make_redis("--cluster-enabled", "yes", "--dir", str(tmp_path), "--cluster-config-file", f"node{number}")
        for number in range(2)
    ]
    clients = [Redis(port=node.port, decode_responses=True) for node in nodes]
    for number, client in enumerate(clients):
        client.execute_command("CLUSTER", "ADDSLOTS", *range(number * SLOTS // 2, (number + 1) * SLOTS // 2))
    clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port)
    deadline = time.monotonic() + HANG_SECONDS
    for client in clients:
        while "cluster_state:ok" not in str(client.execute_command("CLUSTER", "INFO")).replace("'", "").replace(
            " ", ""
        ):
            assert time.monotonic() < deadline, "the cluster does not form"
            time.sleep(0.05)
        client.close()
    return nodes[0].url.replace("redis://", "redis+cluster://")


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
async def test_a_server_that_is_not_there_is_unavailable(scheme, make_redis):
    server = make_redis()
    server.kill()
    client = connect(server.url.replace("redis://", f"{scheme}://"), HANG_SECONDS, HANG_SECONDS)
    place = Place("session", "c", "default", conversation_id=uuid4())
    opened = grant(Viewer(uuid4(), "agent"), place)
    for _ in range(2):
        with pytest.raises(Unavailable, match="Redis does not serve"):
            await WorkingMemory(RedisFields(client), opened, place).get()
    await client.aclose()


class Transcript:
    """Says what version it has, and that the buffer must not ask for more."""

    def __init__(self, version: str) -> None:
        self.current = version

    async def version(self, *_: object) -> str:
        return self.current

    async def snapshot(self, *_: object) -> tuple[str, list]:
        raise AssertionError("the cached buffer should have been taken")


async def test_every_operation_works_on_a_cluster(cluster):
    tenant_id, client = uuid4(), connect(cluster, HANG_SECONDS, HANG_SECONDS)
    fields, marks = RedisFields(client), RedisLedger(client)
    for number in range(20):  # names that fall on both nodes
        place = Place("session", f"c{{{number}}}%", "default", conversation_id=uuid4())
        viewer = Viewer(tenant_id, "agent")
        opened = grant(viewer, place)
        memory, ledger = WorkingMemory(fields, opened, place), InjectionLedger(marks, opened, place)
        await memory.set({"a": 1, "b": "x"}, 100)
        assert await memory.get() == {"a": 1, "b": "x"}
        await memory.delete(["a"])
        assert await memory.get() == {"b": "x"}
        await memory.delete()
        assert await memory.get() == {}
        assert await ledger.mark("k")
        assert not await ledger.mark("k")
        assert await ledger.check("k") == "injected"
        assert await ledger.get() == {"k": "injected"}
        assert await ledger.evict("k")
        buffer = RedisBuffer(client, Transcript(f";{place.conversation_id}=1;"))
        at = datetime.now(UTC)
        message = Message(uuid4(), "talk", 1, "assistant", None, "ada", "hello", None, None, None, (), {}, None, at)
        buffer.note(opened, place, [message])
        await buffer.settle()
        assert [entry.text for entry in await buffer.read(opened, place, 10)] == ["hello"]
    await client.aclose()
