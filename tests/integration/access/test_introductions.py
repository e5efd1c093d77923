"""A key bound to an agent alone acts with the users who were introduced to that agent, and with no others."""

from uuid import uuid4

import pytest

SECRET = "the vault opens at noon"


@pytest.fixture
def house(keyed_service):
    """Return clients by name: the owner's, an unbound key's, and keys bound to users, agents and both."""
    tenant = f"met-{uuid4().hex}"
    bound = {
        "owner": ("admin", None, None), "platform": ("agent", None, None), "ann": ("agent", None, "ann"),
        "bob": ("agent", None, "bob"), "ada": ("agent", "ada", None), "spy": ("agent", "spy", None),
        "spy's admin": ("admin", "spy", None), "ann with ada": ("agent", "ada", "ann"),
    }  # fmt: skip
    clients = {who: keyed_service.client(keyed_service.make_key(tenant, *binding)) for who, binding in bound.items()}
    owner = clients["owner"]
    owner.put("/v1/conversations/ann-ada", json={"agent": "ada", "user": "ann"}).raise_for_status()
    message = {"role": "user", "content": SECRET}
    owner.post("/v1/conversations/ann-ada/messages", json=message).raise_for_status()
    owner.put("/v1/facts/user/ann/salary", json={"value": SECRET}).raise_for_status()
    yield clients
    for client in clients.values():
        client.close()


def introduce(client, agent, user):
    return client.put(f"/v1/agents/{agent}/users/{user}")


def met(client, agent):
    answer = client.get(f"/v1/agents/{agent}/users")
    assert answer.status_code == 200, answer.text
    return [one["user"] for one in answer.json()["users"]]


def reading(client, user, agent="spy"):
    """Ask for what is known about a user in each way that needs no conversation."""
    yield client.get(f"/v1/facts/user/{user}")
    yield client.get(f"/v1/facts/user/{user}/salary")
    yield client.get(f"/v1/facts/user/{user}/salary/history")
    yield client.get("/v1/memories", headers={"Keepword-User": user})
    yield client.post("/episodic/search", json={"agent_id": agent, "user_id": user, "query": "vault"})
    yield client.post("/v1/search/semantic", json={"agent_id": agent, "user_id": user, "query": "vault"})


def making(client, user, agent="spy"):
    """Try to get a conversation with a user in each way that makes one."""
    name = f"new-{uuid4().hex}"
    path, header = f"/v1/conversations/{name}", {"Keepword-User": user}
    yield client.put(path, json={"user": user})
    yield client.put(path, json={"user": user, "kind": "direct"})
    yield client.put(path, json={}, headers=header)
    yield client.put(f"/working-memory/{name}", json={"data": {"a": 1}}, headers=header)
    yield client.post(f"/ledger/{name}/mark", json={"item_key": "a"}, headers=header)
    body = {"agent_id": agent, "conversation_id": name, "summary": "Fine."}
    yield client.post("/episodic/store", json=body | {"user_id": user})
    yield client.post("/episodic/store", json=body, headers=header)


def test_a_stranger_and_a_user_who_does_not_exist_get_the_same_answer_that_says_who_introduces(house):
    spy = house["spy"]
    for calls in (reading, making):
        for one, other in zip(calls(spy, "bob"), calls(spy, "bot"), strict=True):
            assert one.status_code == other.status_code == 404, one.text
            problem, same = one.json(), other.json()
            if "errors" in problem:
                problem, same = problem["errors"][0], same["errors"][0]
            assert problem["detail"] == same["detail"].replace("bot", "bob")
            assert "PUT /v1/agents/spy/users/bob" in problem["detail"]
    assert SECRET not in "".join(answer.text for answer in reading(spy, "ann"))
    # the attempts made nobody
    assert house["owner"].get("/v1/users/bot").status_code == 404
    assert house["owner"].get("/v1/conversations").json()["conversations"][0]["external_id"] == "ann-ada"


def test_the_name_of_a_conversation_that_is_taken_tells_nothing_of_a_stranger(house):
    taken, free = (house["spy"].put(f"/v1/conversations/{name}", json={"user": "ann"}) for name in ("ann-ada", "x"))
    assert (taken.status_code, taken.json()["detail"]) == (free.status_code, free.json()["detail"])


