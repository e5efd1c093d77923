"""Time limits that hold as promised on a quiet machine, and stretch with its load on a busy one."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from keepword.postgres.pool import Limits

# for what is only waited for: it ends a hang, and is no promise
HANG_SECONDS = 240
# a pool inside the tests' own process: no connection and no statement comes too late on a busy machine
PATIENT = Limits(statement_seconds=HANG_SECONDS, checkout_seconds=HANG_SECONDS)


def stretched(seconds: float) -> float:
    """Return a limit for work that takes `seconds` at most when nothing else runs."""
    return seconds * max(1.0, 2 * _runnable() / (os.cpu_count() or 1))


def until_served(call: Callable[[], httpx.Response]) -> httpx.Response:
    """Repeat a request that is refused because the machine is busy; return the answer that it gets in the end."""
    deadline = time.monotonic() + HANG_SECONDS
    while (answer := call()).status_code == httpx.codes.SERVICE_UNAVAILABLE and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer


# answers that are right, but others than a quiet machine gives
_SHORT_OF_TIME = (
    b"deep: it took too long", b"this trigram search took longer", b"compaction: it took longer", b"and was left out",
)  # fmt: skip


class PatientTransport(httpx.HTTPTransport):
    """Searches and composes again while the deep model, the trigrams or a compaction are too slow."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            response = super().handle_request(request)
            is_asked_again = request.url.path in {"/v1/search", "/v1/compose"} and is_short_of_time(response.read())
            if not is_asked_again or time.monotonic() > deadline:
                return response


def is_short_of_time(answer: bytes) -> bool:
    return any(reason in answer for reason in _SHORT_OF_TIME)


def _runnable() -> float:
    # the average lags by a minute, the present count jumps; of two the larger
    average, _, _, now, _ = Path("/proc/loadavg").read_text().split()
    return max(float(average), float(now.split("/")[0]) - 1)
