"""A session that lacks its agent or its user is given them once, by a key that may; nobody gets at another's."""

import asyncio
from uuid import uuid4

import httpx
import pytest

SECRET = "the well is dry"


@pytest.fixture(scope="module")
def tenant_name() -> str:
    return f"t-{uuid4().hex[:12]}"


@pytest.fixture
def connect(keyed_service, tenant_name):
    """Open clients with keys of one tenant."""
    made = []

    def open_client(role="agent", agent=None, user=None):
        made.append(keyed_service.client(keyed_service.make_key(tenant_name, role, agent, user)))
        return made[-1]

    yield open_client
    for client in made:
        client.close()


@pytest.fixture
def name() -> str:
    return f"conv-{uuid4().hex}"


def note(client, name) -> httpx.Response:
    return client.put(f"/working-memory/{name}", json={"data": {"note": SECRET}})


def store(client, name, agent="helper", user=None) -> httpx.Response:
    body = {"agent_id": agent, "conversation_id": name, "summary": "Fine."} | ({"user_id": user} if user else {})
    return client.post("/episodic/store", json=body)


def whose(client, name) -> tuple[str, str | None]:
    found = client.get(f"/v1/conversations/{name}").json()
    return found["agent"], found["user"]


def test_a_session_of_one_agent_is_nothing_to_another(connect, name):
    mine, other = connect(agent="ada"), connect(agent="bix")
    assert note(mine, name).status_code == 200
    assert store(other, name, "bix").status_code == 409
    assert store(other, name, "ada").status_code == 403
    assert note(other, name).status_code == 409
    assert other.get(f"/working-memory/{name}").json() == {}
    assert other.get(f"/episodic/{name}").json() == {"memories": []}
    assert whose(mine, name) == ("ada", None)


@pytest.mark.parametrize("bound", [{"agent": "bix"}, {"user": "bob"}, {"agent": "bix", "user": "bob"}])
def test_a_bound_key_does_not_get_at_a_session_that_lacks_its_agent_and_user(connect, name, bound):
    """What an unbound key wrote there is nobody's yet, and so not a bound key's to take."""
    unbound, other = connect(), connect(**bound)
    assert note(unbound, name).status_code == 200
    # a person's key stores no summary at all
    assert store(other, name, "bix", "bob").status_code == (409 if "agent" in bound else 403)
    assert other.get(f"/working-memory/{name}").json() == {}
    assert other.put(f"/v1/conversations/{name}", json={}).status_code == 409
    assert whose(unbound, name) == ("default", None)


def test_a_header_binds_as_a_key_does(connect, name):
    unbound = connect()
    assert note(unbound, name).status_code == 200
    body = {"agent_id": "bix", "conversation_id": name, "summary": "Fine."}
    assert unbound.post("/episodic/store", json=body, headers={"Keepword-Agent": "bix"}).status_code == 409
    assert unbound.post("/episodic/store", json=body, headers={"Keepword-Agent": "ada"}).status_code == 403
    assert unbound.post("/episodic/store", json=body).status_code == 201


def test_a_user_s_key_gives_its_own_session_to_no_agent(connect, name):
    bob = connect(user="bob")
    assert note(bob, name).status_code == 200
    before = whose(bob, name)
    assert store(bob, name, "PermitAgent_1", "bob").status_code == 403
    assert whose(bob, name) == before


def test_whom_the_session_was_given_to_reads_it_and_nobody_else(connect, name):
    unbound = connect()
    note(unbound, name)
    assert store(unbound, name, "ada", "ann").status_code == 201
    for bound, reads in (
        ({"agent": "ada"}, True),
        ({"user": "ann"}, True),
        ({"agent": "ada", "user": "ann"}, True),
        ({"agent": "bix"}, False),
        ({"user": "bob"}, False),
        ({"agent": "ada", "user": "bob"}, False),
        ({"agent": "bix", "user": "ann"}, False),
        ({"agent": "default"}, False),
    ):
        viewer = connect("reader", **bound)
        assert (viewer.get(f"/working-memory/{name}").json() == {"note": SECRET}) is reads
        assert (viewer.get(f"/v1/conversations/{name}").status_code == 200) is reads


def test_a_reader_gives_nothing_away(connect, name):
    note(connect(), name)
    reader = connect("reader")
    assert store(reader, name, "ada", "ann").status_code == 403
    assert reader.put(f"/v1/conversations/{name}", json={"user": "ann"}).status_code == 403
    assert whose(reader, name) == ("default", None)


