"""The service's own routes, called within a request and on its behalf: same key, same guards, same grants."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlencode

from fastapi import FastAPI, Request
from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Scope

from keepword.errors import InvalidInput, KeepwordError, OverQuota, Unavailable
from keepword.http.slots import RETRY_SECONDS
from keepword.http.statuses import STATUS

_KINDS = {status: kind for kind, status in STATUS.items()}
# headers of the outer request that describe its own body or are meant for its own route
_OWN_HEADERS = frozenset({b"content-length", b"content-type", b"transfer-encoding", b"expect", b"if-match"})


class OwnRoutes:
    """Calls routes below the middleware: the outer request holds the slot, and the time is its own."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def call(self, method: str, path: str, query: Mapping[str, Any] | None, body: bytes | None) -> bytes:
        """Return what the route answered. Raises the KeepwordError that it refused with."""
        return await answer_of(self._request.app.router, self._scope(method, path, query or {}, body), body)

    def _scope(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None) -> Scope:
        headers = [header for header in self._request.scope["headers"] if header[0] not in _OWN_HEADERS]
        if body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return {
            **self._request.scope, "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": urlencode(query).encode(), "headers": headers, "path_params": {},
        }  # fmt: skip


class OwnerRoutes:
    """Calls routes of an application without a server, for a process that stands for its owner."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def call(self, method: str, path: str, body: bytes | None) -> bytes:
        """Return what the route answered. Raises the KeepwordError that it refused with."""
        headers = [(b"host", b"localhost")]
        if body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": method,
            "path": unquote(path), "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": headers,
            "client": ("127.0.0.1", 0), "server": ("localhost", 0),
        }  # fmt: skip
        return await answer_of(self._app, scope, body)


async def answer_of(app: ASGIApp, scope: Scope, body: bytes | None) -> bytes:
    sent: list[Message] = [{"type": "http.request", "body": body or b"", "more_body": False}]
    answer = _Answer()

    async def receive() -> Message:
        return sent.pop() if sent else {"type": "http.disconnect"}

    await app(scope, receive, answer.send)
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise answer.error()
    return bytes(answer.content)


class _Answer:
    def __init__(self) -> None:
        self.status = 0
        self.content = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.content += message.get("body", b"")

    def error(self) -> KeepwordError:
        problem = from_json(bytes(self.content))
        detail, kind = str(problem["detail"]), _KINDS.get(self.status, KeepwordError)
        if issubclass(kind, InvalidInput):
            return kind(detail, problem.get("field"))
        return kind(detail, RETRY_SECONDS) if issubclass(kind, Unavailable | OverQuota) else kind(detail)
