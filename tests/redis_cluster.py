"""Real Redis clusters and what tests ask of their nodes."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from redis import Redis

from conftest import RedisServer
from patience import HANG_SECONDS

SLOTS = 16384


def wait_for(question, what: str) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not question():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def ask(port: int, *command: object) -> object:
    with Redis(port=port, decode_responses=True) as client:
        return client.execute_command(*command)


def is_linked(port: int) -> bool:
    """Tell whether a replica is connected to its master."""
    with Redis(port=port, decode_responses=True) as client:
        return client.info("replication").get("master_link_status") == "up"


@contextmanager
def cluster_of(masters: int, replicas: int, folder: Path) -> Iterator[Sequence[RedisServer]]:
    """Lend the nodes of a cluster that is whole; each of the replicas follows the master of its number."""
    nodes = [
        RedisServer(
            "--cluster-enabled", "yes", "--dir", str(folder), "--cluster-config-file", f"node{number}",
            "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
        ).start()
        for number in range(masters + replicas)
    ]  # fmt: skip
    try:
        _join(nodes[:masters], nodes[masters:])
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def url_of(nodes: Sequence[RedisServer]) -> str:
    return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in nodes)}"


def _join(masters: Sequence[RedisServer], replicas: Sequence[RedisServer]) -> None:
    share = SLOTS / len(masters)
    for number, node in enumerate(masters):
        ask(node.port, "CLUSTER", "ADDSLOTS", *range(round(number * share), round((number + 1) * share)))
    nodes = [*masters, *replicas]
    for number, node in enumerate(nodes):
        ask(node.port, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        ask(masters[0].port, "CLUSTER", "MEET", "127.0.0.1", node.port)
    for node in nodes:
        wait_for(lambda node=node: _knows(node.port) == len(nodes), "the nodes do not meet")
    for master, replica in zip(masters, replicas, strict=False):
        ask(replica.port, "CLUSTER", "REPLICATE", ask(master.port, "CLUSTER", "MYID"))
    for replica in replicas:
        wait_for(lambda replica=replica: is_linked(replica.port), "a replica does not follow")
    for node in nodes:
        wait_for(lambda node=node: _is_whole(node.port), "the cluster does not form")


def _knows(port: int) -> int:
    with Redis(port=port, decode_responses=True) as client:
        return len(client.cluster("NODES"))


def _is_whole(port: int) -> bool:
    with Redis(port=port, decode_responses=True) as client:
        return client.cluster("INFO")["cluster_state"] == "ok"
