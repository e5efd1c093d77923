"""A room and a conversation keep their messages for days of their own; only the tenant's owner says for how many."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from integration.erasure.test_retract import say
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster

PLACES = ("/v1/conversations/short/retention", "/v1/rooms/hall/retention")


@pytest.fixture
def tenant():
    return f"tenant-{uuid4().hex[:8]}"


@pytest.fixture
def owner(keyed_service, tenant):
    with keyed_service.client(keyed_service.make_key(tenant)) as found:
        for path in ("users/ann", "agents/ada", "rooms/hall"):
            assert found.put(f"/v1/{path}", json={"name": path}).status_code == 201
        for path in ("users/ann", "agents/ada"):
            found.put(f"/v1/rooms/hall/participants/{path}")
        for name, place in (("plain", {"user": "ann"}), ("short", {"user": "ann"}), ("hall-1", {"room": "hall"})):
            found.put(f"/v1/conversations/{name}", json=place | {"agent": "ada"})
            for days in (40, 10):
                at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
                say(found, name, f"I like tea since {days} days.", created_at=at, user="ann")
        yield found


def expire(service, days_later=0):
    """Erase all that is expired so many days from now, in any order."""
    erased = 0
    with migrate.owner(Cluster(service.home).conninfo) as conn:
        query = "SELECT erased_messages FROM erase_expired(now() + %s * interval '1 day', 500)"
        while rows := conn.execute(query, (days_later,)).fetchall():
            erased += sum(row[0] for row in rows)
    return erased


def left(owner):
    """Return how many messages with words each conversation has."""
    pages = {name: owner.get(f"/v1/conversations/{name}/messages").json() for name in ("plain", "short", "hall-1")}
    return {name: sum(bool(one["content"]) for one in page["messages"]) for name, page in pages.items()}


def put(owner, path, days):
    answer = owner.put(path, json={"days": days})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_days_of_a_place_hold_before_those_of_the_tenant(keyed_service, owner):
    assert put(owner, PLACES[1], 20) == {"retention_days": 20, "days": 20}
    assert owner.get("/v1/conversations/hall-1/retention").json() == {"retention_days": None, "days": 20}
    assert expire(keyed_service) == 1
    assert left(owner) == {"plain": 2, "short": 2, "hall-1": 1}
    # shorter than the tenant's, and longer
    owner.patch("/v1/settings", json={"retention_days": 30})
    put(owner, PLACES[0], 5)
    put(owner, "/v1/conversations/hall-1/retention", 365)
    assert expire(keyed_service) == 3
    assert left(owner) == {"plain": 1, "short": 0, "hall-1": 1}
    assert expire(keyed_service, 100) == 1
    assert left(owner) == {"plain": 0, "short": 0, "hall-1": 1}
    # without days of its own it is as its room says
    assert put(owner, "/v1/conversations/hall-1/retention", None) == {"retention_days": None, "days": 20}
    assert expire(keyed_service, 15) == 1
    assert left(owner) == {"plain": 0, "short": 0, "hall-1": 0}
    assert expire(keyed_service, 4000) == 0
    events = owner.get("/v1/audit?action=retention.changed").json()["events"]
    assert len(events) == 4
    assert {event["place"] for event in events} == {"room:hall", "session:short"}


def test_only_the_owner_sets_the_days(keyed_service, owner, tenant):
    put(owner, PLACES[0], 20)
    bound = (
        {"role": "admin", "agent": "ada"},
        {"role": "agent", "agent": "ada"},
        {"role": "agent", "user": "ann"},
        {"role": "reader"},
    )
    for words in bound:
        with keyed_service.client(keyed_service.make_key(tenant, **words)) as other:
            for path in PLACES:
                assert [other.get(path).status_code, other.put(path, json={"days": 1}).status_code] == [403, 403], words
            settings = {"retention_days": 1, "retention": 1}
            other.patch("/v1/conversations/short", json={"settings": settings})
            other.put("/v1/conversations/short", json={"settings": settings, "user": "ann", "agent": "ada"})
    as_agent = owner.put(PLACES[0], json={"days": 1}, headers={"Keepword-Agent": "ada"})
    assert as_agent.status_code == 403
    assert owner.get(PLACES[0]).json() == {"retention_days": 20, "days": 20}
    with keyed_service.client(keyed_service.make_key(f"{tenant}-b")) as stranger:
        assert [stranger.put(path, json={"days": 1}).status_code for path in PLACES] == [404, 404]


def test_what_is_no_number_of_days_is_refused(owner):
    for body in ({}, {"days": 0}, {"days": 36_501}, {"days": "x"}, {"days": True}, {"days": 1.5}, {"more": 1}):
        assert [owner.put(path, json=body).status_code for path in PLACES] == [422, 422], body
    for path in ("/v1/conversations/none/retention", "/v1/rooms/none/retention"):
        assert owner.put(path, json={"days": 1}).status_code == 404
        assert owner.get(path).status_code == 404
    for path in ("/v1/conversations/a%00b/retention", "/v1/rooms/a%00b/retention"):
        assert owner.put(path, json={"days": 1}).status_code in {404, 422}
