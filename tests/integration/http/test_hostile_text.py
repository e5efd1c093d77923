"""What one caller says or sends stops nobody else: the service answers while hostile text is read."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

# on a machine that does much else; on one that did nothing else, each of these took twenty seconds to hours
LONGEST_SECONDS = 10.0


@pytest.fixture(scope="module")
def service(service_type, make_migrated_home):
    """Return a service that runs the jobs itself, as it does by default; without the deep model, which takes a core."""
    made = service_type(make_migrated_home(), worker="true", embedding="none", request_timeout_seconds="300").start()
    yield made
    made.stop()


@pytest.fixture
def talk() -> str:
    return f"talk-{uuid4().hex[:8]}"


@contextmanager
def answering(service) -> Iterator[list[float]]:
    """Ask for /healthz all the time; every answer must come soon."""
    times: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with service.client() as client:
            while not (over.is_set() and times):
                began = time.monotonic()
                client.get("/healthz", timeout=120).raise_for_status()
                times.append(time.monotonic() - began)
                over.wait(0.02)

    watching = threading.Thread(target=ask)
    watching.start()
    try:
        yield times
    finally:
        over.set()
        watching.join()
    assert times
    assert max(times) < LONGEST_SECONDS, f"/healthz took {max(times):.1f} s"


def say(service, talk: str, *texts: str) -> None:
    with service.client() as client:
        client.put(f"/v1/conversations/{talk}", json={}).raise_for_status()
        messages = [{"role": "user", "content": text} for text in texts]
        client.post(f"/v1/conversations/{talk}/messages", json=messages, timeout=300).raise_for_status()


def wait_until_read(service, talk: str) -> None:
    """Wait until rules and landmarks went past the messages: what was said after them is found."""
    say(service, talk, "Decision: we ship on Friday.", "I live in Oslo.")
    deadline = time.monotonic() + 150
    with service.client() as client:
        for path in ("/v1/semantic", "/v1/landmarks"):
            while not any(client.get(path, params={"conversation": talk}).raise_for_status().json().values()):
                assert time.monotonic() < deadline, f"nothing at {path}"
                time.sleep(0.2)


BLANKS = "hi\n" + " " * 3_000
OPENED = "<" + " " * 7_000
MENTIONED = "@a" + " " * 20_000
LINKS = "http://" * 20_000
TAGS = "<a>" * 60_000
NOTES = "[file " * 60_000


@pytest.mark.parametrize("text", [BLANKS, MENTIONED, LINKS, TAGS, NOTES])
def test_a_message_that_is_read_in_the_background_holds_up_nobody(service, talk, text):
    with answering(service):
        say(service, talk, text)
        wait_until_read(service, talk)


def test_a_message_that_is_shown_in_a_turn_holds_up_nobody(service, talk):
    with answering(service), service.client() as client:
        say(service, talk, OPENED, "\n" * 10_000 + "x:")
        for _ in range(3):
            client.post("/v1/compose", json={"conversation": talk, "message": "what now?"}).raise_for_status()


@pytest.mark.parametrize("message", [OPENED, "\n" * 200_000 + "x:", " _" * 100_000, "</a>" * 60_000])
def test_a_turn_with_a_hostile_message_holds_up_nobody(service, talk, message):
    say(service, talk, "hello")
    with answering(service), service.client() as client:
        asked = {"conversation": talk, "message": message, "window_tokens": 1_000_000}
        assert client.post("/v1/compose", json=asked).status_code == 200


@pytest.mark.parametrize("query", ["." * 32_000, "a-" * 16_000, " ".join(map(str, range(6_000)))])
def test_a_search_for_hostile_text_holds_up_nobody(service, talk, query):
    say(service, talk, "hello")
    with answering(service), service.client() as client:
        assert client.post("/v1/search", json={"query": query, "conversation": talk}).status_code == 200


def test_a_message_of_words_that_nobody_knows_holds_up_nobody_and_is_stored(service, talk):
    words = (f"w{number:x}q{number * 7919:x}" for number in range(160_000))
    text = " ".join(words)
    half = len(text) // 2
    texts = [text[: min(half, 2**20)], text[half : half + 2**20]]
    with answering(service) as times:
        began = time.monotonic()
        say(service, talk, *texts)
        took = time.monotonic() - began
    # where the text is read on the event loop, one answer takes about as long as the append
    assert max(times) < took / 3, f"/healthz took {max(times):.1f} s of the {took:.1f} s of the append"
    with service.client() as client:
        kept = client.get(f"/v1/conversations/{talk}/messages").json()["messages"]
    assert [message["content"] for message in kept] == texts


def test_a_body_of_very_many_small_values_is_refused_before_it_is_read(service, talk):
    say(service, talk, "hello")
    many = '{"role": "user", "content": "a", "metadata": {"a": [' + ",".join(["[]"] * 300_000) + "]}}"
    with answering(service), service.client() as client:
        path, kind = f"/v1/conversations/{talk}/messages", {"Content-Type": "application/json"}
        assert client.post(path, content=many, headers=kind).status_code == 413
        commas = client.post(path, json={"role": "user", "content": '[{,"' * 200_000})
    assert commas.status_code == 201
