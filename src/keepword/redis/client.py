"""The connection to Redis, a Redis Cluster or what sentinels watch, and the one place where the driver's errors end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any
from uuid import UUID

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from keepword.errors import Unavailable
from keepword.redis.address import CLUSTER, SENTINEL, Addresses, parse

# a healthy Redis answers in well under a millisecond; a longer wait is refused with Retry-After
ANSWER_SECONDS = 2
# on a busy machine it is this process that is late, not Redis: a burst of requests shares few connections, and a
# connection that is late is not an error yet (a server that is down refuses at once)
CONNECT_SECONDS = 5
CONNECTIONS = 16

Client = Redis | RedisCluster


def connect(url: str, answer_seconds: float = ANSWER_SECONDS, connect_seconds: float = CONNECT_SECONDS) -> Client:
    """Make a client; it connects when it is first used, and again after every loss.

    `redis+cluster://` follows a cluster's redirections, `redis+sentinel://` asks the sentinels for the master each time
    that a connection is made.
    """
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": answer_seconds,
        "socket_connect_timeout": connect_seconds,
        "max_connections": CONNECTIONS,
        # none: a dead connection is noticed before it is lent, and a mark must not be sent twice
        "retry": Retry(NoBackoff(), 0),
    }
    addresses = parse(url)
    if addresses.scheme.endswith(CLUSTER):
        return _cluster(url, addresses, options)
    if addresses.scheme.endswith(SENTINEL):
        return _of_sentinels(addresses, options, connect_seconds)
    return Redis.from_pool(BlockingConnectionPool.from_url(url, timeout=connect_seconds, **options))


def _cluster(url: str, addresses: Addresses, options: dict[str, Any]) -> Client:
    # the driver reads URLs of one host: the others are told beside it
    first, *others = addresses.hosts
    hosts = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    one = url.replace(CLUSTER, "", 1).replace(hosts, hosts.partition(",")[0], 1)
    nodes = [ClusterNode(*host) for host in (first, *others)]
    # every fifth redirection would close all connections, those in use as well; each tells the slot's new place anyway
    return _Cluster.from_url(one, startup_nodes=nodes, reinitialize_steps=0, **options)


class _Cluster(RedisCluster):
    """Waits where the driver refuses: its connections to a node are as many as it may make at once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._turns = asyncio.Semaphore(CONNECTIONS)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with asyncio.timeout(CONNECT_SECONDS):
            await self._turns.acquire()
        try:
            return await super().execute_command(*args, **kwargs)
        finally:
            self._turns.release()


def _of_sentinels(addresses: Addresses, options: dict[str, Any], connect_seconds: float) -> Client:
    told = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout", "retry")}
    login = {
        "username": addresses.options.get("sentinel_username"),
        "password": addresses.options.get("sentinel_password"),
    }
    make_sentinel: Any = Sentinel  # the driver has no types for these
    make_pool: Any = _MasterPool
    sentinel = make_sentinel(addresses.hosts, sentinel_kwargs=told | login | {"ssl": addresses.is_tls})
    pool: _MasterPool = make_pool(
        addresses.service, sentinel, timeout=connect_seconds, ssl=addresses.is_tls, username=addresses.username,
        password=addresses.password, db=addresses.database, **options,
    )  # fmt: skip
    return Redis.from_pool(pool)


class _MasterPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to the master; who finds none free waits for one, and is not refused."""

    async def disconnect(self, inuse_connections: bool = True) -> None:
        await super().disconnect(inuse_connections)
        if inuse_connections:  # at its end; a change of the master leaves those in use alone
            for sentinel in self.sentinel_manager.sentinels:
                await sentinel.aclose()


async def ping(url: str) -> None:
    """Raise Unavailable if nobody answers there."""
    client = connect(url)
    try:
        with mapped_errors():
            await client.ping()
    finally:
        await client.aclose()


def script(client: Client, name: str) -> Any:
    """Return a Lua script that is sent by its digest, and in full where the server does not know it (any more)."""
    text = resources.files(__package__).joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
    return client.register_script(text)


@contextmanager
def mapped_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, RedisClusterException, OSError, TimeoutError) as exc:
        raise Unavailable(
            "Redis does not serve this now, so there is no working memory and no ledger. Try again in a moment"
        ) from exc


def key(tenant_id: UUID, what: str, tagged: str) -> str:
    """Return a key whose slot is decided by what is in braces, so that a conversation's keys lie together."""
    # braces of a caller's own would end the tag early
    safe = tagged.replace("%", "%25").replace("{", "%7B").replace("}", "%7D")
    return f"{tenant_id}:{what}:{{{safe}}}"
