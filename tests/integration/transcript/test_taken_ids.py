"""Ids that somebody took in advance: nobody writes into another's conversation without naming whose it is."""

from uuid import uuid4

import pytest

SECRET = "card 4111"


@pytest.fixture
def house(keyed_service):
    """Return clients by name, and a session that spy made under an id that the platform and ada would use."""
    tenant = f"taken-{uuid4().hex}"
    bound = {
        "owner": ("admin", None, None), "platform": ("agent", None, None), "spy": ("agent", "spy", None),
        "ada": ("agent", "ada", None), "ann": ("agent", None, "ann"),
    }  # fmt: skip
    clients = {who: keyed_service.client(keyed_service.make_key(tenant, *binding)) for who, binding in bound.items()}
    clients["spy"].put("/v1/conversations/ticket-77", json={}).raise_for_status()
    yield clients
    for client in clients.values():
        client.close()


def writing(client, name, agent="helper", **headers):
    """Write in each way that makes a conversation which nobody announced, and by making one."""
    summary = {"agent_id": agent, "conversation_id": name, "summary": SECRET}
    yield client.put(f"/working-memory/{name}", json={"data": {"note": SECRET}}, headers=headers)
    yield client.post(f"/ledger/{name}/mark", json={"item_key": "a", "value": SECRET}, headers=headers)
    yield client.post("/episodic/store", json=summary, headers=headers)
    yield client.put(f"/v1/conversations/{name}", json={}, headers=headers)


@pytest.mark.parametrize("who", ["owner", "platform"])
def test_an_unbound_key_does_not_write_into_what_a_bound_key_made_without_naming_whose_it_is(house, who):
    for answer in writing(house[who], "ticket-77"):
        assert answer.status_code == 409, answer.text
        assert "Keepword-Agent" in answer.json()["detail"]
        assert "spy" not in answer.text
    spy = house["spy"]
    assert spy.get("/working-memory/ticket-77").json() == spy.get("/ledger/ticket-77").json() == {}
    assert spy.get("/episodic/ticket-77").json() == {"memories": []}


@pytest.mark.parametrize("who", ["owner", "platform"])
def test_naming_whose_it_is_lets_an_unbound_key_write(house, who):
    named = {"Keepword-Agent": "spy"}
    assert [one.is_success for one in writing(house[who], "ticket-77", "spy", **named)] == [True] * 4
    house["ann"].put("/working-memory/mine", json={"data": {"a": 1}}).raise_for_status()
    assert house[who].put("/working-memory/mine", json={"data": {"a": 2}}).status_code == 409
    named = {"Keepword-User": "ann"}
    assert house[who].put("/working-memory/mine", json={"data": {"a": 2}}, headers=named).status_code == 200


def test_what_an_unbound_key_made_it_goes_on_with_however_it_was_named_since(house):
    assert [one.is_success for one in writing(house["platform"], "ours", "helper")] == [True] * 4
    assert [one.is_success for one in writing(house["owner"], "ours", "helper")] == [True] * 4
    assert house["owner"].get("/v1/conversations/ours").json()["agent"] == "helper"


def test_a_bound_key_whose_id_was_taken_is_told_so_and_not_by_whom(house):
    house["owner"].put("/v1/rooms/hall", json={}).raise_for_status()
    house["owner"].put("/v1/rooms/hall/participants/agents/spy").raise_for_status()
    house["owner"].put("/v1/projects/vault", json={"isolated": True}).raise_for_status()
    for name, body in {
        "a-room": {"room": "hall", "agent": "spy"}, "a-session": {"agent": "spy", "user": "ann"},
        "a-direct": {"agent": "spy", "user": "ann", "kind": "direct"}, "isolated": {"agent": "spy", "project": "vault"},
    }.items():  # fmt: skip
        house["owner"].put(f"/v1/conversations/{name}", json=body).raise_for_status()
    details = set()
    for name in ("ticket-77", "a-room", "a-session", "a-direct", "isolated"):
        for answer in writing(house["ada"], name, "ada"):
            assert answer.status_code == 409, answer.text
            details.add(answer.json()["detail"].replace(name, "*"))
        assert house["ada"].get(f"/v1/conversations/{name}").status_code == 404
        assert house["ada"].get(f"/working-memory/{name}").json() == {}
    assert len(details) == 1
    assert "choose another" in details.pop()
