"""Admission control: a slot for each request, fair shares for each tenant, and a quick 503 for the rest."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from keepword import metrics
from keepword.errors import KeepwordError
from keepword.http import problems
from keepword.http.body import MAX_BODY_BYTES
from keepword.http.concurrency import ConcurrencyLimiter, Limits
from keepword.http.incoming import PROGRESS_SECONDS, BodyBudget, IncomingBody, is_coming
from keepword.http.slots import RETRY_SECONDS, KnownKeys, Slot, current_slot
from keepword.priority import Metered, gives_way

# monitoring must work, above all under overload
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
BODIES_BYTES = 128 * 1024 * 1024
# a heavy tenant that asks again as soon as it was refused costs others time with nothing but refusals
HEAVY_REFUSAL_SECONDS = 0.5


class AdmissionMiddleware:
    """ASGI middleware around everything that costs something. A request holds no slot while its body arrives."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        body_bytes: int = BODIES_BYTES,
        progress_seconds: float = PROGRESS_SECONDS,
    ) -> None:
        self._app = app
        self._known = KnownKeys()
        self._budget = BodyBudget(body_bytes)
        self._progress_seconds = progress_seconds
        self._limiter = limiter = ConcurrencyLimiter(limits)
        metrics.REQUESTS_IN_FLIGHT.set_function(lambda: limiter.inside)
        metrics.REQUESTS_WAITING.set_function(lambda: limiter.waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
            return
        digest, origin = self._known.find(scope)
        if self._limiter.is_full(origin):
            self._limiter.count_refusal("full")
            if self._limiter.is_heavy(origin):
                await asyncio.sleep(HEAVY_REFUSAL_SECONDS)
            await _refuse(scope, receive, send)
            return
        slot = Slot(self._limiter, origin, self._known, digest)
        body = IncomingBody(receive, slot, self._budget, self._progress_seconds)
        try:
            await self._take_in(slot, body, scope, send)
        finally:
            body.release()

    async def _take_in(self, slot: Slot, body: IncomingBody, scope: Scope, send: Send) -> None:
        if is_coming(scope, MAX_BODY_BYTES):
            try:
                await body.look()
            except KeepwordError as exc:
                await problems.response_to(scope["path"], exc)(scope, body.receive, body.closing(send))
                return
        if not body.is_gone:
            await self._admit(slot, scope, body.receive, send if body.is_whole else body.closing(send))

    async def _admit(self, slot: Slot, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._limiter.enter(slot.origin):
            await _refuse(scope, receive, send)
            return
        current_slot.set(slot)
        gives_way.set(self._limiter.is_heavy(slot.origin))
        try:
            await Metered(self._app(scope, receive, send), slot.charge)
        finally:
            current_slot.set(None)
            self._limiter.leave(slot.origin)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    detail = "too many requests are being served; nothing was done. Try again in a moment, or add another service"
    headers = {"Retry-After": str(RETRY_SECONDS)}
    await problems.answer(scope["path"], 503, detail, headers=headers)(scope, receive, send)
