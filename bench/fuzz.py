"""Many wrong requests to every route: by our own fuzzer (tests/fuzzing.py), and by schemathesis.

    make fuzz REQUESTS=100000     a tenth of them by schemathesis; SEED=7 sends others

Prints the answers by route, and the memory over time. Exits 1 after a 5xx, a hang, or if the memory grew.
"""

import os
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import schemathesis
from schemathesis.engine import events, from_schema

from _service import Served, served
from fuzzing import HANG_SECONDS, Fuzzer, Sender, is_odd, prepare, totals
from keepword.postgres import migrate
from keepword.postgres.keys import NewKey, make_key

REQUESTS = int(os.environ.get("REQUESTS", "100000"))
SEED = int(os.environ.get("SEED", "1"))
SENDERS = 8
BY_SCHEMATHESIS = 0.1
# of one route in one phase, as counted: with 10 examples it sends some 70 requests a route
REQUESTS_AN_EXAMPLE = 7
# caches fill in the first half
GROWTH = 1.1


class Memory(threading.Thread):
    """Notes the service's memory once a second."""

    def __init__(self, service: Served) -> None:
        super().__init__(daemon=True)
        self._service = service
        self.over = threading.Event()
        self.megabytes: list[float] = []

    def run(self) -> None:
        while not self.over.wait(1):
            self.megabytes.append(self._service.resident_mb())

    def growth(self) -> float:
        """Return the last quarter's mean by the third's."""
        quarter = max(1, len(self.megabytes) // 4)
        return statistics.mean(self.megabytes[-quarter:]) / statistics.mean(self.megabytes[-2 * quarter : -quarter])

    def __str__(self) -> str:
        shown = [self.megabytes[number * (len(self.megabytes) - 1) // 9] for number in range(10)]
        return " ".join(f"{megabytes:.0f}" for megabytes in shown)


def own(service: Served, keys: list[str], amount: int) -> list[Sender]:
    address = service.url.removeprefix("http://")
    document = prepare(address, keys[0])
    senders = [
        Sender(address, Fuzzer(document, SEED * 1_000 + number), keys, -(-amount // SENDERS))
        for number in range(SENDERS)
    ]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        time.sleep(10)
        print(f"  {sum(counts.total() for counts in totals(senders).values()):,} sent", file=sys.stderr)
    return senders


def by_schemathesis(service: Served, key: str, amount: int) -> Iterator[tuple[str, str]]:
    """Yield the route and the status of each request; what is no status is said in words."""
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json", headers={"Authorization": f"Bearer {key}"})
    schema.config.update(headers={"Authorization": f"Bearer {key}"}, request_timeout=HANG_SECONDS)
    schema.config.generation.update(max_examples=max(1, amount // (len(list(schema)) * REQUESTS_AN_EXAMPLE)))
    schema.config.checks.update(included_check_names=["not_a_server_error"])
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            yield str(event), "error"
        if isinstance(event, events.ScenarioFinished):
            for case_id, interaction in event.recorder.interactions.items():
                operation = event.recorder.cases[case_id].value.operation
                yield operation.label, str(interaction.response.status_code) if interaction.response else "hang"


def show(title: str, found: dict[str, Counter[str]]) -> bool:
    statuses = sorted(set(chain.from_iterable(found.values())))
    print(f"\n{title}: {sum(counts.total() for counts in found.values()):,} requests\n")
    print("| route | " + " | ".join(statuses) + " |")
    print("| --- " * (len(statuses) + 1) + "|")
    for route, counts in sorted(found.items()):
        print(f"| {route} | " + " | ".join(f"{counts[status] or ''}" for status in statuses) + " |")
    every = sum(found.values(), Counter())
    print(f"| all | {' | '.join(f'{every[status]:,}' for status in statuses)} |")
    bad = {status: number for status, number in every.items() if is_odd(status)}
    print(f"\n5xx, hangs, errors and a service that is gone: {bad or 'none'}")
    return not bad


def fuzz(service: Served) -> bool:
    with migrate.owner(service.conninfo) as conn:
        bound = (("admin",), ("admin",), ("agent", "helper"), ("agent", None, "u"), ("reader",))
        keys = [make_key(conn, NewKey("fuzzed", *some)).text for some in bound]
    started = time.monotonic()
    found: dict[str, Counter[str]] = {}
    for route, status in by_schemathesis(service, keys[0], round(REQUESTS * BY_SCHEMATHESIS)):
        found.setdefault(route, Counter())[status] += 1
    is_good = show("schemathesis", found)
    memory = Memory(service)
    memory.start()
    senders = own(service, keys, REQUESTS - sum(counts.total() for counts in found.values()))
    is_good &= show("own fuzzer", totals(senders))
    for outcome, request in chain.from_iterable(sender.odd[:3] for sender in senders):
        print(f"{outcome}: {request}"[:1_500])
    memory.over.set()
    memory.join()
    print(f"\nmemory while the own fuzzer ran: {memory} MB; last quarter by the one before: {memory.growth():.2f}")
    print(f"{time.monotonic() - started:.0f} s")
    return is_good and memory.growth() <= GROWTH


def main() -> None:
    with served(embedding="none") as service:
        sys.exit(not fuzz(service))


if __name__ == "__main__":
    main()
