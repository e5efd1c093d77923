"""A short form of `make fuzz`: whatever is sent to any route is answered, and never with a 5xx."""

import socket

import httpx
import pytest

from fuzzing import Fuzzer, Sender, prepare, totals
from patience import HANG_SECONDS

REQUESTS, SENDERS = 4_000, 2


@pytest.fixture(scope="module")
def senders(service_type, make_migrated_home):
    service = service_type(make_migrated_home(), embedding="none").start()
    tenant = "fuzzed"
    admin = service.make_key(tenant)
    address = service.url.removeprefix("http://")
    document = prepare(address, admin)
    others = [service.make_key(tenant, *bound) for bound in (("agent", "helper"), ("agent", None, "u"), ("reader",))]
    keys = [admin, admin, *others]
    made = [Sender(address, Fuzzer(document, seed), keys, REQUESTS // SENDERS) for seed in range(SENDERS)]
    for sender in made:
        sender.start()
    for sender in made:
        sender.join(HANG_SECONDS * 2)
    assert httpx.get(f"{service.url}/healthz", timeout=HANG_SECONDS).status_code == 200
    yield made
    service.stop()


def test_no_request_makes_the_service_fail_or_hang(senders):
    odd = [(outcome, request) for sender in senders for outcome, request in sender.odd]
    assert not odd, "\n".join(f"{outcome} {request}"[:2_000] for outcome, request in odd[:10])


def test_a_service_that_is_gone_is_no_success():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        sender = Sender(
            f"127.0.0.1:{unused.getsockname()[1]}", Fuzzer({"paths": {"/healthz": {"get": {}}}}, 1), ["kw"], 9
        )
        sender.run()
    assert [outcome for outcome, _ in sender.odd] == ["gone"]


def test_every_route_is_asked_as_often_and_most_let_something_pass(senders):
    found = totals(senders)
    amounts = [counts.total() for route, counts in found.items() if route != "POST /mcp"]
    assert max(amounts) - min(amounts) <= SENDERS
    assert sum(amounts) + found["POST /mcp"].total() == REQUESTS
    passing = [route for route, counts in found.items() if any(status.startswith("2") for status in counts)]
    # with 26 requests each, routes that need the id of what another one made let the fewest pass
    assert len(passing) > 0.6 * len(found), sorted(found.keys() - set(passing))
