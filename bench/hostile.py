"""Eight attackers of one tenant beside twenty honest agents of another.

    SECONDS=180 python bench/hostile.py         SECONDS is the time under attack; before it a third of it without
    ONLY=blanks,dots python bench/hostile.py    with some of the attackers alone

Prints what the honest agents feel with and without the attackers, how quickly /healthz answers, the memory, and how
much of a processor the attackers and the agents take themselves: here they share the service's processors, elsewhere
they would not. Their bodies are made beforehand. Exits 1 if an aim is missed.
"""

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count, cycle
from pathlib import Path
from typing import Any

from _service import Connection, Served, served, verdict
from keepword.postgres import migrate
from keepword.postgres.keys import NewKey, make_key
from search import Writer

SECONDS = float(os.environ.get("SECONDS", "180"))
HONEST = 20
PAUSE_SECONDS = 1.0
CALLERS = 4  # connections of one attacker
SILENT = 500
MIB = 2**20
ANSWER_SECONDS = 35
SLOW_PATTERN = r"(.+)(.+)(.+)(.+)\1\2\3\4x"

# honest p95 by that without attackers; /healthz at p99; the memory's last third by its first
RATIO, HEALTH_SECONDS, GROWTH = 2.0, 0.1, 1.15

Request = tuple[str, str, bytes]


def post(path: str, body: Any) -> Request:
    return "POST", path, json.dumps(body).encode()


def said(*texts: str) -> Request:
    return post("/v1/conversations/evil/messages", [{"role": "user", "content": text} for text in texts])


def searched(query: str, **asked: str) -> Request:
    return post("/v1/search", {"conversation": "evil", "query": query} | asked)


def composed(message: str) -> Request:
    return post("/v1/compose", {"conversation": "evil", "message": message})


def blanks() -> Iterator[Request]:
    yield from cycle(
        (
            said("hi\n" + " " * 1400),
            said("<" + " " * 3000),
            composed("<" + " " * 4000),
            composed("\n" * 16_000 + "x:"),
        )
    )


def dots() -> Iterator[Request]:
    yield from cycle([searched("." * 32_000)])


def regexes() -> Iterator[Request]:
    yield from cycle([searched(SLOW_PATTERN, mode="regex")])


