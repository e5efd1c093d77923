"""Compaction without a model while messages come in and searches go on: does it keep up, and who waits for it?

MESSAGES=100000 CONVERSATIONS=500 RATE=500 python bench/compaction_load.py
"""

import os
import random
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from _service import KEEPWORD, Connection, Served, milliseconds, served, timed, verdict
from keepword.postgres import migrate

MESSAGES = int(os.environ.get("MESSAGES", "100000"))
CONVERSATIONS = int(os.environ.get("CONVERSATIONS", "500"))
RATE = int(os.environ.get("RATE", "500"))
BATCH = 20
SEARCHES = 200
SEARCH_EVERY_SECONDS = 0.1
# past this a window is due: 50 messages and the live tail of 10
DUE = 60
CORES = 2
_DUE = """
SELECT count(*) FROM compactions o JOIN conversations c ON c.tenant_id = o.tenant_id AND c.id = o.conversation_id
WHERE c.last_seq - o.covered_seq > %s
"""
_COVERED = """
SELECT COALESCE(sum(leaf_last - leaf_first + 1), 0)::bigint, count(*) FROM summaries WHERE tier = 'thread'
"""
_TOPICS = ("the boiler", "pump P-7", "a ticket to Oslo", "invoice 4711", "the garden", "Ann's birthday", "the api")
_ACTS = ("was checked by", "costs 42 euros, says", "belongs to", "was moved to May by", "is not known to", "annoys")
_PEOPLE = ("Ann", "Bob", "Cyd", "Dan", "Eve")


def said(chance: random.Random) -> dict[str, str]:
    text = f"{chance.choice(_TOPICS)} {chance.choice(_ACTS)} {chance.choice(_PEOPLE)} ({chance.randrange(10_000)})."
    return {"role": chance.choice(("user", "assistant")), "content": text.capitalize()}


def append(connection: Connection, chance: random.Random, amount: int, rate: float | None) -> float:
    """Append to the conversations in turn; return how many messages a second that were."""
    began = time.perf_counter()
    for number in range(amount // BATCH):
        if rate and (ahead := number * BATCH / rate - (time.perf_counter() - began)) > 0:
            time.sleep(ahead)
        body = [said(chance) for _ in range(BATCH)]
        connection.json("POST", f"/v1/conversations/talk-{number % CONVERSATIONS}/messages", body)
    return amount / (time.perf_counter() - began)


def search(connection: Connection, chance: random.Random) -> float:
    query = f"what about {chance.choice(_TOPICS)} and {chance.choice(_PEOPLE)}?"
    body = {"query": query, "conversation": f"talk-{chance.randrange(CONVERSATIONS)}", "recipe": "fast"}
    return timed(connection.json, "POST", "/v1/search", body)


@contextmanager
def searching(service: Served) -> Iterator[list[float]]:
    """Search all the while, from a thread of its own."""
    samples: list[float] = []
    stop = threading.Event()

    def run() -> None:
        connection, chance = service.connect(), random.Random(3)
        while not stop.wait(SEARCH_EVERY_SECONDS):
            samples.append(search(connection, chance))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


@contextmanager
def worker(service: Served) -> Iterator[int]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    env |= {"KEEPWORD_HOME": str(service.home), "KEEPWORD_EMBEDDING": "none"}
    process = subprocess.Popen([KEEPWORD, "worker"], env=env, cwd="/", stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def cpu_seconds(*pids: int) -> float:
    """Return what processes and their children have used: it says the same whoever else uses the machine."""
    used, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            used[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            parents[int(stat.parent.name)] = int(fields[1])
    return sum(value for pid, value in used.items() if pid in pids or parents[pid] in pids)


def database_pid(owner: psycopg.Connection) -> int:
    backend = owner.execute("SELECT pg_backend_pid()").fetchone()[0]
    return int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])


def drain(owner: psycopg.Connection) -> float:
    began = time.perf_counter()
    while owner.execute(_DUE, (DUE,)).fetchone() != (0,):
        time.sleep(0.1)
    return time.perf_counter() - began


def measure(service: Served) -> None:
    chance = random.Random(1)
    connection = service.connect()
    for number in range(CONVERSATIONS):
        connection.json("PUT", f"/v1/conversations/talk-{number}", {})
    append(connection, chance, min(MESSAGES, CONVERSATIONS * BATCH), None)
    for _ in range(20):
        search(connection, chance)
    idle = [search(connection, chance) for _ in range(SEARCHES)]
    with migrate.owner(service.conninfo) as owner, worker(service) as jobs:
        pids = {"service": service.process.pid, "worker": jobs, "database": database_pid(owner)}
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        with searching(service) as busy:
            rate = append(service.connect(), chance, MESSAGES, RATE)
            behind = owner.execute(_DUE, (DUE,)).fetchone()[0]
            took = drain(owner)
        spent = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        covered, leaves = owner.execute(_COVERED).fetchone()
    print(f"{MESSAGES:,} messages into {CONVERSATIONS} conversations, {rate:,.0f} a second; {leaves:,} leaves")
    print(f"covered {covered:,}; at the last append {behind} conversations had a window due, {took:.1f} s later none")
    told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items())
    print(f"seconds of a core: {told}; of {CORES * MESSAGES / RATE:.0f} that {CORES} cores have at the aim")
    print(f"search idle       {milliseconds(idle)}")
    print(f"search meanwhile  {milliseconds(busy)}   {len(busy)} searches")
    verdict("messages a second, beside the aim", rate / RATE, 0.98, at_least=True)
    verdict("time behind beside time of appending", took / (MESSAGES / rate), 0.1)
    verdict("search meanwhile beside idle", statistics.median(busy) / statistics.median(idle), 2)


if __name__ == "__main__":
    with served(worker="false", embedding="none") as found:
        measure(found)
