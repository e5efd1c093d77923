"""How many requests are worked on at once, how many may wait for their turn, and a quick 503 for the rest."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

from prometheus_client import Counter, Gauge
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepword.http import problems
from keepword.http.body import MAX_BODY_BYTES

SHED = Counter("keepword_requests_shed", "Requests refused with 503 because too many were there", ["reason"])
IN_FLIGHT = Gauge("keepword_requests_in_flight", "Requests being worked on")
WAITING = Gauge("keepword_requests_waiting", "Requests waiting for their turn")

# whoever watches over the service must hear from it most of all when it is overrun
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
RETRY_SECONDS = 1
_LEARNING = 0.1  # the weight of the last one who left in the pace


@dataclass(frozen=True, slots=True)
class Limits:
    """Beyond `at_once` requests wait, up to `waiting` of them and `wait_seconds` each."""

    at_once: int = 16
    waiting: int = 64
    wait_seconds: float = 1


class Turnstile:
    """Lets in so many at once, the others in the order in which they came.

    Who would wait too long, at the pace at which the others leave, is sent away without having waited.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._inside = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._pace_seconds = 0.0
        self._left_at: float | None = None
        IN_FLIGHT.set_function(lambda: self._inside)
        WAITING.set_function(lambda: len(self._line))

    @property
    def is_full(self) -> bool:
        if self._inside < self._limits.at_once:
            return False
        ahead = len(self._line)
        # the first in line may always wait, so that a pace that was slow once is found to be better
        return ahead >= self._limits.waiting or ahead * self._pace_seconds > self._limits.wait_seconds

    async def enter(self) -> bool:
        """Return whether the caller is in; who is must `leave`."""
        if self._inside < self._limits.at_once:
            self._inside += 1
            return True
        if self.is_full:
            SHED.labels("full").inc()
            return False
        return await self._stand_in_line()

    async def _stand_in_line(self) -> bool:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            async with asyncio.timeout(self._limits.wait_seconds):
                await turn
        except TimeoutError:
            self._give_up(turn)
            SHED.labels("late").inc()
            return False
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        return True

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            with suppress(ValueError):  # taken out already
                self._line.remove(turn)
        else:
            self.leave()  # the turn came in the very moment of giving up

    def leave(self) -> None:
        self._note_pace()
        while self._line and self._inside <= self._limits.at_once:
            turn = self._line.popleft()
            if not turn.cancelled():  # it may be, and its owner not have heard of it yet
                turn.set_result(None)  # the place goes from hand to hand
                return
        self._inside -= 1

    def _note_pace(self) -> None:
        if not self._line:
            self._left_at = None  # what passes until the next one leaves is no time that anybody waits
            return
        now = asyncio.get_running_loop().time()
        if self._left_at is not None:
            took = min(now - self._left_at, self._limits.wait_seconds)
            self._pace_seconds += _LEARNING * (took - self._pace_seconds)
        self._left_at = now

    def come_back(self) -> None:
        """Enter again, past the line: who was let in once is not sent away half done."""
        self._inside += 1


_here: ContextVar[Turnstile | None] = ContextVar("turnstile", default=None)


@contextmanager
def outside() -> Iterator[None]:
    """Give the request's place to another while it waits for what is not of this machine, such as a model."""
    turnstile = _here.get()
    if turnstile is None:
        yield
        return
    turnstile.leave()
    try:
        yield
    finally:
        turnstile.come_back()


class Admitted:
    """Around all that costs something. Nobody has a place while we wait for more of what they send."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._turnstile = Turnstile(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._turnstile.is_full:
            SHED.labels("full").inc()
            await _refuse(scope, receive, send)
            return
        body = _Body(receive, self._turnstile)
        if _is_coming(scope):
            await body.look()
        if body.is_gone:
            return
        if not await self._turnstile.enter():
            await _refuse(scope, receive, send)
            return
        _here.set(self._turnstile)
        try:
            await self._app(scope, body.receive, send)
        finally:
            _here.set(None)
            self._turnstile.leave()


def _is_coming(scope: Scope) -> bool:
    """Tell whether to expect the body before its reader has said that it is wanted."""
    headers = dict(scope["headers"])
    announced = headers.get(b"content-length", b"0")
    return b"expect" not in headers and announced.isdigit() and int(announced) <= MAX_BODY_BYTES


class _Body:
    """What a request receives. Its place is given up while the rest of it is still on the way."""

    def __init__(self, receive: Receive, turnstile: Turnstile) -> None:
        self._receive = receive
        self._turnstile = turnstile
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
        self._turnstile.leave()
        try:
            message = await self._receive()
        finally:
            self._turnstile.come_back()
        self._is_whole = not message.get("more_body", False)
        return message


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    detail = "too many requests are being served; nothing was done. Try again in a moment, or add another service"
    headers = {"Retry-After": str(RETRY_SECONDS)}
    await problems.answer(scope["path"], 503, detail, headers=headers)(scope, receive, send)
