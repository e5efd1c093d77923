"""Each question finds its turn, in six languages beside English and in three scripts, over a real database."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

TALKS: dict[str, list[list[str]]] = json.loads((Path(__file__).parent / "data" / "talks.json").read_text())


@pytest.fixture(scope="module")
def client(keyed_service):
    """A tenant in which each user has a session of 20 turns in one language."""
    client = keyed_service.client(keyed_service.make_key(f"languages-{uuid4().hex}"))
    client.put("/v1/agents/ada", json={})
    for language, talk in TALKS.items():
        client.put(f"/v1/users/{language}", json={})
        made = client.put(f"/v1/conversations/{language}", json={"user": language, "agent": "ada"})
        assert made.status_code == 201, made.text
        turns = [{"role": "user", "content": turn} for turn, _ in talk]
        assert client.post(f"/v1/conversations/{language}/messages", json=turns).status_code == 201
    yield client
    client.close()


@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("recipe", ["fast", "best"])
def test_every_question_finds_its_turn_among_the_first_three(client, language: str, recipe: str) -> None:
    missed = []
    for turn, question in TALKS[language]:
        asked = {"query": question, "conversation": language, "recipe": recipe, "limit": 3}
        found = client.post("/v1/search", json=asked).json()["results"]
        if not any(turn in hit["text"] for hit in found):
            missed.append((question, turn, [hit["text"] for hit in found]))
    assert not missed


def test_a_question_in_one_language_is_not_lost_among_the_others(client) -> None:
    """In the whole tenant, as its owner, whose words are weighed by the tenant's counts."""
    missed = []
    for talk in TALKS.values():
        for turn, question in talk[::4]:
            found = client.post("/v1/search", json={"query": question, "recipe": "fast", "limit": 3}).json()["results"]
            missed += [] if any(turn in hit["text"] for hit in found) else [question]
    assert not missed
