"""`Client`: calls a running service."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

import httpx

from keepword.client.base import BaseClient
from keepword.client.synchronous import SyncClient, blocking
from keepword.client.transport import HttpTransport, base_url, calling_headers

URL = "http://127.0.0.1:8002"
TIMEOUT_SECONDS = 60


class Client(BaseClient):
    """Calls a running service: `async with Client(url, key) as kw`. It connects when it is first used."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        at = base_url(url)
        headers = calling_headers(key, agent, user)
        super().__init__(HttpTransport(httpx.AsyncClient(base_url=at, timeout=timeout_seconds), at, headers))

    @staticmethod
    def sync(
        url: str = URL,
        key: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> AbstractContextManager[SyncClient]:
        """Return the same without await: `with Client.sync(url, key) as kw`."""
        return blocking(Client)(url, key, agent=agent, user=user, timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
