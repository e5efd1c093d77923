"""Reads that a real streaming replica answers, and what becomes of them when it lags, hangs, dies or is promoted."""

import os
import re
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx
import psycopg
import pytest

from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import revoke_key
from patience import HANG_SECONDS, stretched
from standby import Standby

# 10,000 were run by hand
APPENDS = int(os.environ.get("REPLICA_APPENDS", "100"))
FALL_BACK_SECONDS = 1.0


class House:
    """A service, its primary and a replica."""

    def __init__(self, service, standby: Standby, client: httpx.Client) -> None:
        self.service, self.standby, self.client = service, standby, client

    def open(self, conversation: str) -> None:
        for path in ("agents/guide", "users/ann", "agents/guide/users/ann"):
            self.client.put(f"/v1/{path}", json={}).raise_for_status()
        talk = {"agent": "guide", "user": "ann"}
        self.client.put(f"/v1/conversations/{conversation}", json=talk).raise_for_status()

    def say(self, text: str, conversation: str = "demo") -> None:
        self.client.post(
            f"/v1/conversations/{conversation}/messages", json={"role": "user", "content": text}
        ).raise_for_status()

    def texts(self, query: str, conversation: str = "demo", **more: str) -> list[str]:
        body = {"query": query, "conversation": conversation, "recipe": "fast"} | more
        answer = self.client.post("/v1/search", json=body)
        answer.raise_for_status()
        return [hit["text"] for hit in answer.json()["results"]]

    def reads(self) -> dict[str, int]:
        metrics = self.client.get("/metrics").text
        found = re.findall(r'keepword_replica_reads_total\{outcome="(\w+)",replica="[^"]*"\} (\S+)', metrics)
        counts: dict[str, int] = {}
        for outcome, amount in found:
            counts[outcome] = counts.get(outcome, 0) + int(float(amount))
        return counts

    def answered(self) -> int:
        return self.reads().get("answered", 0)

    def wait_until_used(self) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        before = self.answered()
        while self.answered() == before:
            assert time.monotonic() < deadline, self.service.log()[-2000:]
            self.texts("anything")


@pytest.fixture(scope="module")
def make_house(make_migrated_home, make_home, service_type) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def make(**settings: str) -> House:
        home = make_migrated_home()
        primary = Cluster(home)
        primary.start()
        standby = Standby(primary, make_home())
        service = service_type(home, replica_urls=standby.url(), **settings).start()
        key = service.make_key("acme")
        house = House(service, standby, service.client(key))
        made.append(house)
        house.open("demo")
        house.say("the first word")
        return house

    yield make
    for house in made:
        house.client.close()
        house.service.stop()
        house.standby.stop()


@pytest.fixture(scope="module")
def house(make_house) -> House:
    return make_house()


@pytest.fixture
def used(house) -> House:
    """Return the house once its replica answers."""
    house.wait_until_used()
    return house


def test_every_append_is_found_by_the_search_right_after_it(used, show) -> None:
    missed, before = [], used.reads()
    for number in range(APPENDS):
        word = f"quince{number}x{uuid4().hex[:8]}"
        used.say(f"remember {word}")
        if not any(word in text for text in used.texts(word)):
            missed.append(word)
    spent = {name: count - before.get(name, 0) for name, count in used.reads().items()}
    share = spent.get("answered", 0) / sum(spent.values())
    show(f"append, then search: {APPENDS}, missed {len(missed)}, reads {spent}, {share:.0%} by the replica")
    assert missed == []
    assert spent.get("answered", 0) > 0


def test_all_that_reads_is_answered_by_the_replica(used) -> None:
    used.standby.catch_up()
    requests = [
        ("GET", "/v1/browse?conversation=demo", None),
        ("GET", "/v1/stats?conversation=demo", None),
        ("GET", "/v1/conversations/demo/messages", None),
        ("POST", "/v1/compose", {"conversation": "demo", "message": "the first word?"}),
        ("POST", "/v1/search", {"query": "first.*", "mode": "regex", "conversation": "demo"}),
        ("POST", "/v1/search", {"query": "first", "mode": "trigram", "conversation": "demo"}),
    ]
    for method, path, body in requests:
        deadline = time.monotonic() + HANG_SECONDS
        while True:  # a busy machine may be late in replaying what the background wrote
            before = used.answered()
            answer = used.client.request(method, path, json=body)
            assert answer.status_code == 200, (path, answer.text)
            if used.answered() > before:
                break
            assert time.monotonic() < deadline, (path, used.reads())
    assert "read-only transaction" not in used.standby.cluster.log.read_text()


def test_reads_go_to_the_primary_while_replay_is_paused(used) -> None:
    word = f"paused{uuid4().hex}"
    used.standby.pause()
    try:
        began = time.monotonic()
        used.say(f"we talked about {word}")
        found = used.texts(word)
        seconds = time.monotonic() - began
        assert any(word in text for text in found)
        assert seconds < stretched(FALL_BACK_SECONDS)
        lag = re.search(r"keepword_replica_lag_bytes\{[^}]*\} (\S+)", used.client.get("/metrics").text)
        assert lag is not None
    finally:
        used.standby.resume()
    used.wait_until_used()
    assert any(word in text for text in used.texts(word))


def test_a_replica_that_hangs_is_left_behind_within_a_second(used) -> None:
    used.texts("the first word")
    used.standby.freeze()
    try:
        began = time.monotonic()
        found = used.texts("the first word")
        seconds = time.monotonic() - began
    finally:
        used.standby.thaw()
    assert any("first word" in text for text in found)
    assert seconds < stretched(FALL_BACK_SECONDS)
    used.wait_until_used()