def test_a_session_that_was_announced_keeps_its_agent(connect, name):
    """Who announces a session and names no agent has chosen `default`."""
    admin = connect("admin")
    admin.put(f"/v1/conversations/{name}", json={}).raise_for_status()
    refused = store(admin, name, "helper")
    assert refused.status_code == 409
    assert "'default'" in refused.json()["detail"]
    assert admin.put(f"/v1/conversations/{name}", json={"agent": "helper"}).status_code == 409


def test_a_session_without_a_user_gets_one_by_put_once_and_then_takes_their_messages(connect, name):
    admin = connect("admin")
    for user in ("ann", "bob"):
        admin.put(f"/v1/users/{user}", json={}).raise_for_status()
    path = f"/v1/conversations/{name}"
    admin.put(path, json={"title": "Trip"}).raise_for_status()
    said = {"role": "user", "content": "Pack the tent.", "user": "ann"}
    admin.post(f"{path}/messages", json={"role": "user", "content": "hello"}).raise_for_status()
    assert admin.post(f"{path}/messages", json=said).status_code == 404
    given = admin.put(path, json={"user": "ann"})
    assert (given.status_code, given.json()["user"], given.json()["title"]) == (200, "ann", "Trip")
    assert admin.post(f"{path}/messages", json=said).status_code == 201
    assert admin.put(path, json={"user": "ann"}).status_code == 200
    refused = admin.put(path, json={"user": "bob"})
    assert (refused.status_code, "'ann'" in refused.json()["detail"]) == (409, True)
    assert len(connect("reader", user="ann").get(f"{path}/messages").json()["messages"]) == 2


def test_an_agent_s_key_names_the_user_only_before_there_are_messages(connect, name):
    admin = connect("admin")
    admin.put("/v1/users/ann", json={}).raise_for_status()
    admin.put("/v1/agents/helper/users/ann").raise_for_status()
    helper, path = connect(agent="helper"), f"/v1/conversations/{name}"
    helper.put(path, json={}).raise_for_status()
    helper.post(f"{path}/messages", json={"role": "user", "content": "hello"}).raise_for_status()
    refused = helper.put(path, json={"user": "ann"})
    assert (refused.status_code, "has messages" in refused.json()["detail"]) == (409, True)
    assert connect().put(path, json={"user": "ann"}).json()["user"] == "ann"
    early = f"{path}-2"
    helper.put(early, json={}).raise_for_status()
    assert helper.put(early, json={"user": "ann"}).json()["user"] == "ann"


def test_an_announced_session_is_not_given_a_user_whom_nobody_made(connect, name):
    admin, path = connect("admin"), f"/v1/conversations/{name}"
    admin.put(path, json={}).raise_for_status()
    refused = admin.put(path, json={"user": "nobody-made-me"})
    assert (refused.status_code, "/v1/users/" in refused.json()["detail"]) == (404, True)
    assert admin.get("/v1/users/nobody-made-me").status_code == 404


def test_an_unknown_user_in_a_stored_summary_is_made_but_not_for_a_key_of_another_or_of_an_agent(connect, name):
    admin, user = connect("admin"), f"user-{uuid4().hex}"
    assert store(connect(user="bob"), name, "ada", user).status_code == 403
    assert admin.get(f"/v1/users/{user}").status_code == 404
    assert store(connect(agent="ada"), name, "ada", user).status_code == 404
    assert admin.get(f"/v1/users/{user}").status_code == 404
    assert store(connect(), name, "ada", user).status_code == 201
    assert admin.get(f"/v1/users/{user}").status_code == 200


@pytest.mark.anyio
async def test_of_many_who_name_the_agent_at_once_one_is_taken(keyed_service, tenant_name, name):
    key = keyed_service.make_key(tenant_name)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=keyed_service.url, headers=headers, timeout=60) as client:
        (await client.put(f"/working-memory/{name}", json={"data": {"a": 1}})).raise_for_status()
        bodies = [
            {"agent_id": f"agent-{number}", "user_id": f"u-{number}", "conversation_id": name, "summary": "Fine."}
            for number in range(16)
        ]
        answers = await asyncio.gather(*(client.post("/episodic/store", json=body) for body in bodies))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 15
        winner = next(body for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 201)
        found = (await client.get(f"/v1/conversations/{name}")).json()
        assert (found["agent"], found["user"]) == (winner["agent_id"], winner["user_id"])
        assert len((await client.get(f"/episodic/{name}")).json()["memories"]) == 1
