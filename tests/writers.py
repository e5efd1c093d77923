"""Callers that append without end and keep what was acknowledged, and the check that it is there exactly once."""

import http.client
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, fields
from typing import Self

from patience import HANG_SECONDS

RECOVERY_SECONDS = HANG_SECONDS  # crash recovery syncs every file of the database; on a busy disk that takes its time


class Writer(threading.Thread):
    """Appends one message after the other and tries each again until it is acknowledged."""

    def __init__(
        self, service, name: str, over: threading.Event, *, conversation: str = "kept", timeout: float = 20,
        pause: float = 0, key: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._service = service
        self.writer = name
        self.conversation = conversation
        self._over = over
        self._timeout = timeout
        self._pause = pause
        self.sent: list[str] = []
        self.acknowledged: dict[str, dict] = {}
        self.acknowledged_at: list[tuple[float, float]] = []  # when it was sent, when it was acknowledged
        self.retries = 0
        self.unexpected: list[str] = []

    def run(self) -> None:
        while not self._over.wait(self._pause):
            event = f"{self.writer}-{len(self.sent)}"
            self.sent.append(event)
            self._append(event)

    def _append(self, event: str) -> None:
        message = {"role": "user", "content": f"said {event}", "event_id": event}
        # a wall-clock end, so that a service that never recovers fails the test and does not hang it
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            began = time.monotonic()
            status, answer = self._post(message)
            if status in {200, 201}:
                self.acknowledged[event] = json.loads(answer)["messages"][0]
                self.acknowledged_at.append((began, time.monotonic()))
                return
            if status not in {0, 503}:
                self.unexpected.append(answer)
            if self._over.is_set():
                return
            self.retries += 1
            time.sleep(0.05)
        self.unexpected.append(f"{event} was never acknowledged")

    def _post(self, message: dict) -> tuple[int, str]:
        return self.request("POST", f"/v1/conversations/{self.conversation}/messages", message)

    def request(self, method: str, path: str, body: dict | None) -> tuple[int, str]:
        """Return the answer, or status 0 if there was none."""
        conn = http.client.HTTPConnection(self._service.url.removeprefix("http://"), timeout=self._timeout)
        try:
            sent = None if body is None else json.dumps(body)
            conn.request(method, path, sent, self._headers)
            answer = conn.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            conn.close()

    def answers_to(self, sent_after: float) -> list[float]:
        """Return when those that were sent after that moment were acknowledged."""
        return [ended for began, ended in tuple(self.acknowledged_at) if began >= sent_after]


class Writers:
    """Several of them, at work while inside."""

    def __init__(self, writers: list[Writer], over: threading.Event) -> None:
        self.all = writers
        self._over = over

    def __enter__(self) -> Self:
        for writer in self.all:
            writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for writer in self.all:
            writer.join()

    def wait_for_progress(self) -> None:
        """Wait until something is acknowledged again, so that every fault hits a service at work."""
        self.wait_for_answer_to(time.monotonic())

    def wait_for_answer_to(self, sent_after: float) -> float:
        """Wait until something that was sent after that moment is acknowledged; return when it was."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while True:
            if times := [time for writer in self.all for time in writer.answers_to(sent_after)]:
                return min(times)
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.005)

    def wait_for_all(self, sent_after: float) -> float:
        """Wait until each of them was answered; return when the last one was."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while not all(writer.answers_to(sent_after) for writer in self.all):
            assert time.monotonic() < deadline, "somebody is not answered any more"
            time.sleep(0.005)
        return max(writer.answers_to(sent_after)[0] for writer in self.all)


@dataclass(frozen=True)
class Kept:
    """What writers sent, and what became of it. `wrong` are those that are lost or there twice."""

    sent: int
    acknowledged: int
    retries: int
    stored: int
    wrong: int

    def __str__(self) -> str:
        parts = (f"{getattr(self, part.name)} {part.name}" for part in fields(self))
        return ", ".join(parts)

    @property
    def cells(self) -> tuple[int, ...]:
        return tuple(getattr(self, part.name) for part in fields(self))


def check_kept(service, writers: list[Writer]) -> Kept:
    """Check that what was acknowledged is there once, in order, as it was sent; return the counts."""
    by_conversation: dict[str, list[Writer]] = {}
    for writer in writers:
        by_conversation.setdefault(writer.conversation, []).append(writer)
    stored, wrong = 0, set[str]()
    for name, those in by_conversation.items():
        messages = read_all(service, name)
        stored += len(messages)
        wrong |= _find_wrong(messages, those)
    assert wrong == set(), "lost or twice"
    sent, acknowledged, retries = (
        sum(numbers) for numbers in zip(*((len(w.sent), len(w.acknowledged), w.retries) for w in writers), strict=True)
    )
    return Kept(sent, acknowledged, retries, stored, len(wrong))


def _find_wrong(stored: list[dict], writers: list[Writer]) -> set[str]:
    """Check one conversation; return the events that are lost or there twice."""
    counts = Counter(message["event_id"] for message in stored)
    sent = {event for writer in writers for event in writer.sent}
    acknowledged = {event: line for writer in writers for event, line in writer.acknowledged.items()}
    assert [text for writer in writers for text in writer.unexpected] == []
    assert set(counts) <= sent
    assert len(acknowledged) > len(writers)
    assert sorted(message["seq"] for message in stored) == list(range(1, len(stored) + 1))
    by_event = {message["event_id"]: message for message in stored}
    assert all(message["content"] == f"said {message['event_id']}" for message in stored)
    wrong = {event for event in acknowledged if counts[event] != 1}
    assert all(by_event[event]["id"] == line["id"] for event, line in acknowledged.items() if event not in wrong)
    return wrong | {event for event, count in counts.items() if count > 1}


def read_all(service, conversation: str) -> list[dict]:
    found, cursor = [], None
    with service.client() as client:
        while True:
            params = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            page = client.get(f"/v1/conversations/{conversation}/messages", params=params).json()
            found += page["messages"]
            cursor = page["next"]
            if cursor is None:
                return found