def test_a_replica_that_dies_is_left_out_and_comes_back(used) -> None:
    used.texts("the first word")
    used.standby.kill()
    for _ in range(20):
        began = time.monotonic()
        assert any("first word" in text for text in used.texts("the first word"))
        assert time.monotonic() - began < stretched(FALL_BACK_SECONDS)
    used.standby.start()
    used.wait_until_used()
    assert any("first word" in text for text in used.texts("the first word"))


def test_what_an_older_open_transaction_commits_is_found_in_a_scope_that_is_cached(used) -> None:
    """A standby's snapshot does not say which transactions are open: what they commit must not pass for seen."""
    conversation, word = f"held-{uuid4().hex}", f"late{uuid4().hex}"
    used.open(conversation)
    for number in range(3):
        used.say(f"number {number} of the talk", conversation)
    with psycopg.connect(used.service.conninfo) as late:
        late.execute("SET search_path = keepword, public")
        # a message whose transaction stays open while others commit and the scope is searched, again and again
        late.execute(
            """INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, private_to, conversation_id, seq,
                role, user_id, agent, created_at, searchable, text, words, pieces, lexemes, instant)
            SELECT tenant_id, 'memory', gen_random_uuid(), run_id, visibility, private_to, conversation_id, seq + 1000,
                role, user_id, agent, created_at, searchable, %s, words, pieces, lexemes, instant
            FROM entries WHERE conversation_id = (SELECT id FROM conversations WHERE external_id = %s) LIMIT 1""",
            (word, conversation),
        )
        for number in range(6):
            used.say(f"another {number}", conversation)
            used.standby.catch_up()
            used.texts("another", conversation)
        late.commit()
    used.standby.catch_up()
    before = used.answered()
    found = used.texts("number of the talk", conversation)
    assert used.answered() > before
    assert any(word in text for text in found), found


def test_a_session_just_moved_and_a_key_just_revoked_count_at_once(used, show) -> None:
    """What decides who may read is asked of the primary, and the replica answers once it knows as much."""
    one, two, word = f"one-{uuid4().hex}", f"two-{uuid4().hex}", f"harbour{uuid4().hex}"
    project = f"sealed-{uuid4().hex[:8]}"
    used.open(one)
    used.open(two)
    used.say(f"the {word} is ours", one)
    used.client.put(f"/v1/projects/{project}", json={"isolated": True}).raise_for_status()
    member = f"/v1/projects/{project}/members/conversations/{one}"
    before, wrong = used.reads(), []
    for number in range(30):
        if number % 10 == 5:
            used.standby.pause()
        is_sealed = number % 2 == 0
        (used.client.put if is_sealed else used.client.delete)(member).raise_for_status()
        found = any(word in text for text in used.texts(word, two, reach="user"))
        if found == is_sealed:
            wrong.append((number, found))
        if number % 10 == 7:
            used.standby.resume()
    for number in range(10):
        key = used.service.make_key("acme", "reader")
        with used.service.client(key) as client:
            body = {"query": word, "conversation": two, "recipe": "fast"}
            assert client.post("/v1/search", json=body).status_code == 200
            with migrate.owner(used.service.conninfo) as owner:
                assert revoke_key(owner, key.split("_")[1])
            if client.post("/v1/search", json=body).status_code != 401:
                wrong.append((number, "revoked"))
    spent = {name: count - before.get(name, 0) for name, count in used.reads().items()}
    show(f"moved 30 times, revoked 10 times: {len(wrong)} mismatches, reads {spent}")
    assert wrong == []
    assert spent["answered"] > 0


def test_the_doctor_tells_a_replica_from_what_is_none(used, cli) -> None:
    home, url = used.service.home, used.standby.url()

    def said(urls: str) -> str:
        done = cli(home, "doctor", replica_urls=urls, embedding="none")
        assert "hunter2" not in done.stdout + done.stderr
        return f"{done.returncode} {' '.join(done.stdout.split())}"

    used.standby.catch_up()
    assert "bytes of the log behind" in said(url)
    itself = url.replace(str(used.standby.cluster.data), str(home / "postgres"))
    assert "it takes writes of its own" in said(itself)
    assert "another database than the primary's" in said(url.replace("/keepword?", "/postgres?"))
    bad = said(f"{url} postgresql://me:hunter2@127.0.0.1:9/keepword")
    assert bad.startswith("1 ")
    assert "replica 127.0.0.1:9" in bad


def test_a_url_that_is_none_is_refused_without_a_word_of_it(used, cli) -> None:
    done = cli(used.service.home, "serve", replica_urls="postgresql://a:b@h/d, mysql://me:hunter2@h/d")
    assert done.returncode != 0
    assert "must start with postgresql://" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_replica_that_is_promoted_is_left_out(make_house) -> None:
    promoted = make_house()
    promoted.wait_until_used()
    promoted.standby.promote()
    word = f"after{uuid4().hex}"
    # what only the promoted server holds is no part of this service's memory
    began = time.monotonic()
    promoted.say(f"we talked about {word}")
    assert any(word in text for text in promoted.texts(word))
    assert time.monotonic() - began < stretched(FALL_BACK_SECONDS)
    deadline = time.monotonic() + HANG_SECONDS
    while "it takes writes of its own" not in promoted.service.log():
        assert time.monotonic() < deadline, promoted.service.log()[-2000:]
        time.sleep(0.05)
    before = promoted.answered()
    for _ in range(5):
        assert any(word in text for text in promoted.texts(word))
    assert promoted.answered() == before
