"""200 agents in 50 rooms, at 50 %, 100 % and 200 % of what the machine holds, and at 50 % again.

    SECONDS=600 python bench/load.py            SECONDS is the length of all phases together
    SETTINGS='{"worker": "false"}' python ...   with other settings than the service comes with

What the machine holds is measured first, by callers that ask one thing after the other. All the other phases are open:
requests begin when they are due, at moments of chance, whether those before were answered or not. The service runs as
it comes, background work and deep model included. Writes its section of docs/benchmarks.md and docs/load.svg.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from _load_report import Sample, report
from _service import Connection, Served, served
from cpu import TICK, processes, ticks
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import NewKey, make_key
from search import Writer

SETTINGS = json.loads(os.environ.get("SETTINGS", "{}"))
SECONDS = float(os.environ.get("SECONDS", "600"))
AGENTS, ROOMS = 200, 50
SEEDED = 40  # messages a room, before it begins
SETTLE_SECONDS = 180
CALLERS = 32
SAMPLE_SECONDS = 1.0
IDLE_SECONDS = 3.0
# name, share of what the machine holds, share of the time
PHASES = (("50 %", 0.5, 0.2), ("100 %", 1.0, 0.22), ("200 %", 2.0, 0.3), ("50 % again", 0.5, 0.16))
CAPACITY_SHARE = 0.12
_BEHIND = """
SELECT (SELECT count(*) FROM backlog WHERE NOT failed) + (SELECT count(*) FROM outbox)
    + (SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name <> 'compact')
"""


def furnish(service: Served) -> list[dict[str, str]]:
    """Make agents, rooms and what was said before; return each agent's key and conversation."""
    with migrate.owner(service.conninfo) as conn:
        admin = make_key(conn, NewKey("default", "admin")).text
        keys = [make_key(conn, NewKey("default", "agent", f"agent-{number}")).text for number in range(AGENTS)]
    connection, writer = Connection(*address(service)), Writer(1)
    connection.key = admin
    for number in range(ROOMS):
        connection.json("PUT", f"/v1/rooms/room-{number}", {})
    for number in range(AGENTS):
        room = f"room-{number % ROOMS}"
        connection.json("PUT", f"/v1/agents/agent-{number}", {})
        connection.json("PUT", f"/v1/rooms/{room}/participants/agents/agent-{number}")
        talk = {"kind": "room", "room": room, "agent": f"agent-{number}"}
        connection.json("PUT", f"/v1/conversations/talk-{number}", talk)
        said = [{"role": "assistant", "content": writer.text()} for _ in range(SEEDED * ROOMS // AGENTS)]
        connection.json("POST", f"/v1/conversations/talk-{number}/messages", said)
    return [{"key": key, "conversation": f"talk-{number}"} for number, key in enumerate(keys)]


def address(service: Served) -> tuple[str, int]:
    host, port = service.url.removeprefix("http://").split(":")
    return host, int(port)


class Memory(threading.Thread):
    """Notes once a second how much memory the service and its PostgreSQL take."""

    def __init__(self, service: Served) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._over = threading.Event()
        self.samples: list[Sample] = []

    def run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            postmaster = Cluster(self._service.home).postmaster_pid()
            first = self._service.process.pid
            further = max(map(own, siblings(first)), default=0.0)
            self.samples.append(Sample(time.time(), own(first), further, family(postmaster)))

    def stop(self) -> None:
        self._over.set()
        self.join()


def own(pid: int) -> float:
    """Return a process' proportional share of memory in MB: what several share is counted once."""
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def siblings(pid: int) -> list[int]:
    """Return the processes that serve beside the first."""
    return [child for child in processes(pid) if b"keepword.sibling" in command(child)]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def cpu_seconds(service: Served) -> tuple[float, float]:
    """Return the processor time so far of all of the service, children included, and of its PostgreSQL."""
    database = set(processes(Cluster(service.home).postmaster_pid()))
    own_ticks = sum(ticks(pid) for pid in processes(service.process.pid) if pid not in database)
    return own_ticks / TICK, sum(map(ticks, database)) / TICK


def family(pid: int) -> float:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own(pid) + sum(own(int(child)) for child in children)


class Drivers:
    """The process that the agents run in."""

    def __init__(self, service: Served, agents: list[dict[str, str]]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("_agents.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        host, port = address(service)
        self.run(host=host, port=port, agents=agents)

    def run(self, **phase: Any) -> Any:
        self._process.stdin.write(json.dumps(phase) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def settle(service: Served) -> None:
    """Wait until the background work of what was said before is done: it is no part of the load."""
    deadline = time.monotonic() + SETTLE_SECONDS
    with migrate.owner(service.conninfo) as conn:
        while conn.execute(_BEHIND).fetchone() != (0,):
            if time.monotonic() > deadline:
                sys.exit(f"the background work of {SEEDED * ROOMS} messages was not done in {SETTLE_SECONDS} s")
            time.sleep(0.5)


def stored(service: Served) -> int:
    with migrate.owner(service.conninfo) as conn:
        return conn.execute("SELECT count(*) FROM messages WHERE event_id IS NOT NULL").fetchone()[0]


def measure(service: Served) -> dict[str, Any]:
    agents = furnish(service)
    if SETTINGS.get("worker") != "false":
        settle(service)
    drivers, memory = Drivers(service, agents), Memory(service)
    memory.start()
    time.sleep(IDLE_SECONDS)
    idle = memory.samples[-1]
    try:
        warm = drivers.run(callers=CALLERS, seconds=min(5.0, SECONDS * 0.03))
        before = cpu_seconds(service)
        held = drivers.run(callers=CALLERS, seconds=SECONDS * CAPACITY_SHARE)
        cost = [
            (after - then) * 1000 / sum(held["statuses"].values())
            for after, then in zip(cpu_seconds(service), before, strict=True)
        ]
        capacity = held["served"] / held["seconds"]
        print(f"{CALLERS} callers, one thing after the other: {capacity:.0f} requests a second")
        phases = []
        for name, share, part in PHASES:
            rate = capacity * share
            phases.append({"name": name, "rate": rate, "began": time.time()})
            phases[-1] |= drivers.run(rate=rate, seconds=SECONDS * part)
            print(f"  {name}: {phases[-1]['served'] / phases[-1]['seconds']:.0f} served a second", flush=True)
        return {
            "warm": warm, "held": held, "capacity": capacity, "phases": phases, "memory": memory.samples,
            "idle": idle, "cost_ms": cost,
            "stored": stored(service),
        }  # fmt: skip
    finally:
        drivers.stop()
        memory.stop()


if __name__ == "__main__":
    with served(**SETTINGS) as found:
        measured = measure(found)
    sys.exit(report(measured, SECONDS))