@pytest.mark.parametrize("who", ["owner", "ann"])
def test_who_was_introduced_by_the_owner_or_by_themselves_is_open_to_the_agent(house, who):
    assert introduce(house[who], "spy", "ann").status_code == 204
    assert introduce(house[who], "spy", "ann").status_code == 204
    assert met(house["spy"], "spy") == ["ann"]
    assert all(answer.status_code == 200 for answer in reading(house["spy"], "ann"))
    assert house["spy"].put("/v1/conversations/ann-spy", json={"user": "ann"}).status_code == 201
    assert house["spy"].put("/v1/facts/user/ann/tea?conversation=ann-spy", json={"value": 1}).status_code == 201
    # what was said to another agent stays there
    assert house["spy"].get("/v1/conversations/ann-ada").status_code == 404


def test_an_agent_introduces_nobody_to_itself_and_a_user_nobody_else(house):
    for who in ("spy", "spy's admin", "bob", "ada", "ann with ada", "platform"):
        for user in ("ann", "nobody"):
            refused = introduce(house[who], "spy", user)
            # an unbound key is told to name the user for whom it acts
            assert refused.status_code == (422 if who == "platform" else 403), (who, refused.text)
    for who in ("spy", "spy's admin", "bob", "ada"):
        assert house[who].delete("/v1/agents/ada/users/ann").status_code == 403, who
    header = {"Keepword-User": "ann"}
    assert house["spy"].put("/v1/agents/spy/users/ann", headers=header).status_code == 403
    assert house["owner"].put("/v1/agents/spy/users/ghost").status_code == 404
    assert met(house["owner"], "spy") == []


@pytest.mark.parametrize("kind", ["session", "direct"])
@pytest.mark.parametrize("who", ["owner", "platform", "ann"])
def test_making_a_conversation_of_the_two_introduces_them(house, who, kind):
    header = {"Keepword-Agent": "spy"} if who == "ann" else {}
    body = {"agent": "spy", "user": "ann", "kind": kind}
    assert house[who].put("/v1/conversations/made", json=body, headers=header).status_code == 201
    assert met(house["spy"], "spy") == ["ann"]
    assert house["spy"].get("/v1/conversations/made").status_code == 200


def test_naming_a_session_s_user_introduces_them_unless_the_agent_does_it(house):
    house["spy"].put("/v1/conversations/early", json={}).raise_for_status()
    assert house["spy"].put("/v1/conversations/early", json={"user": "ann"}).status_code == 404
    body = {"agent_id": "spy", "user_id": "ann", "conversation_id": "early", "summary": "Fine."}
    assert house["spy"].post("/episodic/store", json=body).status_code == 404
    assert house["owner"].get("/v1/conversations/early").json()["user"] is None
    assert house["platform"].put("/v1/conversations/early", json={"agent": "spy", "user": "ann"}).status_code == 200
    assert met(house["owner"], "spy") == ["ann"]
    assert house["spy"].get("/v1/conversations/early").json()["user"] == "ann"


def test_a_key_bound_to_both_needs_no_introduction(house):
    house["owner"].delete("/v1/agents/ada/users/ann").raise_for_status()
    both = house["ann with ada"]
    assert both.get("/v1/conversations/ann-ada/messages").json()["messages"][0]["content"] == SECRET
    assert both.get("/v1/facts/user/ann/salary").json()["value"] == SECRET
    assert both.put("/v1/conversations/another", json={}).status_code == 201


def test_withdrawing_counts_from_the_next_call_on_and_hides_what_there_was(house):
    ada, owner = house["ada"], house["owner"]
    path = "/v1/conversations/ann-ada"
    assert ada.get(f"{path}/messages").json()["messages"][0]["content"] == SECRET
    assert house["ann"].delete("/v1/agents/ada/users/ann").status_code == 204
    assert house["ann"].delete("/v1/agents/ada/users/ann").status_code == 404
    in_place = {"conversation": "ann-ada"}
    answers = {
        "get": ada.get(path), "messages": ada.get(f"{path}/messages"), "buffer": ada.get(f"{path}/buffer"),
        "append": ada.post(f"{path}/messages", json={"role": "assistant", "content": "x"}),
        "search": ada.post("/v1/search", json={"query": "vault"} | in_place),
        "compose": ada.post("/v1/compose", json={"message": "vault"} | in_place),
        "facts": ada.get("/v1/facts", params=in_place), "semantic": ada.get("/v1/semantic", params=in_place),
        "summaries": ada.get(f"{path}/summaries"),
    }  # fmt: skip
    for what, answer in answers.items():
        assert answer.status_code == 404, what
        unknown = answer.json()["detail"]
        assert "introduced" not in unknown
        assert SECRET not in answer.text
    assert ada.get("/working-memory/ann-ada").json() == {}
    assert ada.get("/v1/conversations").json()["conversations"] == []
    assert {answer.status_code for answer in reading(ada, "ann", "ada")} == {404}
    # everybody else goes on as before
    assert owner.get(path).status_code == house["ann"].get(path).status_code == 200
    assert house["platform"].get(path).status_code == 200


