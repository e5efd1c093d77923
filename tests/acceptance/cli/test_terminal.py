"""What callers send or store reaches a terminal only as text that prints."""

import os
import pty
import time
from uuid import uuid4

import httpx
import pytest

from acceptance.cli.terminal import HOSTILE, on_terminal

SECONDS = 60


@pytest.fixture
def watched(make_service):
    """Return a service whose log is a terminal, and what that terminal has shown so far."""
    leader, follower = pty.openpty()
    made = make_service()
    shown = bytearray()
    os.set_blocking(leader, False)

    def read() -> bytes:
        try:
            while got := os.read(leader, 65536):
                shown.extend(got)
        except (BlockingIOError, OSError):
            pass
        return bytes(shown)

    made.start(stderr=follower)
    yield made, read
    made.stop()
    os.close(leader)
    os.close(follower)


def test_a_requested_path_can_not_write_escape_sequences_to_the_terminal(watched):
    service, read = watched
    for sent in ("%1b]0;pwned%07", "%1b[2J", "%c2%9b31m", "%e2%80%ae", "%0d%0aforged"):
        httpx.get(f"{service.url}/{sent}", timeout=60)
    httpx.get(f"{service.url}/the-last", timeout=60)
    deadline = time.monotonic() + SECONDS
    while b"the-last" not in (log := read()):
        assert time.monotonic() < deadline, log
        time.sleep(0.02)
    for forbidden in (b"\x1b]", b"\x07", b"\x1b[2J", b"\xc2\x9b", "\u202e".encode(), b"\nforged"):
        assert forbidden not in log, forbidden


def test_a_stored_fact_prints_as_text_on_a_terminal_and_as_it_is_in_a_pipe(service, cli):
    key = f"k{uuid4().hex}"
    with service.client() as client:
        assert client.put(f"/v1/facts/global/-/{key}", json={"value": HOSTILE}).status_code == 201
    status, shown = on_terminal(service, "facts", "get", "global", "-", key)
    assert status == 0, shown
    assert all(char.isprintable() or char in "\r\n" for char in shown), shown
    piped = cli(service.home, "facts", "get", "global", "-", key, url=service.url)
    assert "\u202e" in piped.stdout


def test_an_agent_s_file_prints_as_text_on_a_terminal_and_as_it_is_in_a_pipe(service, cli):
    slug = f"a{uuid4().hex}"
    with service.client() as client:
        assert client.put(f"/v1/agents/{slug}", json={}).is_success
        assert client.put(f"/v1/agents/{slug}/files/SOUL.md", json={"content": HOSTILE}).is_success
    status, shown = on_terminal(service, "agents", "files", "get", slug, "SOUL.md")
    assert status == 0, shown
    assert all(char.isprintable() or char in "\r\n" for char in shown), shown
    assert cli(service.home, "agents", "files", "get", slug, "SOUL.md", url=service.url).stdout == HOSTILE
