"""A rate limit: so many requests in any minute, for all threads of a process."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable

MINUTE_SECONDS = 60.0


class RequestRate:
    """`clock` tells monotonic seconds. Waiting reserves nothing: a caller that gives up uses nothing up."""

    def __init__(
        self,
        requests_a_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._sent: deque[float] = deque(maxlen=requests_a_minute)
        self._lock = threading.Lock()

    async def wait(self) -> None:
        """Return when a request may go out, and count it."""
        while (left := self._take()) > 0:
            await self._sleep(left)

    def _take(self) -> float:
        """Count a request that goes out now and return 0, or return the seconds until the next one may."""
        with self._lock:
            now = self._clock()
            if len(self._sent) == self._sent.maxlen and (left := self._sent[0] + MINUTE_SECONDS - now) > 0:
                return left
            self._sent.append(now)
            return 0.0
