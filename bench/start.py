"""Processor time and time from a start of the service to its first answered search.

    python bench/start.py        STARTS=5

The data folder was filled by an earlier start. The search is asked with the deep model as soon as /readyz says ready.
The processor time is that of the service and all of its children, without PostgreSQL: what it goes on to load, such as
a further process, is in it only up to the answer.
"""

import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from _service import Served, served, verdict
from cpu import TICK, processes, ticks
from first_compose import furnish
from keepword.postgres.embedded import Cluster

STARTS = int(os.environ.get("STARTS", "5"))
PROCESSES = ("1", "2")
LOOK_SECONDS = 0.02
AIM_SECONDS = 1.5


def search(service: Served) -> None:
    connection = service.connect()
    while connection.request("GET", "/readyz")[0] != 200:
        time.sleep(LOOK_SECONDS)
    body = {"conversation": "harbour", "query": "Which boat goes to Oslo?", "recipe": "best"}
    status, answer = connection.request("POST", "/v1/search", json.dumps(body).encode())
    if status != 200 or not json.loads(answer)["results"]:
        raise RuntimeError(f"search failed: {status} {answer[:300]!r}")


def processor_seconds(service: Served) -> float:
    postmaster = Cluster(service.home).postmaster_pid()
    database = set(processes(postmaster)) if postmaster else set()
    return sum(ticks(pid) for pid in processes(service.process.pid) if pid not in database) / TICK


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="kw-start-"))
    try:
        with served(keep=root) as service:
            furnish(service)
        for number in PROCESSES:
            taken = []
            for _ in range(STARTS):
                began = time.monotonic()
                with served(keep=root, processes=number) as service:
                    search(service)
                    taken.append((processor_seconds(service), time.monotonic() - began))
            print(f"{number} processes: " + ", ".join(f"{cpu:.2f} s of CPU in {wall:.2f} s" for cpu, wall in taken))
            cpu = statistics.median(cpu for cpu, _ in taken)
            verdict(f"CPU seconds to the first answered search, {number} processes", cpu, AIM_SECONDS)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
