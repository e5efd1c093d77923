"""Processor time of an append, a search and a compose: of the service, and of its PostgreSQL.

    python bench/cpu.py                         ROUNDS=8 REQUESTS=100
    BESIDE=/other/.venv/bin/keepword python bench/cpu.py      beside another checkout, in turns, in one run

Processor time, unlike time, can be compared on a machine that others use. The rooms are written and embedded first, by
a service with its worker; it is then started again without one, so that the figures are those of requests, not of the
background. The kernel counts processor time in hundredths of a second: a round has many requests.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import _service
from _service import Connection, Served, served
from keepword.postgres.embedded import Cluster
from search import Writer

ROUNDS = int(os.environ.get("ROUNDS", "8"))
REQUESTS = int(os.environ.get("REQUESTS", "100"))
BESIDE = os.environ.get("BESIDE", "")
MESSAGES = int(os.environ.get("MESSAGES", "600"))
WARM = 60
BATCH = 100
LOOK_SECONDS = 0.5
TICK = os.sysconf("SC_CLK_TCK")


def post(connection: Connection, path: str, body: object) -> None:
    connection.json("POST", path, body)


def append(connection: Connection, writer: Writer) -> None:
    post(connection, "/v1/conversations/log/messages", {"role": "user", "content": writer.text()})


def search(recipe: str) -> Callable[[Connection, Writer], None]:
    def ask(connection: Connection, writer: Writer) -> None:
        post(connection, "/v1/search", {"conversation": "talk", "query": writer.text()[:80], "recipe": recipe})

    return ask


def compose(connection: Connection, writer: Writer) -> None:
    post(connection, "/v1/compose", {"conversation": "talk", "message": writer.text()[:80]})


def notes(connection: Connection, writer: Writer) -> None:
    connection.json("PUT", "/working-memory/talk", {"data": {"now": writer.text()[:40]}})


REQUESTS_OF: dict[str, Callable[[Connection, Writer], None]] = {
    "append": append, "search fast": search("fast"), "search best": search("best"), "compose": compose,
    "notes write": notes,
}  # fmt: skip


def processes(pid: int) -> Iterator[int]:
    """Yield a process and all that came from it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from processes(int(child))


def ticks(pid: int) -> int:
    """Return the processor time of a process and of its ended children, in ticks; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15]))


@dataclass
class Subject:
    """A service, and what each request cost in each round: milliseconds of its own and of PostgreSQL's."""

    name: str
    service: Served
    connection: Connection
    writer: Writer
    costs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def used(self) -> tuple[int, int]:
        postmaster = Cluster(self.service.home).postmaster_pid()
        database = set(processes(postmaster))
        return (
            sum(ticks(pid) for pid in processes(self.service.process.pid) if pid not in database),
            sum(map(ticks, database)),
        )

    def measure(self, operation: str, number: int) -> None:
        before = self.used()
        for _ in range(number):
            REQUESTS_OF[operation](self.connection, self.writer)
        cost = [(now - then) * 1000 / TICK / number for now, then in zip(self.used(), before, strict=True)]
        self.costs.setdefault(operation, []).append((cost[0], cost[1]))

    def median(self, operation: str, part: int) -> float:
        return statistics.median(cost[part] for cost in self.costs[operation])


def fill(folder: Path) -> None:
    with served(folder, processes="1") as service:
        connection, writer = service.connect(), Writer(1)
        for talk in ("talk", "log"):
            connection.json("PUT", f"/v1/conversations/{talk}", {})
        for _ in range(MESSAGES // BATCH):
            said = [{"role": "user", "content": writer.text()} for _ in range(BATCH)]
            connection.json("POST", "/v1/conversations/talk/messages", said)
        for number in range(20):
            fact = {"value": writer.text()[:40]}
            connection.json("PUT", f"/v1/facts/global/-/fact.{number}", fact)
        while any(space["share"] < 1 for space in connection.json("GET", "/v1/stats")["coverage"].values()):
            time.sleep(LOOK_SECONDS)


def subjects(stack: ExitStack) -> list[Subject]:
    commands = {"this": _service.KEEPWORD} | ({"beside": BESIDE} if BESIDE else {})
    root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kw-cpu-", ignore_cleanup_errors=True)))
    root.chmod(0o711)
    fill(root / "filled")
    made = []
    for name, command in commands.items():
        _service.KEEPWORD = command
        # with owners and rights: the database's own account reads it
        subprocess.run(["cp", "-a", root / "filled", root / name], check=True)
        service = stack.enter_context(served(root / name, processes="1", worker="false"))
        made.append(Subject(name, service, service.connect(), Writer(2)))
    return made


def report(measured: list[Subject]) -> None:
    columns = [f"{one.name}: {part}" for one in measured for part in ("service", "PostgreSQL")]
    print(
        "| CPU ms a request, median of rounds | "
        + " | ".join(columns)
        + " |"
        + " service, this / beside |" * bool(BESIDE)
    )
    print("| --- " * (1 + len(columns) + bool(BESIDE)) + "|")
    for operation in REQUESTS_OF:
        row = [f"{one.median(operation, part):.2f}" for one in measured for part in (0, 1)]
        if BESIDE:
            pairs = zip(*(one.costs[operation] for one in measured), strict=True)
            row.append(f"{statistics.median(mine[0] / theirs[0] for mine, theirs in pairs):.2f}")
        print(f"| {operation} | " + " | ".join(row) + " |")


def main() -> None:
    with ExitStack() as stack:
        measured = subjects(stack)
        for operation in REQUESTS_OF:
            for subject in measured:
                subject.measure(operation, WARM)
                subject.costs.clear()
        for number in range(ROUNDS):
            for operation in REQUESTS_OF:
                for subject in measured[:: (-1) ** number]:
                    subject.measure(operation, REQUESTS)
        report(measured)
        sys.stdout.flush()
        if os.environ.get("RAW"):
            print(json.dumps({one.name: one.costs for one in measured}))


if __name__ == "__main__":
    main()
