"""The agents of bench/load.py, in a process of their own: what they cost is not what is measured.

Reads a line of JSON that says who they are, then one for each phase, and answers each phase with a line of figures.
"""

import asyncio
import itertools
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import uvloop

from search import Writer

# of 20 requests; a turn is a message, what was said before, an answer, now and then a search, and notes
MIX = {"append": 8, "search": 4, "compose": 4, "notes read": 2, "notes write": 2}
PREPARED = 4_000
PREPARED_TEXTS = 2_000
MAX_LINES = 800
ANSWER_SECONDS = 35
WATCH_SECONDS = 0.5
EVENT = "%032d"


@dataclass(frozen=True, slots=True)
class Asked:
    operation: str
    raw: bytes


@dataclass(slots=True)
class Told:
    """What happened in a phase. Times are from the moment at which a request was due, not from when it got out."""

    over_at: float
    seconds: dict[str, list[float]] = field(default_factory=dict)
    refused: list[float] = field(default_factory=list)
    watched: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    watch_statuses: Counter[str] = field(default_factory=Counter)
    ends: list[tuple[int, str]] = field(default_factory=list)
    without_retry_after: int = 0
    held_back: int = 0
    in_time: int = 0

    def note(self, operation: str, answer: tuple[int, bytes], took: float, at: float) -> None:
        """`in_time` counts what was served before the phase was over: what is answered later is not its pace."""
        status, head = answer
        self.in_time += status in range(200, 300) and at <= self.over_at
        self.statuses[str(status)] += 1
        if status == 503:
            self.refused.append(took)
            self.without_retry_after += b"retry-after:" not in head.lower()
        elif status < 300:
            self.seconds.setdefault(operation, []).append(took)
        self.ends.append((int(at), "served" if 0 < status < 300 else "refused" if status == 503 else "failed"))


class Line(asyncio.Protocol):
    """One kept-alive connection; one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""
        self.is_open = True

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(rest) >= length:
            self._received = b""
            self._end((int(head[9:12]), head))

    def connection_lost(self, _: Exception | None) -> None:
        self.is_open = False
        self._end((0, b""))

    def _end(self, answer: tuple[int, bytes]) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(answer)

    async def ask(self, raw: bytes) -> tuple[int, bytes]:
        """Return status and head; status 0 if there was no answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(raw)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._answer
        except TimeoutError:
            self.is_open = False
            self.transport.abort()
            return 0, b""


