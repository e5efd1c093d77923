"""What was acknowledged is there exactly once, however often the service or its database is killed."""

import http.client
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from keepword.postgres.embedded import Cluster

WRITERS = 8
KILLS = 10
RECOVERY_SECONDS = 120  # crash recovery syncs every file of the database; on a busy disk that takes its time
LIFE_SECONDS = (0, 0.5)  # how long a killed part may live before, once it works again


class Writer(threading.Thread):
    """Appends one message after the other and tries each again until it is acknowledged."""

    def __init__(self, service, number: int, over: threading.Event) -> None:
        super().__init__()
        self._service = service
        self._name = f"writer-{number}"
        self._over = over
        self.sent: list[str] = []
        self.acknowledged: dict[str, dict] = {}
        self.retries = 0
        self.unexpected: list[str] = []

    def run(self) -> None:
        while not self._over.is_set():
            event = f"{self._name}-{len(self.sent)}"
            self.sent.append(event)
            self._append(event)

    def _append(self, event: str) -> None:
        message = {"role": "user", "content": f"said {event}", "event_id": event}
        # a wall-clock end, so that a service that never recovers fails the test and does not hang it
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            status, answer = self._post(message)
            if status in {200, 201}:
                self.acknowledged[event] = json.loads(answer)["messages"][0]
                return
            if status not in {0, 503}:
                self.unexpected.append(answer)
            if self._over.is_set():
                return
            self.retries += 1
            time.sleep(0.05)
        self.unexpected.append(f"{event} was never acknowledged")

    def _post(self, message: dict) -> tuple[int, str]:
        """Return the answer, or status 0 if there was none."""
        conn = http.client.HTTPConnection(self._service.url.removeprefix("http://"), timeout=20)
        try:
            headers = {"Content-Type": "application/json"}
            conn.request("POST", "/v1/conversations/kept/messages", json.dumps(message), headers)
            answer = conn.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            conn.close()


def kill_service(service) -> None:
    service.process.kill()
    service.process.wait()
    service.start()


def kill_database(service) -> None:
    os.kill(Cluster(service.home).postmaster_pid(), signal.SIGKILL)
    wait_until_ready(service)


def wait_for_progress(writers: list[Writer]) -> None:
    """Wait until something is acknowledged again, so that every kill hits a service at work."""
    before = sum(len(writer.acknowledged) for writer in writers)
    deadline = time.monotonic() + RECOVERY_SECONDS
    while sum(len(writer.acknowledged) for writer in writers) == before:
        assert time.monotonic() < deadline, "nothing is acknowledged any more"
        time.sleep(0.01)


def wait_until_ready(service) -> None:
    deadline = time.monotonic() + RECOVERY_SECONDS
    while not service.is_ready():
        assert time.monotonic() < deadline, service.log()
        time.sleep(0.02)


def kill_a_backend(service) -> None:
    """Kill the children alone: the postmaster lives and recovers, which is another path for the service."""
    postmaster = Cluster(service.home).postmaster_pid()
    # a child may have gone by itself, and after the death of one the postmaster itself may be between two lives
    with suppress(FileNotFoundError, ProcessLookupError):
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in random.sample(children, k=min(1, len(children))):
            os.kill(int(pid), signal.SIGKILL)
    wait_until_ready(service)


@pytest.mark.parametrize("kill", [kill_service, kill_database, kill_a_backend])
def test_every_acknowledged_message_is_there_exactly_once(make_service, find_port, show, kill):
    chance = random.Random(uuid4().int)
    service = make_service(port=str(find_port())).start()
    with service.client() as client:
        assert client.put("/v1/conversations/kept", json={}).status_code == 201
    over = threading.Event()
    writers = [Writer(service, number, over) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(KILLS):
            wait_for_progress(writers)
            time.sleep(chance.uniform(*LIFE_SECONDS))
            kill(service)
        wait_for_progress(writers)
    finally:
        over.set()
        for writer in writers:
            writer.join()
    wait_until_ready(service)
    check(service, writers, show, kill.__name__)


def check(service, writers, show, name: str) -> None:
    stored = read_all(service)
    counts = Counter(message["event_id"] for message in stored)
    sent = {event for writer in writers for event in writer.sent}
    acknowledged = {event: line for writer in writers for event, line in writer.acknowledged.items()}
    retries = sum(writer.retries for writer in writers)
    show(
        f"{name}: {len(sent)} sent, {len(acknowledged)} acknowledged, {retries} retries, {len(stored)} stored, "
        f"{sum(counts[event] != 1 for event in acknowledged)} acknowledged but not there once"
    )
    assert [text for writer in writers for text in writer.unexpected] == []
    assert {event for event in acknowledged if counts[event] != 1} == set()
    assert {event for event, count in counts.items() if count > 1} == set()
    assert set(counts) <= sent
    assert len(acknowledged) > WRITERS
    assert sorted(message["seq"] for message in stored) == list(range(1, len(stored) + 1))
    by_event = {message["event_id"]: message for message in stored}
    assert all(by_event[event]["id"] == line["id"] for event, line in acknowledged.items())
    assert all(message["content"] == f"said {message['event_id']}" for message in stored)


def read_all(service) -> list[dict]:
    found, cursor = [], None
    with service.client() as client:
        while True:
            params = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            page = client.get("/v1/conversations/kept/messages", params=params).json()
            found += page["messages"]
            cursor = page["next"]
            if cursor is None:
                return found
