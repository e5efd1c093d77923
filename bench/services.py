"""One, two and four services on one PostgreSQL: what they serve together, and what is lost when it is killed.

    make bench-services                     SECONDS=15 a point, ROUNDS=2, KILLS=20
    COUNTS=1,2 KILLS=0 make bench-services  a quick run

The mixed load and its agents are those of bench/load.py: callers that send one request after the other, spread over
the services. A worker of its own does the background work. All services run all the time; at a point of the curve some
of them get no request. Then PostgreSQL is killed, all of its processes at once, while the agents send at a steady rate
to two of the services and writers send again what was not acknowledged. Writes its section of docs/benchmarks.md.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from _page import machine, put, put_plot
from _plot import curves
from _service import KEEPWORD, Served, served, verdict
from cpu import TICK, processes, ticks
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import NewKey, make_key
from load import AGENTS, CALLERS, ROOMS, Drivers, address, furnish, settle, stored
from several import kill, url_of
from writers import Kept, Writer, Writers, check_kept

SECONDS = float(os.environ.get("SECONDS", "15"))
COUNTS = tuple(map(int, os.environ.get("COUNTS", "1,2,4").split(",")))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
KILLS = int(os.environ.get("KILLS", "20"))
WARM_SECONDS = 4
KILLED_SERVICES = 2
WRITERS = 4  # for each of these services
LIFE_SECONDS = (1, 3)  # how long the database lives between two kills, once every writer was answered
LOAD_SHARE = 0.4  # of what these services hold: a steady load that leaves time to recover
LOAD_SECONDS = 5  # the agents' load comes in pieces of this length, until the kills are over
POOL = "20"
BUSY_SHARE = 0.9  # of the processors: above it they are the limit
_INTRO = """## Several services on one PostgreSQL

`make bench-services` measured this on {day} ({machine}): {least} to {most} services of one process each, one worker
apart and one PostgreSQL, all on this machine with the agents. The load is that of [bench-load](#under-load): {agents}
agents in {rooms} rooms, {callers} callers that send one request after the other, spread over the services;
{rounds} times {seconds:.0f} s for each number of services, in turns.
"""
_LIMIT = """A request costs PostgreSQL {postgres:.1f} ms of processor time, the services {service:.1f} ms and the agents
{agents:.1f} ms (medians). With {most} services, all of them together keep {busy:.2f} of {cores} processors busy, and
other programs {elsewhere:.2f}{reached}. On processors of its own, PostgreSQL would need {cores} of them for
{bound:.0f} requests a second, and the services that ask it {needed:.1f} more (computed).
"""
_REACHED = ": **the processors are the limit here**, and all of these share them"
_KILLED = """**PostgreSQL killed.** All of its processes got SIGKILL {kills} times, under {rate:.0f} requests a second
of the mixed load to {services} services, and {writers} writers that send again what was not acknowledged: {kept}.
Of the agents' load, {told} were acknowledged as appended, and {stored} are stored. From the kill until every writer was
answered again: {median:.1f} s in the median, {longest:.1f} s at most, of which PostgreSQL's own start took
{starting:.1f} s in the median. The agents' other answers: {others}.
"""


@dataclass(frozen=True, slots=True)
class Point:
    """What so many services served a second, and the processors that each part kept busy."""

    rate: float
    services: float
    postgres: float
    worker: float
    agents: float
    machine: float

    def cost_ms(self, part: str) -> float:
        return 1000 * float(getattr(self, part)) / self.rate

    @property
    def busy(self) -> float:
        return self.services + self.postgres + self.worker + self.agents

    @property
    def elsewhere(self) -> float:
        return max(0.0, self.machine - self.busy)


@dataclass(frozen=True, slots=True)
class Keyed:
    """A service with an admin's key, for the writers and their check."""

    url: str
    key: str

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)


class House:
    """The services, their worker and their PostgreSQL."""

    def __init__(self, cluster: Cluster, services: Sequence[Served], worker: subprocess.Popen[bytes]) -> None:
        self.cluster, self.services, self._worker = cluster, services, worker
        # what bench/load.py asks of a service whose database is its own
        self.first = Served(cluster.home, services[0].process, services[0].url)

    def used(self) -> tuple[float, float, float]:
        """Return the processor time so far of services, PostgreSQL and worker, in seconds."""
        postgres = self.cluster.postmaster_pid()
        families = ([one.process.pid for one in self.services], [postgres] if postgres else [], [self._worker.pid])
        services, database, worker = (
            sum(ticks(each) for pid in family for each in processes(pid)) / TICK for family in families
        )
        return services, database, worker


