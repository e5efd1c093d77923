"""What erasures delete in Redis: working memory, ledger and buffer of conversations, or all of a tenant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from keepword.erasure.ports import ErasedScope
from keepword.redis.client import Client, connect, key, mapped_errors


class RedisEraser:
    def __init__(self, client: Client) -> None:
        self._client: Any = client  # redis-py's types don't tell sync from async

    async def wipe(self, scope: ErasedScope) -> None:
        with mapped_errors():
            if scope.kind == "tenant":
                async for one in self._client.scan_iter(match=f"{scope.tenant_id}:*"):
                    await self._client.delete(one)
                return
            kept = [
                *(key(scope.tenant_id, "buffer", run_id) for run_id in scope.run_ids),
                *(
                    key(scope.tenant_id, what, name)
                    for name in scope.names
                    for what in ("working_memory", "working_memory_ttl", "skill:ledger")
                ),
            ]
            for one in kept:
                await self._client.delete(one)


@asynccontextmanager
async def outside_store(url: str) -> AsyncIterator[RedisEraser]:
    client = connect(url)
    try:
        yield RedisEraser(client)
    finally:
        await client.aclose()
