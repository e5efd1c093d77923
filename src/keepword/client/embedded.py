"""`Keepword`: runs the service's application in this process, without a network."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from keepword.client.base import BaseClient
from keepword.client.synchronous import blocking
from keepword.client.transport import HttpTransport, calling_headers, given


class Keepword(BaseClient):
    """Opens a Keepword of its own: `async with Keepword.open() as kw`."""

    @staticmethod
    @asynccontextmanager
    async def open(
        *,
        data: str | Path | None = None,
        database_url: str | None = None,
        redis_url: str | None = None,
        tenant: str = "default",
        key: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        environment: bool = True,
        **settings: Any,
    ) -> "AsyncIterator[Keepword]":
        """Run the database and the background work as long as this is open; raises StartError if that can't be.

        `data` is the data folder, `database_url` another PostgreSQL instead of the one in it. Other settings come by
        their names, as `worker=False`; what is not given comes from KEEPWORD_* variables and keepword.toml, unless
        `environment` is False. Without a key this is the owner of the tenant, which is made if it is new. `sync` is
        the same without await.
        """
        # loaded here: the service takes a second or more to load, and a client needs none of it
        service = await asyncio.to_thread(importlib.import_module, "keepword.inprocess")
        chosen = {**given(home=data, database_url=database_url, redis_url=redis_url), **settings}
        headers = calling_headers(key, agent, user)
        async with (
            service.open_app(tenant, chosen, environment=environment) as app,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http,
        ):
            yield Keepword(HttpTransport(http, "the Keepword in this process", headers))

    sync = staticmethod(blocking(open))  # noqa: A003 - the one above
