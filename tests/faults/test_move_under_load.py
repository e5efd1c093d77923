"""A tenant moves while everybody writes to it: nothing that was acknowledged is lost or stored twice."""

import itertools
import threading
import time
from collections import Counter
from uuid import uuid4

import httpx
import pytest

from conftest import Service
from integration.postgres.test_moving import VECTORS, client, fill, search, settle
from keepword.postgres import moving
from moving import Pair, make_server
from patience import HANG_SECONDS, stretched

WRITERS = 3
# refused while the tenant moves: closed for a moment, served elsewhere, or not there yet, with its keys
REFUSED = {401, 503}
CLOSED_SECONDS = 2
BEFORE_SECONDS, AFTER_SECONDS = 2, 3


@pytest.fixture(scope="module")
def pair(make_migrated_home):
    made = Pair({name: make_server(make_migrated_home()) for name in ("north", "south")})
    yield made
    made.stop()


@pytest.fixture(scope="module")
def services(pair, make_home):
    started = [
        Service(make_home(), database_url=pair.url(name), worker="true", embedding="local").start()
        for name in pair.clusters
    ]
    yield started
    for service in started:
        service.stop()


class Caller(threading.Thread):
    """Writes one thing after the other, and asks the other service where one does not take it."""

    def __init__(self, services, key: str, name: str, over: threading.Event) -> None:
        super().__init__(name=name)
        self.over = over
        self.opened = [client(service, key) for service in services]
        self.clients = itertools.cycle(self.opened)
        self.client = next(self.clients)
        self.acknowledged: list[str] = []
        self.acknowledged_at: list[float] = []
        self.unexpected: list[str] = []
        self.refused: Counter[int] = Counter()

    def run(self) -> None:
        for number in itertools.count():
            if self.over.is_set():
                break
            self._write(f"{self.name}-{number}")
        for one in self.opened:
            one.close()

    def _write(self, what: str) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            answer = self.send(what)
            if answer.is_success:
                self.acknowledged.append(what)
                self.acknowledged_at.append(time.monotonic())
                return
            self.refused[answer.status_code] += 1
            if answer.status_code not in REFUSED:
                self.unexpected.append(answer.text)
                return
            self.client = next(self.clients)
            time.sleep(0.01)
        self.unexpected.append(f"{what} was never acknowledged")

    def send(self, what: str) -> httpx.Response:
        raise NotImplementedError

    def longest_gap(self) -> float:
        return max(after - before for before, after in itertools.pairwise(self.acknowledged_at))


class Appender(Caller):
    def send(self, what: str) -> httpx.Response:
        message = {"role": "user", "content": f"I have said {what}.", "event_id": what}
        return self.client.post("/v1/conversations/talk/messages", json=message)


class FactSetter(Caller):
    def send(self, what: str) -> httpx.Response:
        return self.client.put(f"/v1/facts/user/ann/{self.name}", json={"value": what})


class Rememberer(Caller):
    def send(self, what: str) -> httpx.Response:
        memory = {"conversation": "talk", "content": f"Ann owns the boat with the number {uuid4().hex} and {what}."}
        return self.client.post("/v1/semantic", json=memory)


class Scratcher(Caller):
    def send(self, what: str) -> httpx.Response:
        return self.client.put("/working-memory/talk", json={"data": {self.name: what}})


def number(what: str) -> int:
    return int(what.rpartition("-")[2])


@pytest.mark.timeout(600)
def test_a_tenant_moves_under_full_load_and_nothing_is_lost_or_twice(pair, services, show):
    name = f"moving-{uuid4().hex[:8]}"
    tenant, key = pair.make_tenant(name)
    with client(services[0], key) as kw:
        fill(kw, 200)
        settle(pair, tenant)
    over = threading.Event()
    appenders = [Appender(services, key, f"append{n}", over) for n in range(WRITERS)]
    facts, memories, scratch = (
        kind(services, key, kind.__name__.lower(), over) for kind in (FactSetter, Rememberer, Scratcher)
    )
    callers = [*appenders, facts, memories, scratch]
    for caller in callers:
        caller.start()
    time.sleep(BEFORE_SECONDS)
    lines: list[str] = []
    began = time.monotonic()
    closed_seconds = moving.move(pair.servers, name, "south", 7, lines.append)
    moved_at = time.monotonic()
    time.sleep(AFTER_SECONDS)
    over.set()
    for caller in callers:
        caller.join()
    assert [caller.unexpected for caller in callers] == [[]] * len(callers)
    rows = pair.ask("south", "SELECT seq, event_id FROM messages WHERE tenant_id = %s AND event_id IS NOT NULL", tenant)
    stored = Counter(event for _, event in rows)
    sent = [event for appender in appenders for event in appender.acknowledged]
    lost, twice = set(sent) - stored.keys(), [event for event, times in stored.items() if times > 1]
    assert (lost, twice) == (set(), [])
    seqs = [seq for (seq,) in pair.ask("south", "SELECT seq FROM messages WHERE tenant_id = %s ORDER BY seq", tenant)]
    assert seqs == list(range(1, len(seqs) + 1))
    # every value that was acknowledged is a version of the fact, and the versions have no gap
    versions = pair.ask("south", "SELECT version, value #>> '{}' FROM fact_versions WHERE tenant_id = %s AND key = %s "
                                 "ORDER BY version", tenant, facts.name)  # fmt: skip
    assert [version for version, _ in versions] == list(range(1, len(versions) + 1))
    assert set(facts.acknowledged) <= {value for _, value in versions}
    told = Counter(
        content.rpartition(" and ")[2].rstrip(".")
        for (content,) in pair.ask("south", "SELECT content FROM memories WHERE tenant_id = %s", tenant)
        if " and " in content
    )
    assert set(memories.acknowledged) <= told.keys()
    with client(services[1], key) as kw:
        held = kw.get("/working-memory/talk").json()
        assert number(held[scratch.name]) >= number(scratch.acknowledged[-1])
        last = appenders[0].acknowledged[-1]
        assert any(last in text for text in search(kw, f"I have said {last}."))
    # the old server took nothing after the new one was open, and no vector of its own was made anew
    old = set(pair.ask("north", VECTORS, tenant))
    assert old <= set(pair.ask("south", VECTORS, tenant))
    after = sum(at > moved_at for caller in callers for at in caller.acknowledged_at)
    assert after
    show(
        f"a move under load in {moved_at - began:.1f} s: {sum(len(c.acknowledged) for c in callers)} acknowledged "
        f"({after} of them at the new server), {len(lost)} lost, {len(twice)} twice, {len(seqs)} messages without "
        f"a gap; closed to writes for {closed_seconds:.2f} s, longest gap between two acknowledged writes of a caller "
        f"{max(caller.longest_gap() for caller in callers):.2f} s"
    )
    assert closed_seconds < stretched(CLOSED_SECONDS)
