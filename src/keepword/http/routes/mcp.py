"""The Model Context Protocol over HTTP: the same keys, guards and answers as REST."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import from_json, to_json
from starlette.types import Message, Receive, Scope, Send

from keepword import mcp
from keepword.answers import MessagePage, SearchResults, Stats
from keepword.http import memory_queries
from keepword.http.body import JsonBody, read_bounded, require_json
from keepword.http.guards import WRITE, Caller, CallerDep
from keepword.http.own_routes import OwnRoutes
from keepword.http.queries import BrowseQuery, McpQuery, StatsQuery
from keepword.http.responses import as_json, dump
from keepword.http.schemas import SearchBody
from keepword.model import Reach

# no GET: nothing is ever sent that was not asked for
router = APIRouter(include_in_schema=False)

# of JSON-RPC
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_search: JsonBody[SearchBody] = JsonBody(SearchBody)
_browse: JsonBody[BrowseQuery] = JsonBody(BrowseQuery)
_stats: JsonBody[StatsQuery] = JsonBody(StatsQuery)


class OwnMemory:
    """Memory as one caller may read and write it, in this process."""

    def __init__(self, caller: Caller, routes: OwnRoutes) -> None:
        self._caller = caller
        self._routes = routes

    async def search(self, arguments: dict[str, Any]) -> dict[str, Any]:
        results = await memory_queries.search(self._caller, _search.parse(to_json(arguments)))
        return _plain(dump(SearchResults, results))

    async def browse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        page = await memory_queries.browse(self._caller, _browse.parse(to_json(arguments | {"retracted": False})))
        return _plain(dump(MessagePage, page))

    async def stats(self, arguments: dict[str, Any]) -> dict[str, Any]:
        report = await memory_queries.report(self._caller, _stats.parse(to_json(arguments)))
        return _plain(dump(Stats, report))

    async def may_write(self) -> bool:
        return self._caller.key.role in WRITE

    async def request(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        content = await self._routes.call(method, path, query, None if body is None else to_json(body))
        return _plain(content) if content else {}


def _plain(answer: bytes) -> dict[str, Any]:
    plain: dict[str, Any] = from_json(answer)
    return plain


class _Answer(Response):
    """A response that the protocol's own transport writes."""

    def __init__(self, memory: mcp.Memory, place: str | None, reach: Reach, body: bytes) -> None:
        super().__init__()
        self._sent: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self._memory = memory
        self._place = place
        self._reach = reach

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.to_thread(mcp.load)

        async def read_again() -> Message:
            return self._sent.pop() if self._sent else await receive()

        await mcp.answer(mcp.make_server(self._memory, self._place, self._reach), scope, read_again, send)


def _fault(body: bytes) -> dict[str, Any] | None:
    """Return what is wrong with a message of the protocol; the transport would answer in its validator's words."""
    try:
        sent = from_json(body)
    except ValueError as exc:
        return {"code": _PARSE_ERROR, "message": f"the body is no JSON: {exc}"}
    fault = _wrong(sent) if isinstance(sent, dict) else "the body is not one JSON object; send each message by itself"
    return {"code": _INVALID_REQUEST, "message": fault} if fault else None


def _wrong(sent: dict[str, Any]) -> str | None:
    is_answer = "result" in sent or "error" in sent
    faults = {
        'jsonrpc is missing or is not "2.0"': sent.get("jsonrpc") != "2.0",
        "method is missing or is no text": not is_answer and not isinstance(sent.get("method"), str),
        "params is no object": not isinstance(sent.get("params"), dict | None),
        "id is neither a text nor a whole number": "id" in sent and type(sent["id"]) not in {str, int},
    }
    return next((fault for fault, is_wrong in faults.items() if is_wrong), None)


@router.post("/mcp")
async def mcp_request(request: Request, caller: CallerDep, query: Annotated[McpQuery, Query()]) -> Response:
    """Take a message of the protocol; `conversation` and `reach` are those to read in where a call names none."""
    require_json(request.headers.get("content-type", ""))
    # read here: the transport would turn a body that is too large or too slow into a failure
    body = await read_bounded(request)
    if (fault := _fault(body)) is not None:
        return as_json(to_json({"jsonrpc": "2.0", "id": None, "error": fault}), 400)
    return _Answer(OwnMemory(caller, OwnRoutes(request)), query.conversation, query.reach, body)