def big_bodies() -> Iterator[Request]:
    """Yield batches of 1 to 7 MiB, which are stored, and larger ones, which are refused."""
    text = " ".join(f"w{number:x}" for number in range(MIB // 8))[: MIB - 100]
    yield from cycle([*(said(*[text] * size) for size in (1, 2, 4, 7, 12, 31)), searched("x" * 31 * MIB)])


def poison_jobs() -> Iterator[Request]:
    forms = ("@a" + " " * 8000, "http://" * 16_000, "<a>" * 64_000, "[file " * 64_000, "Decision:" + " " * 50_000)
    yield from cycle([said(form) for form in forms])


def mark_storm() -> Iterator[Request]:
    for number in count():
        yield post("/ledger/evil/mark", {"item_key": f"{os.getpid()} {number}"})


def deep_json() -> Iterator[Request]:
    deep = "[" * 100_000 + "]" * 100_000
    message = f'{{"role": "user", "content": "x", "metadata": {{"x": {deep}}}}}'
    yield from cycle(
        (
            ("PUT", "/working-memory/evil", f'{{"data": {{"x": {deep}}}}}'.encode()),
            ("POST", "/v1/conversations/evil/messages", message.encode()),
            ("POST", "/v1/search", deep.encode()),
        )
    )


ATTACKS: dict[str, Callable[[], Iterator[Request]]] = {
    "blanks": blanks, "dots": dots, "regexes": regexes, "big bodies": big_bodies, "poison jobs": poison_jobs,
    "mark storm": mark_storm, "deep JSON": deep_json,
}  # fmt: skip


def honest(number: int) -> Iterator[Request]:
    writer = Writer(number)
    talk = f"talk-{number}"
    while True:
        yield post(f"/v1/conversations/{talk}/messages", {"role": "user", "content": writer.text()})
        yield post("/v1/search", {"conversation": talk, "query": writer.text()[:80], "recipe": "fast"})
        yield post("/v1/compose", {"conversation": talk, "message": writer.text()})


class Caller(threading.Thread):
    """Sends one request after the other, and notes statuses and times."""

    def __init__(self, url: str, key: str, requests: Iterator[Request], pause_seconds: float) -> None:
        super().__init__(daemon=True)
        self._address = url.removeprefix("http://").split(":")
        # the first is made now, and with it the bodies that are sent again and again
        self._requests = chain([next(requests)], requests)
        self._key, self._pause_seconds = key, pause_seconds
        self.over = threading.Event()
        self.statuses: Counter[str] = Counter()
        self.seconds: list[float] = []

    def run(self) -> None:
        connection = None
        while not self.over.wait(self._pause_seconds):
            method, path, raw = next(self._requests)
            started = time.monotonic()
            try:
                if connection is None:
                    connection = Connection(self._address[0], int(self._address[1]))
                    connection.key = self._key
                status, _ = connection.request(method, path, raw)
            except (OSError, ValueError, IndexError) as exc:
                connection, status = None, type(exc).__name__
            self.statuses[str(status)] += 1
            self.seconds.append(time.monotonic() - started)


class SilentSockets(threading.Thread):
    """Keeps connections open and says nothing on them."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        host, port = url.removeprefix("http://").split(":")
        self._address = host, int(port)
        self.over = threading.Event()

    def run(self) -> None:
        held: list[socket.socket] = []
        while not self.over.wait(0.01):
            with suppress(OSError):
                held.append(socket.create_connection(self._address, 5))
            if len(held) > SILENT:
                held.pop(0).close()


def attack(url: str, key: str, seconds: float) -> None:
    """Be the attackers, in a process of their own."""
    chosen = os.environ.get("ONLY", ",".join([*ATTACKS, "silent sockets"])).split(",")
    callers = {
        name: [Caller(url, key, make(), 0) for _ in range(CALLERS)] for name, make in ATTACKS.items() if name in chosen
    }
    silent = [SilentSockets(url)] if "silent sockets" in chosen else []
    wait_for_start()
    for thread in [*silent, *(one for several in callers.values() for one in several)]:
        thread.start()
    time.sleep(seconds)
    counts = {name: sum((one.statuses for one in several), Counter()) for name, several in callers.items()}
    sys.stdout.write(json.dumps([counts, cpu_seconds()]))


def run_honest(url: str, key: str, seconds: float) -> None:
    """Be the honest agents, in a process of their own."""
    callers = [Caller(url, key, honest(number), PAUSE_SECONDS) for number in range(HONEST)]
    wait_for_start()
    for caller in callers:
        caller.start()
    time.sleep(seconds)
    for caller in callers:
        caller.over.set()
    for caller in callers:
        caller.join(40)
    statuses = sum((caller.statuses for caller in callers), Counter())
    times = sorted(second for caller in callers for second in caller.seconds)
    sys.stdout.write(json.dumps([statuses, times, cpu_seconds()]))


def wait_for_start() -> None:
    """Say that all is loaded, and wait for the word: loading takes processors too."""
    print("ready", flush=True)
    sys.stdin.readline()


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def load(role: str, service: Served, key: str, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__)), role, service.url, key, str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def start(process: subprocess.Popen[str]) -> None:
    process.stdin.write("start\n")
    process.stdin.flush()


def watch(service: Served, seconds: float) -> tuple[list[float], list[float]]:
    """Ask /healthz every 50 ms; return how long each answer took, and the memory once a second."""
    waits, memory, over = [], [], time.monotonic() + seconds
    connection = service.connect()
    while time.monotonic() < over:
        started = time.monotonic()
        try:
            connection.request("GET", "/healthz")
        except (OSError, ValueError, IndexError):
            connection = service.connect()
        waits.append(time.monotonic() - started)
        if not memory or started - memory[-1][0] > 1:
            memory.append((started, service.resident_mb()))
        time.sleep(0.05)
    return sorted(waits), [megabytes for _, megabytes in memory]


def share(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


def shown(ordered: list[float], part: float) -> str:
    return f"{share(ordered, part) * 1000:.0f} ms"


@dataclass(frozen=True)
class Phase:
    """What the honest agents felt: their 95th percentile and their errors; what `/healthz` took, and the memory."""

    p95: float
    errors: dict[str, int]
    waits: list[float]
    memory: list[float]

    @property
    def growth(self) -> float:
        third = max(1, len(self.memory) // 3)
        return statistics.mean(self.memory[-third:]) / statistics.mean(self.memory[:third])


def phase(service: Served, name: str, key: str, evil: str | None, seconds: float) -> Phase:
    attackers = load("attack", service, evil, seconds) if evil else None
    agents = load("honest", service, key, seconds)
    for process in filter(None, (attackers, agents)):
        start(process)
    waits, memory = watch(service, seconds)
    statuses, times, cpu = json.loads(agents.communicate()[0])
    good = sum(number for status, number in statuses.items() if status.startswith("2"))
    errors = {status: number for status, number in statuses.items() if not status.startswith("2")}
    print(f"{name}: {good} honest requests served, others: {errors or 'none'}")
    print(f"  honest p50 {shown(times, 0.5)}, p95 {shown(times, 0.95)}, max {max(times):.2f} s")
    print(f"  /healthz p50 {shown(waits, 0.5)}, p99 {shown(waits, 0.99)}, max {waits[-1]:.2f} s")
    curve = [memory[number * (len(memory) - 1) // 9] for number in range(10)] if memory else []
    print(f"  memory {' '.join(f'{megabytes:.0f}' for megabytes in curve)} MB, mean {statistics.mean(memory):.0f} MB")
    print(f"  the agents took {cpu / seconds:.2f} of a processor", flush=True)
    if attackers:
        counts, cpu = json.loads(attackers.communicate()[0])
        print(f"  the attackers took {cpu / seconds:.2f} of a processor")
        for attacker, several in counts.items():
            print(f"  attacker {attacker}: {sum(several.values()) / seconds:.1f} a second, {several}", flush=True)
    return Phase(share(times, 0.95), errors, waits, memory)


def judge(before: Phase, under: Phase) -> bool:
    """Print the aims, and return whether all are met."""
    aims = (
        ("honest p95 by that without attackers", under.p95 / before.p95, RATIO),
        ("errors of honest agents", sum(under.errors.values()), 0),
        ("/healthz at p99, seconds", share(under.waits, 0.99), HEALTH_SECONDS),
        ("memory, its last third by its first", under.growth, GROWTH),
    )
    for name, value, aim in aims:
        verdict(name, value, aim)
    return all(value <= aim for _, value, aim in aims)


def main() -> None:
    with served() as service:
        with migrate.owner(service.conninfo) as conn:
            key, evil = (make_key(conn, NewKey(tenant, "admin")).text for tenant in ("honest", "evil"))
        for own, talks in ((key, [f"talk-{number}" for number in range(HONEST)]), (evil, ["evil"])):
            connection = service.connect()
            connection.key = own
            for talk in talks:
                connection.json("PUT", f"/v1/conversations/{talk}", {})
        # what the pattern looks in for long
        connection.json(
            "POST", "/v1/conversations/evil/messages", {"role": "user", "content": Writer(0).text() * 5 + "x"}
        )
        phase(service, "warming up", key, None, min(10, SECONDS / 3))
        before = phase(service, "without attackers", key, None, SECONDS / 3)
        under = phase(service, "under attack", key, evil, SECONDS)
        phase(service, "afterwards", key, None, min(20, SECONDS / 3))
        sys.exit(not judge(before, under))


if __name__ == "__main__":
    # a service that stands still must not hold up the report about it
    socket.setdefaulttimeout(ANSWER_SECONDS)
    if len(sys.argv) > 1:
        {"attack": attack, "honest": run_honest}[sys.argv[1]](sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        main()
