"""Memory for one client of the Model Context Protocol, over stdin and stdout."""

import sys
from typing import Annotated, Any

import anyio
import anyio.to_thread
import typer

from keepword import mcp as protocol
from keepword.cli.messages import AsAgent, AsUser
from keepword.cli.remote import Remote
from keepword.errors import KeepwordError


class RemoteMemory:
    """Memory as the running service answers for it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def search(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call("POST", "/v1/search", arguments, None)

    async def browse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call("GET", "/v1/browse", None, arguments)

    async def stats(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call("GET", "/v1/stats", None, arguments)

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None, query: dict[str, Any] | None
    ) -> dict[str, Any]:
        found: dict[str, Any] = await anyio.to_thread.run_sync(self._remote.call, method, path, body, query)
        return found


def mcp(
    place: Annotated[
        str | None, typer.Option("--in", help="Read in this conversation's place where a call names none.")
    ] = None,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Serve memory_search, memory_browse and memory_stats to an MCP client over stdin and stdout."""
    try:
        Remote(timeout_seconds=3).call("GET", "/healthz")
    except KeepwordError as exc:
        # it may be started later; until then each call answers with this
        print(f"keepword: {exc}", file=sys.stderr)
    anyio.run(protocol.serve_stdio, protocol.make_server(RemoteMemory(Remote(agent, user)), place))
