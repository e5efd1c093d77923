"""While the database is away there is a quick 503, and everything comes back by itself."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest

from keepword.postgres.embedded import STOP_SECONDS, Cluster
from keepword.serving import DRAIN_SECONDS
from patience import HANG_SECONDS, stretched

MESSAGE = {"role": "user", "content": "hello"}
LIMIT_SECONDS = 3
GRACE_SECONDS = 4  # around the limit


def wait_for(condition: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def processes_of(postmaster: int) -> list[int]:
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
    return [postmaster, *map(int, children.split())]


def send(number: int, pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


LIMITS = {"request_timeout_seconds": str(LIMIT_SECONDS), "statement_timeout_seconds": "2"}


@pytest.fixture(scope="module")
def away(service_type, make_migrated_home):
    made = service_type(make_migrated_home(), **LIMITS).start()
    yield made
    made.stop()


@pytest.fixture
def conversation(away):
    """A conversation with one message, in a database that is there."""
    with away.client() as client:
        wait_for(lambda: client.get("/readyz").status_code == 200)
        path = f"/v1/conversations/{uuid4().hex}"
        assert client.put(path, json={}).status_code == 201
        assert client.post(f"{path}/messages", json=MESSAGE).status_code == 201
    return path


def check_unavailable(response: httpx.Response, started: float) -> None:
    assert response.status_code == 503, response.text
    assert int(response.headers["retry-after"]) >= 1
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["request_id"] == response.headers["x-request-id"]
    assert time.monotonic() - started < LIMIT_SECONDS + stretched(GRACE_SECONDS)


def test_a_killed_database_gives_503_and_is_started_again(away, conversation):
    cluster = Cluster(away.home)
    first = cluster.postmaster_pid()
    send(signal.SIGKILL, processes_of(first))
    with away.client() as client:
        started = time.monotonic()
        response = client.get(f"{conversation}/messages")
        if response.status_code != 200:
            check_unavailable(response, started)
        assert client.get("/healthz").status_code == 200
        wait_for(lambda: client.get("/readyz").status_code == 200)
        assert cluster.postmaster_pid() != first
        assert client.post(f"{conversation}/messages", json=MESSAGE).status_code == 201
        assert len(client.get(f"{conversation}/messages").json()["messages"]) == 2


def test_a_stuck_database_gives_503_within_the_time_limit_and_then_goes_on(away, conversation):
    stopped = processes_of(Cluster(away.home).postmaster_pid())
    send(signal.SIGSTOP, stopped)
    try:
        with away.client() as client:
            for method, path, body in (
                ("GET", f"{conversation}/messages", None),
                ("POST", f"{conversation}/messages", MESSAGE | {"event_id": "stuck"}),
                ("GET", "/readyz", None),
            ):
                started = time.monotonic()
                check_unavailable(client.request(method, path, json=body), started)
            assert client.get("/healthz").status_code == 200
            assert client.get("/metrics").status_code == 200
    finally:
        send(signal.SIGCONT, stopped)
    with away.client() as client:
        wait_for(lambda: client.get("/readyz").status_code == 200)
        retried = client.post(f"{conversation}/messages", json=MESSAGE | {"event_id": "stuck"})
        assert retried.status_code in {200, 201}
        found = client.get(f"{conversation}/messages").json()["messages"]
        assert [message["event_id"] for message in found] == [None, "stuck"]


def test_many_callers_of_a_stuck_database_all_get_their_503(away, conversation):
    stopped = processes_of(Cluster(away.home).postmaster_pid())
    send(signal.SIGSTOP, stopped)
    try:
        with away.client() as client:
            started = time.monotonic()
            with ThreadPoolExecutor(30) as threads:
                answers = list(threads.map(lambda _: client.get(conversation), range(30)))
            assert {answer.status_code for answer in answers} == {503}
            assert time.monotonic() - started < LIMIT_SECONDS + stretched(GRACE_SECONDS)
    finally:
        send(signal.SIGCONT, stopped)
    with away.client() as client:
        wait_for(lambda: client.get(conversation).status_code == 200)


def test_a_locked_row_gives_503_and_not_a_hang(away, conversation):
    with psycopg.connect(away.conninfo) as conn, away.client() as client:
        conn.execute("SELECT 1 FROM keepword.conversations FOR UPDATE")
        started = time.monotonic()
        check_unavailable(client.post(f"{conversation}/messages", json=MESSAGE), started)
        conn.rollback()
        assert client.post(f"{conversation}/messages", json=MESSAGE).status_code == 201
        assert len(client.get(f"{conversation}/messages").json()["messages"]) == 2


def test_a_body_that_never_comes_gives_up_at_the_time_limit(away, conversation):
    address = urlsplit(away.url)
    with socket.create_connection(
        (address.hostname, address.port), timeout=LIMIT_SECONDS + stretched(GRACE_SECONDS)
    ) as conn:
        head = f"POST {conversation}/messages HTTP/1.1\r\nHost: localhost\r\n"
        conn.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode())
        assert conn.recv(65536).startswith(b"HTTP/1.1 503 ")


def test_it_stops_in_time_even_when_the_database_is_stuck(make_service):
    assert DRAIN_SECONDS + sum(STOP_SECONDS.values()) < 5
    away = make_service().start()
    stopped = processes_of(Cluster(away.home).postmaster_pid())
    send(signal.SIGSTOP, stopped)
    try:
        started = time.monotonic()
        away.process.send_signal(signal.SIGTERM)
        away.process.wait(HANG_SECONDS)
        assert time.monotonic() - started < DRAIN_SECONDS + sum(STOP_SECONDS.values()) + stretched(GRACE_SECONDS)
    finally:
        send(signal.SIGCONT, stopped)


def test_unavailability_is_logged_with_the_request_id(away, conversation):
    send(signal.SIGKILL, processes_of(Cluster(away.home).postmaster_pid()))
    with away.client() as client:
        response = client.get(conversation, headers={"X-Request-Id": "mine-1"})
        wait_for(lambda: client.get("/readyz").status_code == 200)
    lines = [json.loads(line) for line in away.log().splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "request" and line.get("request_id") == "mine-1"]
    assert line["status"] == response.status_code
    assert any("starting it again" in line["event"] for line in lines)
