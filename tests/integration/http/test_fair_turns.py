"""One key's requests, however many and however slow, do not keep other tenants out."""

import random
import threading
import time
from collections import Counter
from contextlib import ExitStack
from typing import Self

import httpx
import pytest

ATTACKERS = 20
HONEST = 30
# back references are what the database's own expressions are slow at: stopped after two seconds
SLOW = r"(.+)(.+)(.+)(.+)\1\2\3\4x"
TALK = "/v1/conversations/talk"


def babble(number: int) -> str:
    """Return text in which a pattern of back references looks for long."""
    return " ".join(random.Random(number).choices(("mast", "sail", "deck", "rope", "wind", "tide", "port"), k=80)) + "x"


class Storm:
    """Callers that send the same request again and again, and count the answers."""

    def __init__(self, client: httpx.Client, path: str, body: object, callers: int) -> None:
        self.statuses: Counter[int] = Counter()
        self._over = threading.Event()
        self._client, self._path, self._body = client, path, body
        self._threads = [threading.Thread(target=self._call, daemon=True) for _ in range(callers)]

    def _call(self) -> None:
        while not self._over.is_set():
            self.statuses[self._client.post(self._path, json=self._body).status_code] += 1

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def two_tenants(make_service):
    service = make_service().start()
    with ExitStack() as stack:
        clients = []
        for tenant in ("one", "two"):
            client = stack.enter_context(service.client(service.make_key(tenant, "admin")))
            client.put(TALK, json={}).raise_for_status()
            messages = [{"role": "user", "content": babble(number)} for number in range(20)]
            client.post(f"{TALK}/messages", json=messages).raise_for_status()
            clients.append(client)
        limits = httpx.Limits(max_connections=ATTACKERS)
        headers = {"Authorization": f"Bearer {service.make_key('one', 'reader')}"}
        attacker = stack.enter_context(httpx.Client(base_url=service.url, headers=headers, limits=limits, timeout=60))
        yield attacker, clients[1]


def test_patterns_of_one_key_on_many_connections_leave_the_places_to_another_tenant(two_tenants, show):
    attacker, honest = two_tenants
    pattern = {"query": SLOW, "mode": "regex", "conversation": "talk"}
    assert attacker.post("/v1/search", json=pattern).status_code == 422
    answers = []
    with Storm(attacker, "/v1/search", pattern, ATTACKERS) as storm:
        while not storm.statuses:
            time.sleep(0.05)
        for number in range(HONEST):
            started = time.monotonic()
            answer = honest.post("/v1/search", json={"query": f"harbour {number}", "conversation": "talk"})
            answers.append((answer.status_code, time.monotonic() - started))
    slowest = max(seconds for _, seconds in answers)
    show(f"fair turns: {HONEST} requests beside {ATTACKERS} callers with patterns, slowest {slowest:.2f} s")
    assert [status for status, _ in answers] == [200] * HONEST
    assert slowest < 10
    assert set(storm.statuses) <= {422, 503}


def test_another_tenants_pattern_has_its_turn(two_tenants):
    attacker, honest = two_tenants
    slow = {"query": SLOW, "mode": "regex", "conversation": "talk"}
    quick = {"query": "zeppelin", "mode": "regex", "conversation": "talk"}
    with Storm(attacker, "/v1/search", slow, ATTACKERS) as storm:
        while not storm.statuses:
            time.sleep(0.05)
        assert [honest.post("/v1/search", json=quick).status_code for _ in range(5)] == [200] * 5


def test_a_refused_pattern_says_when_to_come_back(two_tenants):
    attacker, _ = two_tenants
    refused = []
    pattern = {"query": SLOW, "mode": "regex", "conversation": "talk"}
    with Storm(attacker, "/v1/search", pattern, ATTACKERS - 1):
        deadline = time.monotonic() + 60
        while not refused and time.monotonic() < deadline:
            answer = attacker.post("/v1/search", json=pattern)
            refused += [answer] if answer.status_code == 503 else []
    assert int(refused[0].headers["retry-after"]) >= 1
    assert "mode trigram or regex" in refused[0].json()["detail"]
