"""Redis may hang, die and come back: appends and buffers don't care, working memory and ledger say so and recover."""

import os
import signal
import threading
import time
from typing import Self
from uuid import uuid4

import httpx
import pytest

from keepword.redis.buffer import REST_SECONDS
from keepword.redis.client import ANSWER_SECONDS
from patience import HANG_SECONDS, stretched


@pytest.fixture
def redis(make_redis):
    return make_redis()


@pytest.fixture
def served(make_service, redis):
    return make_service(redis_url=redis.url).start()


@pytest.fixture
def client(served):
    with served.client() as made:
        yield made


def _texts(client, name):
    answer = client.get(f"/v1/conversations/{name}/buffer", params={"limit": 50})
    assert answer.status_code == 200
    return [message["text"] for message in answer.json()["messages"]]


def _append(client, name, text):
    return client.post(f"/v1/conversations/{name}/messages", json={"role": "user", "content": text})


def test_while_redis_is_away_fields_and_ledger_answer_503_and_the_rest_goes_on(client, redis):
    client.put("/working-memory/c", json={"data": {"a": 1}})
    _append(client, "c", "one")
    redis.kill()
    for answer in (
        client.get("/working-memory/c"),
        client.put("/working-memory/c", json={"data": {"a": 2}}),
        client.delete("/working-memory/c"),
        client.get("/ledger/c"),
        client.post("/ledger/c/check", json={"item_key": "k"}),
        client.post("/ledger/c/mark", json={"item_key": "k"}),
        client.post("/ledger/c/evict", json={"item_key": "k"}),
    ):
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) >= 1
        assert "Redis" in answer.json()["detail"]
    assert _append(client, "c", "two").status_code == 201
    assert _texts(client, "c") == ["one", "two"]
    assert client.get("/readyz").status_code == 200
    redis.start()
    assert client.put("/working-memory/c", json={"data": {"a": 3}}).status_code == 200
    assert client.get("/working-memory/c").json() == {"a": 3}
    assert client.post("/ledger/c/mark", json={"item_key": "k"}).json()["first"]
    assert _texts(client, "c") == ["one", "two"]


def test_a_service_starts_without_its_redis(make_service, make_redis):
    redis = make_redis()
    redis.kill()
    service = make_service(redis_url=redis.url).start()
    with service.client() as client:
        client.put("/v1/conversations/c", json={}).raise_for_status()
        assert _append(client, "c", "one").status_code == 201
        assert client.get("/working-memory/c").status_code == 503
        redis.start()
        assert client.get("/working-memory/c").json() == {}


def test_a_redis_that_hangs_holds_nobody_up_for_long(client, redis):
    client.put("/working-memory/c", json={"data": {"a": 1}})
    os.kill(redis.process.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        for number in range(20):
            assert _append(client, "c", f"m{number}").status_code == 201
        assert time.monotonic() - started < stretched(20 * ANSWER_SECONDS / 4)  # four times for each
        started = time.monotonic()
        assert client.get("/working-memory/c").status_code == 503
        assert _texts(client, "c") == [f"m{number}" for number in range(20)]
        assert time.monotonic() - started < stretched(6)  # each waits once, for one answer
    finally:
        os.kill(redis.process.pid, signal.SIGCONT)
    assert client.get("/working-memory/c").json() == {"a": 1}


class Load:
    """Appenders and readers that never stop, each in a conversation of its own; what was acknowledged is kept."""

    def __init__(self, url: str, writers: int) -> None:
        self._url = url
        self._over = threading.Event()
        self.names = [f"load-{uuid4().hex}" for _ in range(writers)]
        self.stored: dict[str, list[str]] = {name: [] for name in self.names}
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._write, args=(name,)) for name in self.names]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def go_on(self, seconds: float = 0.5) -> None:
        """Wait so long, and until every writer has got on."""
        before = {name: len(texts) for name, texts in self.stored.items()}
        time.sleep(seconds)
        deadline = time.monotonic() + HANG_SECONDS
        while any(len(self.stored[name]) < count + 2 for name, count in before.items()):
            assert time.monotonic() < deadline, "a writer is stuck"
            time.sleep(0.02)

    def _write(self, name: str) -> None:
        with httpx.Client(base_url=self._url, timeout=HANG_SECONDS) as client:
            client.put(f"/v1/conversations/{name}", json={}).raise_for_status()
            while not self._over.is_set():
                text = f"m{len(self.stored[name])}"
                status = _append(client, name, text).status_code
                if status != 201:
                    self.wrong.append(f"an append was answered {status}")
                self.stored[name].append(text)
                seen = _texts(client, name)
                if seen != self.stored[name][-50:]:
                    self.wrong.append(f"{name} shows {seen} for {self.stored[name][-50:]}")


def test_redis_is_killed_and_restarted_under_load_and_nothing_is_lost_or_wrong(client, served, redis):
    with Load(served.url, writers=4) as load:
        for _ in range(3):
            load.go_on()
            redis.kill()
            load.go_on()
            redis.start()
        # by then a Redis that was away is asked again
        load.go_on(REST_SECONDS + 0.5)
    assert load.wrong == []
    appended = 0
    for name in load.names:
        stored = []
        page = client.get(f"/v1/conversations/{name}/messages", params={"limit": 200}).json()
        while page["messages"]:
            stored += [message["content"] for message in page["messages"]]
            if page["next"] is None:
                break
            cursor = {"limit": 200, "cursor": page["next"]}
            page = client.get(f"/v1/conversations/{name}/messages", params=cursor).json()
        assert stored == load.stored[name]
        assert _texts(client, name) == stored[-50:]
        appended += len(stored)

    assert client.get("/working-memory/x").json() == {}
