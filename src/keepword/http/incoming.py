"""Request bodies: a timeout without progress (408), and a budget of bytes for all bodies together."""

import asyncio
from collections import Counter

from starlette.types import Message, Receive, Scope, Send

from keepword import metrics
from keepword.errors import TooSlow, Unavailable
from keepword.http.slots import Slot

# a body without a new byte for this long is given up
PROGRESS_SECONDS = 10.0


class BodyBudget:
    """The bytes of all bodies at once. A tenant may hold as many as are still free after that.

    So one tenant alone gets half, and however many there are, some are always left for another one.
    """

    def __init__(self, most_bytes: int) -> None:
        self._free = most_bytes
        self._held: Counter[str] = Counter()
        metrics.BODY_BYTES.set_function(lambda: most_bytes - self._free)

    def take(self, tenant: str, size: int) -> bool:
        if self._held[tenant] + size > self._free - size:
            return False
        self._held[tenant] += size
        self._free -= size
        return True

    def give_back(self, tenant: str, size: int) -> None:
        self._free += size
        self._held[tenant] -= size
        if not self._held[tenant]:
            del self._held[tenant]


class IncomingBody:
    """The body of one request. Its slot is released while the rest of the body arrives."""

    def __init__(self, receive: Receive, slot: Slot, budget: BodyBudget, progress_seconds: float) -> None:
        self._receive = receive
        self._visit = slot
        self._budget = budget
        self._progress_seconds = progress_seconds
        self._first: Message | None = None
        self._size = 0
        self.is_whole = False

    async def look(self) -> None:
        """Wait for the first part, which is most often all. Raises TooSlow, Unavailable."""
        self._first = await self._next()

    @property
    def is_gone(self) -> bool:
        return self._first is not None and self._first["type"] == "http.disconnect"

    async def receive(self) -> Message:
        if self._first is not None:
            message, self._first = self._first, None
            return message
        if self.is_whole:
            return await self._receive()  # only whether the caller is still there
        self._visit.limiter.leave(self._visit.origin)
        try:
            return await self._next()
        finally:
            self._visit.limiter.come_back(self._visit.origin)

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(self._progress_seconds):
                message = await self._receive()
        except TimeoutError as exc:
            metrics.REQUESTS_SHED.labels("slow body").inc()
            raise TooSlow(f"nothing more of the body came for {self._progress_seconds:g} s; send it again") from exc
        self.is_whole = not message.get("more_body", False)
        if size := len(message.get("body", b"")):
            self._hold(size)
        return message

    def _hold(self, size: int) -> None:
        if not self._budget.take(self._visit.origin.tenant, size):
            metrics.REQUESTS_SHED.labels("bodies").inc()
            raise Unavailable("too many bytes of requests are on their way; nothing was done. Try again in a moment")
        self._size += size

    def release(self) -> None:
        if self._size:
            self._budget.give_back(self._visit.origin.tenant, self._size)
            self._size = 0

    def closing(self, send: Send) -> Send:
        """Return `send` for a body that is not whole: an answer before its end closes the connection."""

        async def close(message: Message) -> None:
            if message["type"] == "http.response.start" and not self.is_whole:
                headers = [pair for pair in message.get("headers", ()) if pair[0] != b"connection"]
                message = {**message, "headers": [*headers, (b"connection", b"close")]}
            await send(message)

        return close


def is_coming(scope: Scope, most_bytes: int) -> bool:
    """Tell whether to expect the body before its reader has said that it is wanted."""
    headers = dict(scope["headers"])
    announced = headers.get(b"content-length", b"0")
    return b"expect" not in headers and announced.isdigit() and int(announced) <= most_bytes
