"""The connection to Redis or a Redis Cluster, and the one place where the driver's errors end."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any
from uuid import UUID

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from keepword.errors import Unavailable

# a healthy Redis answers in well under a millisecond; who waits longer is better told to come back
ANSWER_SECONDS = 2
# on a busy machine it is this process that is late, not Redis: a burst of requests shares few connections, and a
# connection that is late is not an error yet (a server that is down refuses at once)
CONNECT_SECONDS = 5
CONNECTIONS = 16
CLUSTER = "+cluster"

Client = Redis | RedisCluster


def connect(url: str, answer_seconds: float = ANSWER_SECONDS, connect_seconds: float = CONNECT_SECONDS) -> Client:
    """Make a client; it connects when it is first used, and again after every loss.

    `redis+cluster://` and `rediss+cluster://` follow a cluster's redirections.
    """
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": answer_seconds,
        "socket_connect_timeout": connect_seconds,
        "max_connections": CONNECTIONS,
        # none: a dead connection is noticed before it is lent, and a mark must not be sent twice
        "retry": Retry(NoBackoff(), 0),
    }
    if CLUSTER in url.partition("://")[0]:
        return RedisCluster.from_url(url.replace(CLUSTER, "", 1), **options)
    return Redis.from_pool(BlockingConnectionPool.from_url(url, timeout=connect_seconds, **options))


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
