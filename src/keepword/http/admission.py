"""Who is let in and when: a place for each request, shares for each tenant, and a quick 503 for the rest."""

from prometheus_client import Gauge
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepword.http import problems
from keepword.http.body import MAX_BODY_BYTES
from keepword.http.turnstile import Limits, Turnstile
from keepword.http.visits import RETRY_SECONDS, KnownKeys, Visit, here

IN_FLIGHT = Gauge("keepword_requests_in_flight", "Requests being worked on")
WAITING = Gauge("keepword_requests_waiting", "Requests waiting for their turn")

# whoever watches over the service must hear from it most of all when it is overrun
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})


class Admitted:
    """Around all that costs something. Nobody has a place while we wait for more of what they send."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._known = KnownKeys()
        self._turnstile = turnstile = Turnstile(limits)
        IN_FLIGHT.set_function(lambda: turnstile.inside)
        WAITING.set_function(lambda: turnstile.waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
            return
        digest, origin = self._known.find(scope)
        if self._turnstile.is_full(origin):
            self._turnstile.count_refusal("full")
            await _refuse(scope, receive, send)
            return
        visit = Visit(self._turnstile, origin, self._known, digest)
        body = _Body(receive, visit)
        if _is_coming(scope):
            await body.look()
        if not body.is_gone:
            await self._admit(visit, scope, body.receive, send)

    async def _admit(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._turnstile.enter(visit.origin):
            await _refuse(scope, receive, send)
            return
        here.set(visit)
        try:
            await self._app(scope, receive, send)
        finally:
            here.set(None)
            self._turnstile.leave(visit.origin)


def _is_coming(scope: Scope) -> bool:
    """Tell whether to expect the body before its reader has said that it is wanted."""
    headers = dict(scope["headers"])
    announced = headers.get(b"content-length", b"0")
    return b"expect" not in headers and announced.isdigit() and int(announced) <= MAX_BODY_BYTES


class _Body:
    """What a request receives. Its place is given up while the rest of it is still on the way."""

    def __init__(self, receive: Receive, visit: Visit) -> None:
        self._receive = receive
        self._visit = visit
        self._first: Message | None = None
        self._is_whole = False

    async def look(self) -> None:
        """Wait for the first part, which is most often all."""
        self._first = await self._receive()
        self._is_whole = not self._first.get("more_body", False)

    @property
    def is_gone(self) -> bool:
        return self._first is not None and self._first["type"] == "http.disconnect"

    async def receive(self) -> Message:
        if self._first is not None:
            message, self._first = self._first, None
            return message
        if self._is_whole:
            return await self._receive()  # only whether the caller is still there
        self._visit.turnstile.leave(self._visit.origin)
        try:
            message = await self._receive()
        finally:
            self._visit.turnstile.come_back(self._visit.origin)
        self._is_whole = not message.get("more_body", False)
        return message


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    detail = "too many requests are being served; nothing was done. Try again in a moment, or add another service"
    headers = {"Retry-After": str(RETRY_SECONDS)}
    await problems.answer(scope["path"], 503, detail, headers=headers)(scope, receive, send)