@contextmanager
def house(root: Path, number: int) -> Iterator[House]:
    root.chmod(0o711)
    cluster = Cluster(root / "database")
    cluster.start()
    url = url_of(cluster.conninfo)
    with ExitStack() as stack:
        stack.callback(cluster.stop)
        services = [
            stack.enter_context(
                served(root / f"service-{n}", database_url=url, processes="1", worker="false", pool_size=POOL)
            )
            for n in range(number)
        ]
        yield House(cluster, services, stack.enter_context(worker(root, url)))


@contextmanager
def worker(root: Path, url: str) -> Iterator[subprocess.Popen[bytes]]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    env |= {"KEEPWORD_HOME": str(root / "worker"), "KEEPWORD_DATABASE_URL": url}
    with (root / "worker.log").open("wb") as log:
        process = subprocess.Popen([KEEPWORD, "worker"], env=env, cwd="/", stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def measure(found: House, drivers: Drivers, number: int) -> Point:
    settle(found.first)
    addresses = [address(one) for one in found.services[:number]]
    drivers.run(addresses=addresses, callers=CALLERS, seconds=WARM_SECONDS)
    before, whole, began = found.used(), machine_seconds(), time.monotonic()
    told = drivers.run(callers=CALLERS, seconds=SECONDS)
    seconds = time.monotonic() - began
    busy = [(after - then) / seconds for after, then in zip(found.used(), before, strict=True)]
    all_of_it = (machine_seconds() - whole) / seconds
    point = Point(told["served"] / told["seconds"], *busy, told["own_cpu"], all_of_it)
    print(f"{number} services: {point.rate:.0f} requests a second, {point.busy:.2f} processors busy", flush=True)
    return point


def machine_seconds() -> float:
    """Return the processor time that all programs of the machine used so far."""
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().split("\n")[0].split()[1:8]
    return sum(map(int, (user, nice, system, *interrupts))) / TICK


def curve(found: House, drivers: Drivers) -> dict[int, list[Point]]:
    """Measure each number of services, upwards and downwards in turns, so that what drifts hits all."""
    points: dict[int, list[Point]] = {count: [] for count in COUNTS}
    for turn in range(ROUNDS):
        for count in COUNTS[:: (-1) ** turn]:
            points[count].append(measure(found, drivers, count))
    return points


class Load(threading.Thread):
    """The agents' mixed load at a steady rate, until stopped."""

    def __init__(self, drivers: Drivers, addresses: Sequence[tuple[str, int]], rate: float) -> None:
        super().__init__(daemon=True)
        self._drivers, self._addresses, self._rate = drivers, addresses, rate
        self._over = threading.Event()
        self.statuses: Counter[str] = Counter()
        self.appended = 0

    def run(self) -> None:
        phase: dict[str, Any] = {"addresses": self._addresses}
        while not self._over.is_set():
            told = self._drivers.run(rate=self._rate, seconds=LOAD_SECONDS, **phase)
            self.statuses.update(told["statuses"])
            self.appended += told["latency"].get("append", [0] * 4)[3]
            phase = {}

    def stop(self) -> None:
        self._over.set()
        self.join()


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of the messages, and how long each kill stopped the writers; `starts` is PostgreSQL's part."""

    kept: Kept
    rate: float
    statuses: Counter[str]
    appended: int
    stored: int
    outages: list[float]
    starts: list[float]


def keyed(found: House) -> list[Keyed]:
    with migrate.owner(found.cluster.conninfo) as conn:
        key = make_key(conn, NewKey("default", "admin")).text
    return [Keyed(one.url, key) for one in found.services[:KILLED_SERVICES]]


def make_writers(those: Sequence[Keyed]) -> Writers:
    with those[0].client() as client:
        client.put("/v1/conversations/kept", json={}).raise_for_status()
    over = threading.Event()
    turns = enumerate(list(those) * WRITERS)
    return Writers([Writer(one, f"writer-{n}", over, key=one.key, pause=0.01) for n, one in turns], over)


def kill_again_and_again(found: House, drivers: Drivers, rate: float) -> Killed:
    chance, outages, starts = random.Random(19), list[float](), list[float]()
    before, those = stored(found.first), keyed(found)
    load = Load(drivers, [address(one) for one in found.services[:KILLED_SERVICES]], rate)
    load.start()
    with make_writers(those) as writers:
        for number in range(KILLS):
            writers.wait_for_progress()
            time.sleep(chance.uniform(*LIFE_SECONDS))
            kill(found.cluster)
            killed = time.monotonic()
            found.cluster.launch()
            starts.append(time.monotonic() - killed)
            outages.append(writers.wait_for_all(killed) - killed)
            print(f"  kill {number + 1}: answered again after {outages[-1]:.1f} s ({starts[-1]:.1f} s)", flush=True)
        load.stop()
    kept = check_kept(those[0], writers.all)
    now = stored(found.first)
    return Killed(kept, rate, load.statuses, load.appended, now - before - kept.stored, outages, starts)


def table(points: dict[int, list[Point]]) -> list[str]:
    names = ("services", "postgres", "worker", "agents")
    head = ("services", "requests a second", "beside one", "processors: services", "PostgreSQL", "worker", "agents",
            "ms a request: services", "PostgreSQL")  # fmt: skip
    lines = [head, ["---"] * len(head)]
    for count, those in points.items():
        rates = " · ".join(f"{point.rate:.0f}" for point in those)
        parts = [f"{median(those, name):.2f}" for name in names]
        costs = [f"{statistics.median(point.cost_ms(name) for point in those):.1f}" for name in names[:2]]
        lines.append([str(count), rates, f"{beside_one(points, count):.2f}", *parts, *costs])
    return [f"| {' | '.join(line)} |" for line in lines]


def median(points: Sequence[Point], name: str) -> float:
    return statistics.median(getattr(point, name) for point in points)


def beside_one(points: dict[int, list[Point]], count: int) -> float:
    return median(points[count], "rate") / median(points[COUNTS[0]], "rate")


def limit(points: dict[int, list[Point]]) -> str:
    every = [point for those in points.values() for point in those]
    service, postgres, agents = (
        statistics.median(point.cost_ms(name) for point in every) for name in ("services", "postgres", "agents")
    )
    cores, most = len(os.sched_getaffinity(0)), max(points)
    busy, elsewhere, whole = (median(points[most], name) for name in ("busy", "elsewhere", "machine"))
    bound = 1000 * cores / postgres
    return _LIMIT.format(
        postgres=postgres, service=service, agents=agents, most=most, busy=busy, cores=cores, bound=bound,
        elsewhere=elsewhere, reached=_REACHED if whole > BUSY_SHARE * cores else "", needed=bound * service / 1000,
    )  # fmt: skip


def told_of(killed: Killed) -> str:
    others = {status: count for status, count in sorted(killed.statuses.items()) if not status.startswith("2")}
    names = {"503": "503", "0": "no answer"}
    return _KILLED.format(
        kills=KILLS, rate=killed.rate, services=KILLED_SERVICES, writers=WRITERS * KILLED_SERVICES,
        kept=str(killed.kept).replace(" wrong", " lost or twice"),
        told=f"{killed.appended:,}", stored=f"{killed.stored:,}", median=statistics.median(killed.outages),
        longest=max(killed.outages), starting=statistics.median(killed.starts),
        others=", ".join(f"{count} of {names.get(status, status)}" for status, count in others.items()) or "none",
    )  # fmt: skip


def report(points: dict[int, list[Point]], killed: Killed | None) -> int:
    for count in COUNTS[1:]:
        print(f"  {count} services beside {COUNTS[0]}: {beside_one(points, count):.2f}")
    intro = _INTRO.format(
        day=datetime.now(UTC).date(), machine=machine(), least=min(COUNTS), most=max(COUNTS), agents=AGENTS,
        rooms=ROOMS, callers=CALLERS, rounds=ROUNDS, seconds=SECONDS,
    )  # fmt: skip
    lines = {"served": [(float(count), median(those, "rate")) for count, those in points.items()]}
    drawn = put_plot("services", curves("Requests a second by services", "services", "requests a second", lines))
    parts = [intro.strip(), "\n".join(table(points)), drawn, limit(points).strip()]
    if killed is None:
        put("services", "\n\n".join(parts))
        return 0
    parts.append(told_of(killed).strip())
    put("services", "\n\n".join(parts))
    print(parts[-1])
    verdict("acknowledged messages of the writers that are lost or there twice", killed.kept.wrong, 0)
    verdict("appends that the agents were told of, beside those stored", killed.appended / killed.stored, 1)
    return int(killed.kept.wrong > 0 or killed.appended > killed.stored)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="kw-services-", ignore_cleanup_errors=True) as folder:
        with house(Path(folder), max(*COUNTS, KILLED_SERVICES)) as found:
            agents = furnish(found.first)
            drivers = Drivers(found.first, agents)
            try:
                points = curve(found, drivers)
                rate = LOAD_SHARE * median(points[max(COUNTS)], "rate")
                killed = kill_again_and_again(found, drivers, rate) if KILLS else None
            finally:
                drivers.stop()
        return report(points, killed)


if __name__ == "__main__":
    sys.exit(main())
