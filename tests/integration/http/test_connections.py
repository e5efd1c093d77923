"""Sockets that say nothing, say it slowly, or do not listen cost nobody else anything."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest

FILES = 512
SILENT = 1000
PATIENCE_SECONDS = 10
# what a busy machine adds
SLACK_SECONDS = 30


@contextmanager
def connected(service, sent: bytes = b"", receive_buffer: int | None = None):
    host, port = service.url.removeprefix("http://").split(":")
    with socket.socket() as made:
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.settimeout(PATIENCE_SECONDS + SLACK_SECONDS)
        made.connect((host, int(port)))
        made.sendall(sent)
        yield made


def read_to_end(made: socket.socket) -> bytes:
    parts = []
    while part := made.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.fixture
def short_of_files(make_service):
    service = make_service()
    service.command = ["/bin/sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"', *service.command]
    return service.start()


def test_a_thousand_silent_connections_keep_neither_callers_nor_the_pool_out(short_of_files):
    service = short_of_files
    with ExitStack() as stack:
        for _ in range(SILENT):
            stack.enter_context(connected(service))
        for _ in range(10):
            assert httpx.get(f"{service.url}/healthz", timeout=SLACK_SECONDS).status_code == 200
        client = stack.enter_context(service.client())
        client.put("/v1/conversations/talk", json={}).raise_for_status()
        message = {"role": "user", "content": "hello"}
        with ThreadPoolExecutor(10) as threads:
            path = "/v1/conversations/talk/messages"
            answers = list(threads.map(lambda _: client.post(path, json=message).status_code, range(40)))
        assert answers == [201] * 40
        metrics = client.get("/metrics").text
    assert 'keepword_requests_shed_total{reason="connection displaced"}' in metrics


def test_a_socket_without_a_whole_header_is_closed_after_ten_seconds(service):
    started = time.monotonic()
    with ExitStack() as stack:
        silent = stack.enter_context(connected(service))
        half = stack.enter_context(connected(service, b"GET /healthz HTTP/1.1\r\nHost:"))
        assert read_to_end(silent) == b""
        assert read_to_end(half).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started >= PATIENCE_SECONDS - 1


def test_a_body_that_stops_coming_is_answered_with_408(service):
    head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        announced = stack.enter_context(connected(service, head + b'Content-Length: 100\r\n\r\n{"query":'))
        never_begun = stack.enter_context(connected(service, head + b"Content-Length: 100\r\n\r\n"))
        chunked = stack.enter_context(connected(service, head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"))
        for made in (announced, never_begun, chunked):
            answer = read_to_end(made)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer
            assert b"nothing more of the body came" in answer


def test_a_header_that_comes_bit_by_bit_has_no_more_time(service):
    with connected(service, b"GET /healthz HTTP/1.1\r\nX: ") as made:
        deadline = time.monotonic() + PATIENCE_SECONDS + SLACK_SECONDS
        made.settimeout(0.5)
        answer = b""
        while not answer and time.monotonic() < deadline:
            try:
                made.sendall(b"x")
                answer = made.recv(65536)
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("header", [b"X: " + b"x" * 400_000, b"\r\n".join(b"X%d: y" % number for number in range(500))])
def test_a_header_that_is_too_large_is_refused(service, header):
    with connected(service, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n") as made:
        try:
            made.sendall(header + b"\r\n\r\n")
            assert read_to_end(made).startswith(b"HTTP/1.1 431 ")
        except ConnectionError:  # closed while we were still sending
            pass
    assert httpx.get(f"{service.url}/healthz", timeout=60).status_code == 200


def test_a_caller_that_does_not_read_its_answer_is_left(service):
    path = "/v1/conversations/unread/messages"
    with service.client() as client:
        client.put("/v1/conversations/unread", json={}).raise_for_status()
        client.post(path, json=[{"role": "user", "content": "x" * 1_000_000}] * 7).raise_for_status()
        with connected(service, b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode(), 4096):
            deadline = time.monotonic() + PATIENCE_SECONDS + SLACK_SECONDS
            while 'reason="answer not read"' not in client.get("/metrics").text:
                assert time.monotonic() < deadline
                time.sleep(0.2)


def test_a_connection_serves_many_requests_and_then_rests(service):
    with connected(service) as made:
        for _ in range(3):
            made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while b"}" not in answer:  # head and body may come one after the other
                answer += made.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ")
        assert read_to_end(made) == b""
