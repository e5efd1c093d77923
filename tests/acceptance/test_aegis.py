"""AEGIS' own calls, with its own ids and bodies, in every order that its pipeline makes them in."""

import json
from itertools import permutations
from uuid import uuid4

import pytest

AGENT = "PermitAgent_1"
USER = "j.mitchell@example.com"
SUMMARY = "Previously filed Rule 37 exception for Mitchell Ranch 2H"


@pytest.fixture(scope="module", params=["keyless", "unbound", "agent"])
def client(request, service, keyed_service):
    """Return a client without a key, with an unbound one, and with one bound to the agent, which was introduced."""
    if request.param == "keyless":
        found = service.client()
    else:
        tenant, agent = f"aegis-{uuid4().hex[:8]}", AGENT if request.param == "agent" else None
        with keyed_service.client(keyed_service.make_key(tenant)) as owner:
            for user in (USER, "somebody else"):
                owner.put(f"/v1/users/{user}", json={}).raise_for_status()
                owner.put(f"/v1/agents/{AGENT}/users/{user}").raise_for_status()
        found = keyed_service.client(keyed_service.make_key(tenant, "agent", agent))
    with found:
        yield found


def put_working_memory(client, name):
    path = f"/working-memory/{name}"
    data = {
        "scratchpad": "Rule 37 applies",
        "entities": [{"type": "well", "id": "42-329", "name": "Mitchell Ranch 2H"}],
    }
    assert client.put(path, json={"data": data}).status_code == 200
    assert client.put(path, json={"data": {"well_api": "42-329-41233"}}).status_code == 200
    assert client.get(path).json() == data | {"well_api": "42-329-41233"}
    assert client.request("DELETE", path, json={"fields": ["well_api", "entity_id"]}).status_code == 204
    assert client.get(path).json() == data


def use_ledger(client, name):
    item = {"item_key": "skill:spacing-calculation"}
    assert client.post(f"/ledger/{name}/check", json=item).json()["injected"] is False
    assert client.post(f"/ledger/{name}/mark", json=item | {"value": "injected"}).json()["first"] is True
    assert client.post(f"/ledger/{name}/check", json=item).json() == {"injected": True, "value": "injected"}
    assert client.post(f"/ledger/{name}/mark", json=item | {"value": "1"}).json()["first"] is False
    assert client.get(f"/ledger/{name}").json() == {"skill:spacing-calculation": "1"}
    assert client.post(f"/ledger/{name}/evict", json=item).json() == {"evicted": True}
    assert client.post(f"/ledger/{name}/evict", json=item).json() == {"evicted": False}


def store(client, name):
    body = {
        "agent_id": AGENT, "user_id": USER, "conversation_id": name, "summary": SUMMARY,
        "key_decisions": ["file the exception"], "entities_mentioned": {"wells": ["Mitchell Ranch 2H"]},
        "tools_called": None,
    }  # fmt: skip
    stored = client.post("/episodic/store", json=body)
    assert stored.status_code == 201, stored.text
    (found,) = client.get(f"/episodic/{name}").json()["memories"]
    assert {part: found[part] for part in body} == body


STEPS = {"memory": put_working_memory, "ledger": use_ledger, "store": store}


@pytest.mark.parametrize("order", list(permutations(STEPS)), ids="-".join)
def test_the_three_layers_of_a_conversation_may_be_used_in_any_order(client, order):
    """Nobody announces the conversation, the agent or the user; the summary is then found by agent and user."""
    name = f"conv-{uuid4().hex}"
    for step in order:
        STEPS[step](client, name)
    made = client.get(f"/v1/conversations/{name}").json()
    assert (made["kind"], made["agent"], made["user"]) == ("session", AGENT, USER)
    body = {"agent_id": AGENT, "user_id": USER, "query": "exception for Mitchell Ranch", "top_k": 20}
    hits = client.post("/episodic/search", json=body).json()["memories"]
    assert name in {hit["conversation_id"] for hit in hits}
    assert all(0 < hit["similarity"] <= 1 for hit in hits)


def test_the_memory_node_reads_what_the_last_conversation_left(client):
    """As the pipeline does before each answer: working memory, then similar past conversations."""
    past, now = f"conv-{uuid4().hex}", f"conv-{uuid4().hex}"
    put_working_memory(client, past)
    store(client, past)
    assert client.get(f"/working-memory/{now}").json() == {}
    found = client.post("/episodic/search", json={"agent_id": AGENT, "user_id": USER, "query": "Rule 37"}).json()
    assert len(found["memories"]) <= 3
    assert SUMMARY in {memory["summary"] for memory in found["memories"]}


def test_a_summary_without_a_user_may_be_followed_by_one_with_a_user(client):
    name = f"conv-{uuid4().hex}"
    body = {"agent_id": AGENT, "conversation_id": name, "summary": SUMMARY}
    assert client.post("/episodic/store", json=body).status_code == 201
    assert client.post("/episodic/store", json=body | {"user_id": USER}).status_code == 201
    assert client.post("/episodic/store", json=body).status_code == 201
    assert len(client.get(f"/episodic/{name}").json()["memories"]) == 3


def test_what_was_named_once_is_fixed(client):
    name = f"conv-{uuid4().hex}"
    store(client, name)
    body = {"agent_id": AGENT, "user_id": "somebody else", "conversation_id": name, "summary": "Mine."}
    refused = client.post("/episodic/store", json=body)
    assert refused.status_code == 409
    assert USER in refused.json()["detail"]
    assert json.dumps("Mine.") not in client.get(f"/episodic/{name}").text
