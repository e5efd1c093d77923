"""A circuit breaker: after several failures in a row calls fail at once, and one call at a time probes the endpoint."""

from collections.abc import Callable

FAILURES = 3
PAUSE_SECONDS = 60.0


class Breaker:
    """`clock` tells monotonic seconds. Not thread-safe: it belongs to one event loop."""

    def __init__(
        self, clock: Callable[[], float], failures: int = FAILURES, pause_seconds: float = PAUSE_SECONDS
    ) -> None:
        self._clock = clock
        self._most = failures
        self._pause = pause_seconds
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def admit(self) -> bool:
        """Tell whether to call now. While open, one caller per pause is admitted as a probe."""
        if self._opened_at is None:
            return True
        if self._probing or self._clock() - self._opened_at < self._pause:
            return False
        self._probing = True
        return True

    def seconds_left(self) -> float:
        if self._opened_at is None:
            return 0
        return max(0.0, self._opened_at + self._pause - self._clock())

    def succeed(self) -> None:
        self._failures, self._opened_at, self._probing = 0, None, False

    def fail(self) -> None:
        self._failures += 1
        self._probing = False
        if self._failures >= self._most:
            self._opened_at = self._clock()

    def leave(self) -> None:
        """Forget a call that was cancelled: it says nothing about the endpoint."""
        self._probing = False
