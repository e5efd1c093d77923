"""A week of talk: a question that says when gets first what was said then, by whatever face it is asked."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from conftest import environment

DAY = timedelta(days=1)
KEEPWORD = str(Path(sys.executable).parent / "keepword")
# three days ago by its name, asked in the past
THEN = (datetime.now(UTC) - 3 * DAY).replace(hour=12, minute=0)
ASKED = f"What did marco say on {THEN:%A}?"
CORRECTION = "Correction: the beta goes live one week later."
OTHERS = 900


class World:
    def __init__(self, service):
        self.service = service
        self.key = service.make_key(f"when-{uuid4().hex}")
        self.client = service.client(self.key)
        for path in ("agents/ada", "users/marco"):
            self.client.put(f"/v1/{path}", json={})
        for name in ("week", "long"):
            self.client.put(f"/v1/conversations/{name}", json={"user": "marco", "agent": "ada"})
        # what the others say holds the name of the day
        said = [(THEN + days * DAY, f"We meet on {THEN:%A}, said marco on day {days}.") for days in (-3, -2, -1, 1, 2)]
        self.append("week", [*said, (THEN, CORRECTION), (THEN + DAY, "The beta moves again.")])
        noise = [(THEN - (3 + n % 40) * DAY, f"marco did say beta {n} on {THEN:%A}") for n in range(OTHERS)]
        self.append("long", sorted([*noise, (THEN, CORRECTION)]))

    def append(self, name, said):
        drafts = [{"role": "user", "content": text, "created_at": at.isoformat()} for at, text in said]
        assert self.client.post(f"/v1/conversations/{name}/messages", json=drafts).status_code == 201

    def ask(self, query=ASKED, conversation="week", **asked):
        asked = {"query": query, "conversation": conversation, "recipe": "fast"} | asked
        answer = self.client.post("/v1/search", json=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def world(keyed_service):
    made = World(keyed_service)
    yield made
    made.client.close()


def texts(answer):
    return [
        hit["text"].partition(": ")[2] if hit["text"].startswith("marco: ") else hit["text"]
        for hit in answer["results"]
    ]


def test_what_was_said_on_a_day_comes_first_and_the_answer_says_how_it_was_read(world):
    found = world.ask(explain=True)
    assert texts(found)[0] == CORRECTION
    start = THEN.replace(hour=0, minute=0, second=0, microsecond=0)
    when = found["searched"]["time"]
    assert when["words"] == f"on {THEN:%A}".lower()
    assert when["used"] is True
    read = [datetime.fromisoformat(when[edge]) for edge in ("since", "before")]
    assert read == [start, start + DAY]
    assert found["results"][0]["why"]["signals"]["window"]["value"] == 1
    assert len(found["results"]) > 1, "what was said at other times is still found"


def test_the_switch_takes_them_as_words_like_others(world):
    found = world.ask(time_words=False)
    assert texts(found)[0] != CORRECTION
    assert "time" not in found["searched"]


def test_a_time_that_the_caller_gives_goes_before_that_of_the_question(world):
    found = world.ask(since=(THEN + DAY / 2).isoformat())
    assert CORRECTION not in texts(found)
    assert found["searched"]["time"]["used"] is False


def test_in_a_large_scope_the_window_is_searched_by_itself(world):
    """At first the database compares all; once the scope is cached, each arm has its best 60."""
    for _ in range(100):
        found = world.ask(conversation="long")
        assert texts(found)[0] == CORRECTION
        if not found["searched"]["everything_compared"]:
            return
        time.sleep(0.1)
    pytest.fail("the scope was never cached")


def test_a_window_without_messages_changes_nothing(world):
    asked = "What did marco say about the beta 3 years ago?"
    found, plain = world.ask(asked), world.ask(asked, time_words=False)
    assert [hit["id"] for hit in found["results"]] == [hit["id"] for hit in plain["results"]]
    assert found["searched"]["time"]["used"] is False


def test_the_first_and_the_last_stand_in_order(world):
    asked = f"When did we {{}} say that we meet on {THEN:%A}?"
    times = [hit["created_at"] for hit in world.ask(asked.format("first"))["results"][:5]]
    assert times == sorted(times)
    found = world.ask(asked.format("last"))
    assert found["searched"]["time"]["order"] == "last"
    times = [hit["created_at"] for hit in found["results"][:5]]
    assert times == sorted(times, reverse=True)


def test_the_command_line_reads_them_too_and_has_the_switch(world):
    env = environment(world.service.home, url=world.service.url, key=world.key)
    command = [KEEPWORD, "search", ASKED, "--in", "week", "--recipe", "fast", "--limit", "1"]
    for options, is_first in ([], True), (["--no-time-words"], False):
        run = subprocess.run([*command, *options], env=env, capture_output=True, text=True, check=True)
        assert (CORRECTION in json.loads(run.stdout)["text"]) is is_first
