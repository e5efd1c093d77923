"""Bodies have a limit on each route, and all of them together one in memory."""

import re
import socket
import statistics
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

MIB = 2**20
LARGE = 31 * MIB
ALLOWED = 7 * MIB
CALLERS = 40
BODIES_MB = 128


def memory_mb(service) -> float:
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{service.process.pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def begin(service, path: str, key: str, size: int) -> socket.socket:
    host, port = service.url.removeprefix("http://").split(":")
    made = socket.create_connection((host, int(port)), timeout=60)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    )
    made.sendall(head.encode())
    return made


def send_as_much_as_is_taken(made: socket.socket, size: int) -> bytes:
    """Send a body but for its last byte; return the answer if there is one before."""
    piece, sent = b" " * 65536, 0
    made.settimeout(2)
    try:
        while sent < size - 65536:
            sent += made.send(piece)
    except OSError:
        pass
    try:
        return made.recv(65536)
    except OSError:
        return b""


@pytest.fixture
def keyed(make_service, request):
    service = make_service(bodies_mb=str(getattr(request, "param", BODIES_MB))).start()
    with service.client(service.make_key("one", "admin")) as client:
        client.put("/v1/conversations/talk", json={}).raise_for_status()
    return service


def test_a_readers_key_can_not_fill_the_memory_with_bodies(keyed, show):
    key = keyed.make_key("one", "reader")
    before = memory_mb(keyed)
    with ExitStack() as stack:
        answers = []
        for path in ("/v1/search", "/v1/compose"):
            for _ in range(CALLERS // 2):
                made = stack.enter_context(begin(keyed, path, key, LARGE))
                answers.append(send_as_much_as_is_taken(made, LARGE))
        grown = memory_mb(keyed) - before
    show(f"{CALLERS} bodies of 31 MiB by a reader's key: memory {before:.0f} MB and {grown:.0f} MB more")
    assert grown < BODIES_MB
    assert {answer[9:12] for answer in answers if answer} == {b"413"}


# so few that four bodies fill one tenant's half, before the first of them is closed for its silence
@pytest.mark.parametrize("keyed", [64], indirect=True)
def test_bodies_that_a_route_takes_are_bounded_together_and_another_tenant_is_served(keyed, show):
    key, other = keyed.make_key("one", "agent"), keyed.make_key("two", "admin")
    before = memory_mb(keyed)
    path = "/v1/conversations/talk/messages"
    with ExitStack() as stack:
        # proved once, so that it counts for its tenant
        stack.enter_context(keyed.client(key)).get("/v1/conversations/talk").raise_for_status()
        answers = []
        for _ in range(CALLERS):
            made = stack.enter_context(begin(keyed, path, key, ALLOWED))
            answers.append(send_as_much_as_is_taken(made, ALLOWED))
        grown = memory_mb(keyed) - before
        honest = stack.enter_context(keyed.client(other))
        honest.put("/v1/conversations/mine", json={}).raise_for_status()
        said = [{"role": "user", "content": "x" * 500_000}] * 10
        assert honest.post("/v1/conversations/mine/messages", json=said).status_code == 201
    show(f"{CALLERS} bodies of 7 MiB that stay unfinished: memory {before:.0f} MB and {grown:.0f} MB more")
    assert grown < 1.5 * BODIES_MB
    assert b"503" in {answer[9:12] for answer in answers if answer}


@pytest.mark.parametrize(
    ("path", "limit"), [("/v1/search", 256 * 1024), ("/v1/compose", 4 * MIB), ("/ledger/talk/check", 512 * 1024)]
)
def test_a_body_over_its_routes_limit_gets_413_with_the_limit(keyed, path, limit):
    with keyed.client(keyed.make_key("one", "reader")) as client:
        announced = client.post(path, content=b" " * (limit + 1), headers={"Content-Type": "application/json"})
        chunks = (b" " * 65536 for _ in range(limit // 65536 + 1))
        chunked = client.post(path, content=chunks, headers={"Content-Type": "application/json"})
    for answer in (announced, chunked):
        assert answer.status_code == 413
        assert str(limit) in answer.json()["detail"]


def in_flight(service) -> int:
    with service.client() as client:
        text = client.get("/metrics").text
    return int(float(re.search(r"^keepword_requests_in_flight (\S+)", text, re.MULTILINE)[1]))


def test_large_batches_of_one_tenant_are_stored_one_after_the_other_while_others_are_there(keyed):
    key, other = keyed.make_key("one", "agent"), keyed.make_key("two", "admin")
    said = [{"role": "user", "content": " ".join(f"w{number:x}" for number in range(30_000))}] * 2
    with ExitStack() as stack, ThreadPoolExecutor(4) as threads:
        one, two = (stack.enter_context(keyed.client(each)) for each in (key, other))
        two.put("/v1/conversations/mine", json={}).raise_for_status()
        large = [threads.submit(one.post, "/v1/conversations/talk/messages", json=said) for _ in range(4)]
        seen = []
        while not all(future.done() for future in large):
            seen.append(in_flight(keyed))
            two.get("/v1/conversations/mine").raise_for_status()
        assert [future.result().status_code for future in large] == [201] * 4
    # those that have just come are still being read
    assert statistics.median(seen) <= 1
