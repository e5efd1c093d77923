"""No number that a caller is shown tells how often others said a word where the caller can't read."""

import time
from uuid import uuid4

import pytest

from keepword.postgres import migrate

WORDS = ("pregnancy", "bankruptcy", "acquisition", "diabetes", "resignation", "lawsuit", "garden", "bicycle")


SECONDS = 120


@pytest.fixture(scope="module")
def counting(service_type, make_migrated_home):
    """Start a service whose worker counts words as messages come in."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def tenants(counting):
    """Make two tenants that differ in what bob says to helper alone; ann says the same in both."""
    made = {hidden: _fill(counting, hidden) for hidden in (False, True)}
    deadline = time.monotonic() + SECONDS
    with migrate.owner(counting.conninfo) as conn:
        counted = "SELECT COALESCE(min(entries), 0), count(*) FROM entry_counts"
        while conn.execute(counted).fetchone() != (len(WORDS) * 6 + 20, 2):
            assert time.monotonic() < deadline, conn.execute(counted).fetchone()
            time.sleep(0.1)
    return made


def _fill(service, hidden):
    tenant = f"counts-{uuid4().hex}"
    with service.client(service.make_key(tenant)) as owner:
        for user in ("ann", "bob"):
            owner.put(f"/v1/users/{user}", json={}).raise_for_status()
        owner.put("/v1/conversations/ann-s", json={"user": "ann", "agent": "helper"}).raise_for_status()
        direct = {"kind": "direct", "user": "bob", "agent": "helper"}
        owner.put("/v1/conversations/bob-s", json=direct).raise_for_status()
        # said often enough by ann herself, so that no floor hides what bob adds
        said = [f"I read about {word} today, number {number}." for word in WORDS for number in range(6)]
        _append(owner, "ann-s", said)
        secret = [f"The {word} is ours alone, {number}." for word in WORDS[:4] for number in range(5)]
        _append(owner, "bob-s", secret if hidden else ["Nothing at all."] * len(secret))
    return service.make_key(tenant, "agent", "helper", "ann")


def _append(client, name, texts):
    messages = [{"role": "user", "content": text} for text in texts]
    client.post(f"/v1/conversations/{name}/messages", json=messages).raise_for_status()


def _asked(service, key, body):
    with service.client(key) as client:
        answer = client.post("/v1/search", json={"conversation": "ann-s", "explain": True, "limit": 50} | body)
        answer.raise_for_status()
        return [(hit["text"], hit["score"], hit["why"]) for hit in answer.json()["results"]]


@pytest.mark.parametrize("mode", ["hybrid", "words"])
@pytest.mark.parametrize("recipe", ["fast", "seed"])
def test_scores_and_explanations_are_the_same_whatever_was_said_elsewhere(counting, tenants, mode, recipe):
    for turn in range(3):  # also when the scope is kept in memory
        for word in WORDS:
            body = {"query": f"What about {word}?", "mode": mode, "recipe": recipe}
            told = [_asked(counting, tenants[hidden], body) for hidden in (False, True)]
            assert len(told[0]) > 0
            without, with_it = (sorted(map(str, (_without_times(*hit) for hit in hits))) for hits in told)
            assert without == with_it, (turn, word)


def _without_times(text, score, why):
    """Leave out what moves with the clock between two calls: the recipe seed weighs how long ago it was."""
    words = (why or {}).get("terms")
    signal = ((why or {}).get("signals") or {}).get("words")
    return text, words, signal, None if ((why or {}).get("signals") or {}).get("temporal") else score