def test_what_was_withdrawn_comes_back_by_an_introduction_and_not_by_a_further_conversation(house):
    house["owner"].delete("/v1/agents/ada/users/ann").raise_for_status()
    body = {"agent": "ada", "user": "ann"}
    house["platform"].put("/v1/conversations/again", json=body).raise_for_status()
    assert met(house["owner"], "ada") == []
    assert house["ada"].get("/v1/conversations/again").status_code == 404
    introduce(house["ann"], "ada", "ann").raise_for_status()
    assert house["ada"].get("/v1/conversations/again").status_code == 200


def test_an_agent_s_admin_key_searches_all_its_sessions_but_those_of_strangers(house):
    owner = house["owner"]
    for user in ("ann", "bob"):
        body = {"agent_id": "spy", "user_id": user, "conversation_id": f"{user}-spy", "summary": f"Met {user}."}
        owner.post("/episodic/store", json=body).raise_for_status()
    owner.delete("/v1/agents/spy/users/bob").raise_for_status()
    body = {"agent_id": "spy", "query": "whom did we meet?"}
    found = house["spy's admin"].post("/episodic/search", json=body).json()["memories"]
    assert [one["summary"] for one in found] == ["Met ann."]
    assert len(owner.post("/episodic/search", json=body).json()["memories"]) == 2


def test_membership_of_a_room_is_the_grant_and_only_the_owner_gives_it(house):
    owner, spy = house["owner"], house["spy"]
    owner.put("/v1/rooms/hall", json={}).raise_for_status()
    for who in ("users/ann", "agents/spy"):
        owner.put(f"/v1/rooms/hall/participants/{who}").raise_for_status()
    assert spy.put("/v1/conversations/talk", json={"room": "hall"}).status_code == 201
    assert spy.get("/v1/conversations/talk", headers={"Keepword-User": "ann"}).status_code == 200
    assert spy.put("/v1/rooms/hall/participants/users/bob").status_code == 403
    assert house["spy's admin"].put("/v1/rooms/hall/participants/users/bob").status_code == 403
    # a room introduces nobody
    assert spy.get("/v1/facts/user/ann").status_code == 404


def test_the_list_of_who_was_introduced_is_paged_and_shows_each_what_is_theirs(house):
    owner = house["owner"]
    for user in ("ann", "bob", "cyd"):
        owner.put(f"/v1/users/{user}", json={}).raise_for_status()
        introduce(owner, "spy", user).raise_for_status()
    first = house["spy"].get("/v1/agents/spy/users", params={"limit": 2}).json()
    rest = house["spy"].get("/v1/agents/spy/users", params={"limit": 2, "cursor": first["next"]}).json()
    assert [one["user"] for one in (*first["users"], *rest["users"])] == ["ann", "bob", "cyd"]
    assert rest["next"] is None
    assert all(one["introduced_by"] and one["introduced_at"] for one in first["users"])
    assert met(house["bob"], "spy") == ["bob"]
    for who, status in (("ada", 404), ("ann with ada", 404), ("platform", 422)):
        assert house[who].get("/v1/agents/spy/users").status_code == status, who


def test_without_a_key_on_loopback_nothing_is_asked(service):
    with service.client() as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        header = {"Keepword-Agent": f"bot-{uuid4().hex}"}
        name = f"free-{uuid4().hex}"
        assert client.put(f"/v1/conversations/{name}", json={"user": "ann"}, headers=header).status_code == 201
        assert client.get(f"/v1/conversations/{name}", headers=header).status_code == 200
