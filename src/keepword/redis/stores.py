"""The stores of working memory, ledger and buffer that share one connection to Redis."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keepword.redis.buffer import RedisBuffer
from keepword.redis.client import connect
from keepword.redis.working import RedisFields, RedisLedger
from keepword.working import WorkingStores
from keepword.working.ports import Snapshots


@asynccontextmanager
async def working_stores(url: str, transcript: Snapshots) -> AsyncIterator[WorkingStores]:
    """Lend the stores. An absent Redis does not keep Keepword from starting."""
    client = connect(url)
    try:
        yield WorkingStores(RedisFields(client), RedisLedger(client), RedisBuffer(client, transcript))
    finally:
        await client.aclose()
