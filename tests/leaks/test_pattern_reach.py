"""A pattern runs over no text that its caller may not read: how long it takes would tell what stands there."""

from uuid import uuid4

import pytest

from keepword.postgres import migrate

SAID = "Please keep it to yourself, but the {} was confirmed on Monday and I have not told anybody."
SECRETS = ("pregnancy", "bankruptcy", "acquisition")
OWN = 400


def slow_where_it_stands(*words: str) -> str:
    """Return a pattern that takes minutes on a text with one of the words, and no time on any other."""
    return rf"(....+)(.+)(.+)(.+).*({'|'.join(words)}).*\1\2\3\4"


@pytest.fixture(scope="module")
def callers(keyed_service):
    """Make keys whose callers can't read what ann said to helper alone, each with the conversation that it asks in."""
    tenant, other = (f"reach-{uuid4().hex}" for _ in range(2))
    with keyed_service.client(keyed_service.make_key(tenant)) as owner:
        for user in ("ann", "bob"):
            owner.put(f"/v1/users/{user}", json={}).raise_for_status()
        fill(owner, "ann-s", [SAID.format(word) for word in SECRETS], kind="direct", user="ann", agent="helper")
        fill(owner, "bob-s", small_talk(), user="bob", agent="helper")
    with keyed_service.client(keyed_service.make_key(other)) as owner:
        fill(owner, "own", small_talk())
    with migrate.owner(keyed_service.conninfo) as conn:
        conn.execute("ANALYZE")  # as autovacuum does sooner or later
    return {
        "user": (keyed_service.make_key(tenant, "agent", None, "bob"), "bob-s"),
        "agent": (keyed_service.make_key(tenant, "agent", "helper", "bob"), "bob-s"),
        "another tenant's reader": (keyed_service.make_key(other, "reader"), "own"),
        "another tenant's owner": (keyed_service.make_key(other), None),
    }


def small_talk() -> list[str]:
    return [f"We talked about number {number} of the list and then went home early." for number in range(OWN)]


def fill(client, name, texts, **made):
    client.put(f"/v1/conversations/{name}", json=made).raise_for_status()
    messages = [{"role": "user", "content": text} for text in texts]
    client.post(f"/v1/conversations/{name}/messages", json=messages).raise_for_status()


@pytest.mark.parametrize("caller", ["user", "agent", "another tenant's reader", "another tenant's owner"])
def test_a_slow_pattern_does_not_tell_that_its_words_stand_where_the_caller_can_t_read(keyed_service, callers, caller):
    key, conversation = callers[caller]
    asked = {"mode": "regex", "query": slow_where_it_stands(*SECRETS)}
    with keyed_service.client(key) as client:
        answer = client.post("/v1/search", json=asked | ({"conversation": conversation} if conversation else {}))
    assert (answer.status_code, answer.json().get("results")) == (200, []), answer.text


def test_the_pattern_is_stopped_where_its_caller_may_read_the_words(keyed_service, callers):
    key, conversation = callers["user"]
    with keyed_service.client(key) as client:
        said = {"role": "user", "content": SAID.format("lawsuit")}
        client.post(f"/v1/conversations/{conversation}/messages", json=said).raise_for_status()
        asked = {"mode": "regex", "query": slow_where_it_stands("lawsuit"), "conversation": conversation}
        answer = client.post("/v1/search", json=asked)
    assert (answer.status_code, "longer than 2 s" in answer.text) == (422, True)
