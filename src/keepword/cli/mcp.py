"""Memory for one client of the Model Context Protocol, over stdin and stdout."""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import typer

from keepword import mcp as protocol
from keepword.cli.service import AsAgent, AsUser, plain, service
from keepword.client import SyncClient
from keepword.errors import KeepwordError
from keepword.model import Reach


class RemoteMemory:
    """Memory as the running service answers for it."""

    def __init__(self, kw: SyncClient) -> None:
        self._kw = kw

    async def search(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call(self._kw.search, arguments)

    async def browse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        # an agent reads here: what was retracted is for people
        return await self._call(self._kw.browse, arguments | {"retracted": False})

    async def stats(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call(self._kw.stats, arguments)

    async def may_write(self) -> bool:
        try:
            caller = await self.request("GET", "/v1/whoami")
        except KeepwordError:
            return True  # each call says then what is wrong
        return str(caller["role"]) != "reader"

    async def request(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body)
        call = partial(self._kw.request, method, path, body=sent, query=query)
        answered = await anyio.to_thread.run_sync(call)
        answer: dict[str, Any] = json.loads(answered) if answered else {}
        return answer

    @staticmethod
    async def _call(method: Callable[..., object], arguments: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = plain(await anyio.to_thread.run_sync(partial(method, **arguments)))
        return answer


def mcp(
    place: Annotated[
        str | None, typer.Option("--in", help="Read and write in this conversation's place where a call names none.")
    ] = None,
    reach: Annotated[
        Reach, typer.Option(help="Which sessions to read from a session where a call names none.")
    ] = "user",
    agent: AsAgent = None,
    user: AsUser = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="A file with the API key, in place of KEEPWORD_KEY.")
    ] = None,
) -> None:
    """Serve memory to an MCP client over stdin and stdout: tools that search and read, and for writers that write."""
    try:
        with service(timeout_seconds=3, key_file=key_file) as kw:
            kw.request("GET", "/healthz")
    except KeepwordError as exc:
        # it may be started later; until then each call answers with this
        print(f"keepword: {exc}", file=sys.stderr)
    with service(agent, user, key_file=key_file) as kw:
        anyio.run(protocol.serve_stdio, protocol.make_server(RemoteMemory(kw), place, reach))
