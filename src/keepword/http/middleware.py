"""ASGI middleware around every request: an id, a timeout, a log line and metrics."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepword import metrics
from keepword.http import problems
from keepword.http.guards import ADDED_HEADERS, PENDING_ANSWER
from keepword.ids import new_id

_log = structlog.get_logger()
_GONE = 499  # in log and metrics only: there was nobody to answer
# for every answer that names no policy of its own: a browser runs nothing of it and shows it in no frame
_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")


class RequestMiddleware:
    """The outermost middleware: every request gets an answer with an id, a log line and a metric."""

    def __init__(self, app: ASGIApp, timeout_seconds: float) -> None:
        self._app = app
        self._timeout_seconds = timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, _request_id(scope), scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=answer.request_id)
        started = time.perf_counter()
        too_late = f"not done within {self._timeout_seconds:g} s; try again later"
        # cancelling a query of a stuck database takes long; the caller must not wait for that
        alarm = asyncio.get_running_loop().call_later(self._timeout_seconds, answer.give_up, scope, receive, too_late)
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                scope[PENDING_ANSWER] = _Pending(answer, limit, partial(answer.give_up, scope, receive))
                await self._app(scope, receive, answer.send)
        except TimeoutError:
            await answer.send_error_instead(scope, receive, 503, too_late)
        except ClientDisconnect:
            pass  # who went away before all was sent gets no answer
        except Exception:  # noqa: BLE001
            # the outermost handler: unexpected errors are logged with their trace and answered without it
            _log.exception("failed")
            await answer.send_error_instead(
                scope, receive, 500, "Keepword failed here; its log has the trace under this request id"
            )
        finally:
            alarm.cancel()
            if pending := scope.get(PENDING_ANSWER):
                pending.release()
            _record(scope, answer.status or _GONE, time.perf_counter() - started)


class _Answer:
    def __init__(self, send: Send, request_id: str, scope: Scope) -> None:
        self._send = send
        self._scope = scope
        self.request_id = request_id
        self.status = 0
        self._giving_up: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        if self._giving_up is None:
            await self._pass(message)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message.get("headers", ())
            names = {name for name, _ in headers}
            missing = (header for header in _HEADERS if header[0] not in names)
            added = self._scope.get(ADDED_HEADERS, ())
            message["headers"] = [*headers, *missing, *added, (b"x-request-id", self.request_id.encode())]
        await self._send(message)

    async def send_error_instead(self, scope: Scope, receive: Receive, status: int, detail: str) -> None:
        if self.status:
            return  # too late to say it
        headers = {"Retry-After": "1"} if status == 503 else {}  # noqa: PLR2004
        await problems.answer(scope["path"], status, detail, headers=headers)(scope, receive, self._pass)

    def give_up(self, scope: Scope, receive: Receive, detail: str) -> None:
        if not self.status:
            self._giving_up = asyncio.ensure_future(self.send_error_instead(scope, receive, 503, detail))


class _Pending:
    """Ends a request early, once what it waits for is lost. It is released when the request has ended."""

    def __init__(self, answer: _Answer, limit: asyncio.Timeout, give_up: Callable[[str], None]) -> None:
        self._answer = answer
        self._limit = limit
        self._give_up = give_up
        self._lost: asyncio.Future[None] | None = None
        self._detail = ""

    def end_with(self, lost: "asyncio.Future[None]", detail: str) -> None:
        self._lost, self._detail = lost, detail
        lost.add_done_callback(self._end)

    def release(self) -> None:
        if self._lost is not None:
            self._lost.remove_done_callback(self._end)
            self._lost = None

    def _end(self, _: object) -> None:
        if self._lost is None or self._answer.status:
            return
        self._give_up(self._detail)
        # the answer goes out at once; what waits for the lost part gives its place back as soon as it notices
        with suppress(RuntimeError):  # its time is over anyway
            self._limit.reschedule(asyncio.get_running_loop().time())


def _request_id(scope: Scope) -> str:
    sent: bytes = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return sent.decode() if _REQUEST_ID.match(sent) else new_id().hex


def _sent_path(scope: Scope) -> str:
    """Return the path as it was sent, still percent-encoded."""
    sent: bytes = scope.get("raw_path") or b""
    return sent.decode("ascii", "backslashreplace") or scope["path"]


def _record(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "none")
    metrics.REQUESTS.labels(scope["method"], route, status).inc()
    metrics.REQUEST_SECONDS.labels(scope["method"], route).observe(seconds)
    _log.info("request", method=scope["method"], path=_sent_path(scope), status=status, ms=round(seconds * 1000, 2))
