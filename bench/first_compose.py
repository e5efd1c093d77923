"""The first compose after a start beside the next ones: several starts of one service, and of one embedded Keepword.

    python bench/first_compose.py        STARTS=5

The service is asked as soon as /readyz says ready, the embedded one as soon as it is open. Each start composes the same
turns; what is told is the first one's time over the median of those after it.
"""

import asyncio
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from _service import Served, served, timed, verdict
from keepword import Keepword

STARTS = int(os.environ.get("STARTS", "5"))
TURNS = 12
MESSAGES = 50
LOOK_SECONDS = 0.02
AIM = 3.0


def furnish(service: Served) -> None:
    connection = service.connect()
    connection.json("PUT", "/v1/conversations/harbour", {})
    said = [{"role": "user", "content": f"Ann wants boat {n} from Oslo on Friday."} for n in range(MESSAGES)]
    connection.json("POST", "/v1/conversations/harbour/messages", said)
    while any(space["share"] < 1 for space in connection.json("GET", "/v1/stats")["coverage"].values()):
        time.sleep(LOOK_SECONDS)


def over_http(service: Served) -> list[float]:
    connection = service.connect()
    while connection.request("GET", "/readyz")[0] != 200:
        time.sleep(LOOK_SECONDS)
    bodies = [{"conversation": "harbour", "message": f"Which boat is number {n}?"} for n in range(TURNS)]
    return [timed(connection.json, "POST", "/v1/compose", body) for body in bodies]


async def embedded(home: Path) -> list[float]:
    taken: list[float] = []
    async with Keepword.open(data=home) as kw:
        for number in range(TURNS):
            started = time.perf_counter()
            await kw.compose("harbour", f"Which boat is number {number}?")
            taken.append(time.perf_counter() - started)
    return taken


def report(name: str, starts: list[list[float]]) -> None:
    ratios = [taken[0] / statistics.median(taken[1:]) for taken in starts]
    for taken, ratio in zip(starts, ratios, strict=True):
        later = statistics.median(taken[1:]) * 1000
        print(f"  {name}: first {taken[0] * 1000:7.1f} ms   later {later:7.1f} ms   ratio {ratio:.2f}")
    verdict(f"{name}, median of {len(starts)} starts, first over later", statistics.median(ratios), AIM)


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="kw-first-"))
    try:
        with served(keep=root) as service:
            furnish(service)
        starts: list[list[float]] = []
        for _ in range(STARTS):
            with served(keep=root) as service:
                starts.append(over_http(service))
        report("service", starts)
        # one start: what a process has loaded, it keeps
        report("embedded", [asyncio.run(embedded(root / "home"))])
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
