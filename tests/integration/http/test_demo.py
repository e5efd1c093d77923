"""The demo's story in a tenant of its own: opened by the owner on this machine, and no end of calls without a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import httpx
import pytest


@pytest.fixture
def owner(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"demo-{uuid4().hex}")) as client:
        yield client


@contextmanager
def _told(keyed_service, demo: dict) -> Iterator[httpx.Client]:
    with keyed_service.client(demo["secret"]) as client:
        for one in (*demo["story"], *demo["questions"]):
            answer = client.request(one["method"], one["path"], json=one["body"] if one["body"] is not None else {})
            assert answer.is_success, answer.text
        yield client


def test_the_requests_of_the_answer_tell_the_story_in_a_tenant_of_its_own(keyed_service, owner):
    opened = owner.post("/v1/demo")
    assert (opened.status_code, opened.headers["cache-control"]) == (201, "no-store")
    demo = opened.json()
    with _told(keyed_service, demo) as inside:
        assert inside.get("/v1/whoami").json()["tenant"] == demo["tenant"]
        talk = inside.get("/v1/conversations/counter-talk/messages").json()["messages"]
        assert [one["content"] for one in talk][:1] == ["Decision: the bakery opens on 12 June."]
        composed = inside.post("/v1/compose", json={"conversation": "bills", "message": "the oven?", "user": "mira"})
        assert "Zanolli" in composed.json()["text"]
        assert "K-2207" not in composed.json()["text"]
    assert owner.get("/v1/conversations").json()["conversations"] == []


def test_opening_it_again_gives_another_key_to_the_same_story_and_ends_the_first(keyed_service, owner):
    first = owner.post("/v1/demo").json()
    with _told(keyed_service, first):
        pass
    second = owner.post("/v1/demo").json()
    assert (second["tenant"], first["is_told"], second["is_told"]) == (first["tenant"], False, True)
    with keyed_service.client(first["secret"]) as ended:
        assert ended.get("/v1/whoami").status_code == 401
    with keyed_service.client(second["secret"]) as inside:
        again = inside.post("/v1/demo")
        assert (again.status_code, "leave it first" in again.text) == (409, True)


def test_an_erased_demo_is_opened_anew(keyed_service, owner):
    first = owner.post("/v1/demo").json()
    with _told(keyed_service, first) as inside:
        assert inside.delete("/v1/tenant").is_success
    second = owner.post("/v1/demo").json()
    assert second["tenant"] != first["tenant"]
    assert not second["is_told"]


def test_a_demo_s_key_leaves_this_machine_without_a_key(make_service):
    service = make_service().start()
    with service.client() as client:
        demo = client.post("/v1/demo").json()
        assert client.get("/v1/whoami").json()["tenant"] == "default"
        with service.client(demo["secret"]) as inside:
            assert inside.get("/v1/whoami").json()["tenant"] == demo["tenant"]
            assert inside.delete("/v1/tenant").is_success
        assert client.get("/v1/whoami").json()["tenant"] == "default"


@pytest.mark.parametrize("options", [{"role": "reader"}, {"role": "agent"}, {"role": "admin", "user": "ann"}])
def test_it_is_the_owner_s_alone(keyed_service, owner, options):
    made = owner.post("/v1/keys", json=options).json()
    with keyed_service.client(made["secret"]) as other:
        assert other.post("/v1/demo").status_code == 403


def test_behind_a_proxy_it_is_not_this_machine(owner):
    answer = owner.post("/v1/demo", headers={"X-Forwarded-For": "203.0.113.7"})
    assert (answer.status_code, "keepword demo" in answer.text) == (403, True)