class Agents:
    def __init__(self, host: str, port: int, who: list[dict[str, str]]) -> None:
        self._host, self._port = host, port
        self._who = who
        self._free: list[Line] = []
        self.use([(host, port)])
        self._chance = random.Random(5)
        self._prepared = list(self._prepare())
        # event ids of earlier agents of the same names would be answered as known
        self._numbers = itertools.count(time.time_ns())

    def use(self, addresses: Sequence[tuple[str, int]]) -> None:
        """Open new connections from here on, to these services in turns."""
        for line in self._free:
            line.transport.close()
        self._addresses = itertools.cycle(addresses)
        self._free, self._lines = [], 0

    def _prepare(self) -> Iterator[Asked]:
        writer = Writer(2)
        texts = [writer.text() for _ in range(PREPARED_TEXTS)]
        operations = [name for name, share in MIX.items() for _ in range(share)]
        for number in range(PREPARED):
            agent = self._who[self._chance.randrange(len(self._who))]
            text = texts[number % len(texts)]
            yield self._made(operations[number % len(operations)], agent, text, writer.query(text))

    def _made(self, operation: str, agent: dict[str, str], text: str, query: str) -> Asked:
        talk = agent["conversation"]
        said = {"role": "assistant", "content": text, "event_id": EVENT}
        match operation:
            case "append":
                raw = self._raw("POST", f"/v1/conversations/{talk}/messages", agent, said)
            case "search":
                raw = self._raw("POST", "/v1/search", agent, {"query": query, "conversation": talk})
            case "compose":
                raw = self._raw("POST", "/v1/compose", agent, {"message": query, "conversation": talk})
            case "notes read":
                raw = self._raw("GET", f"/working-memory/{talk}", agent, None)
            case _:
                raw = self._raw("PUT", f"/working-memory/{talk}", agent, {"data": {"scratchpad": text}})
        return Asked(operation, raw)

    def _raw(self, method: str, path: str, agent: dict[str, str], body: Any) -> bytes:
        sent = json.dumps(body) if body is not None else ""
        # an event id will be longer than what holds its place
        length = len(sent) + (32 - len(EVENT) if EVENT in sent else 0)
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAuthorization: Bearer {agent['key']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{sent}"
        ).encode()

    def _next(self) -> Asked:
        asked = self._prepared[self._chance.randrange(len(self._prepared))]
        if asked.operation != "append":
            return asked
        return Asked(asked.operation, asked.raw.replace(EVENT.encode(), b"%032d" % next(self._numbers)))

    async def _line(self) -> Line | None:
        while self._free:
            line = self._free.pop()
            if line.is_open:
                return line
            self._lines -= 1
        if self._lines >= MAX_LINES:
            return None
        self._lines += 1
        loop = asyncio.get_running_loop()
        try:
            _, line = await loop.create_connection(Line, *next(self._addresses))
        except OSError:
            self._lines -= 1
            return None
        return line

    async def _ask(self, asked: Asked, due: float, told: Told) -> None:
        line = await self._line()
        if line is None:
            told.held_back += 1
            return
        answer = await line.ask(asked.raw)
        now = time.perf_counter()
        told.note(asked.operation, answer, now - due, time.time())
        self._free.append(line)

    async def steady(self, rate: float, seconds: float, told: Told) -> None:
        """Begin so many a second, at moments of chance, whatever becomes of those before."""
        tasks: set[asyncio.Task[None]] = set()
        began = due = time.perf_counter()
        while (due := due + self._chance.expovariate(rate)) < began + seconds:
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            task = asyncio.create_task(self._ask(self._next(), due, told))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def flat_out(self, callers: int, seconds: float, told: Told) -> None:
        """Let so many callers ask one thing after the other."""
        end = time.perf_counter() + seconds

        async def call() -> None:
            while (now := time.perf_counter()) < end:
                await self._ask(self._next(), now, told)

        await asyncio.gather(*(call() for _ in range(callers)))

    async def watch(self, told: Told) -> None:
        paths = (b"/healthz", b"/readyz")
        number = 0
        while True:
            _, line = await asyncio.get_running_loop().create_connection(Line, self._host, self._port)
            started = time.perf_counter()
            raw = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % paths[number % 2]
            status, _ = await line.ask(raw)
            told.watched.append(time.perf_counter() - started)
            told.watch_statuses[str(status)] += 1
            line.transport.close()
            number += 1
            await asyncio.sleep(WATCH_SECONDS)


def spread(samples: list[float]) -> list[float]:
    """Return the median, the 95th and the 99th percentile, in milliseconds."""
    ordered = sorted(samples) or [0.0]
    return [1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)]


def figures(told: Told, seconds: float, cpu: float) -> dict[str, Any]:
    every: dict[str, Counter[int]] = {"served": Counter(), "refused": Counter(), "failed": Counter()}
    for second, end in told.ends:
        every[end][second] += 1
    return {
        "seconds": seconds,
        "own_cpu": cpu,
        "served": told.in_time,
        "refused": len(told.refused),
        "statuses": told.statuses,
        "held_back": told.held_back,
        "without_retry_after": told.without_retry_after,
        "latency": {operation: [*spread(found), len(found)] for operation, found in sorted(told.seconds.items())},
        "refusal": spread(told.refused),
        "watch": [*spread(told.watched), dict(told.watch_statuses)],
        "timeline": every,
    }


async def main() -> None:
    who = json.loads(sys.stdin.readline())
    agents = Agents(who["host"], who["port"], who["agents"])
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        phase = json.loads(line)
        if "addresses" in phase:
            agents.use(phase["addresses"])
        told = Told(time.time() + phase["seconds"])
        before = resource.getrusage(resource.RUSAGE_SELF)
        began = time.perf_counter()
        watching = asyncio.create_task(agents.watch(told))
        if phase.get("callers"):
            await agents.flat_out(phase["callers"], phase["seconds"], told)
        else:
            await agents.steady(phase["rate"], phase["seconds"], told)
        watching.cancel()
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(json.dumps(figures(told, phase["seconds"], cpu / took)), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
