"""Summaries, landmarks and AEGIS' episodic memory, over HTTP on a real service with its worker."""

import time
from uuid import uuid4

import pytest

from patience import HANG_SECONDS

LONG = 64 * 1024


@pytest.fixture
def tenant_name():
    return f"tenant-{uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def working_service(service_type, make_migrated_home):
    """Return a service that does its background work, without the deep model."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    yield made
    made.stop()


@pytest.fixture
def client(working_service, tenant_name):
    with working_service.client(working_service.make_key(tenant_name)) as found:
        yield found


def eventually(look, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)
    return found


@pytest.fixture
def closed(client):
    """Return a conversation that is over, so that its messages become a summary at once."""
    client.put("/v1/conversations/done", json={"title": "Pumps"})
    said = [
        {"role": "user", "content": "Decision: pump P-7 runs at 4 bar."},
        {"role": "assistant", "tool_name": "set_pressure", "tool_args": {"pump": "P-7", "bar": 4}},
    ]
    receipts = client.post("/v1/conversations/done/messages", json=said).json()["messages"]
    client.patch("/v1/conversations/done", json={"active": False})
    return receipts


def test_a_closed_conversation_is_summarised_and_can_be_climbed_down(client, closed):
    (leaf,) = eventually(lambda: client.get("/v1/conversations/done/summaries").json()["summaries"])
    assert (leaf["summary"]["kind"], leaf["summary"]["depth"], leaf["summary"]["share"]) == ("leaf", 0, 1.0)
    assert leaf["summary"]["key_decisions"] == ["Decision: pump P-7 runs at 4 bar."]
    assert leaf["summary"]["tools_called"] == ["set_pressure"]
    assert leaf["children"] == []
    bottom = client.get(f"/v1/summaries/{leaf['summary']['id']}").json()
    assert bottom["children"] == []
    assert [message["id"] for message in bottom["messages"]] == [receipt["id"] for receipt in closed]
    episodes = client.get("/episodic/done").json()["memories"]
    assert [episode["id"] for episode in episodes] == [leaf["summary"]["id"]]


def test_summaries_are_made_when_somebody_asks(client):
    client.put("/v1/conversations/long", json={})
    said = [{"role": "user", "content": f"Decision: pump P-{n} runs at {n} bar in Hall {n % 5}."} for n in range(420)]
    client.post("/v1/conversations/long/messages", json=said).raise_for_status()
    made = client.post("/v1/conversations/long/summaries").json()
    while made["left"]:
        before, made = made["left"], client.post("/v1/conversations/long/summaries").json()
        assert made["left"] < before
    (session,) = made["summaries"]
    assert session["summary"]["tier"] == "session"
    assert [child["summary"]["tier"] for child in session["children"]] == ["thread"] * len(session["children"])
    assert (session["summary"]["first_seq"], session["summary"]["last_seq"]) == (1, 420)
    assert client.get("/v1/conversations/long/summaries").json()["summaries"] == made["summaries"]
    again = client.post("/v1/conversations/long/summaries").json()
    assert again == made


def test_summaries_of_an_unknown_or_an_empty_conversation(client):
    assert client.post("/v1/conversations/nobody/summaries").status_code == 404
    client.put("/v1/conversations/empty", json={})
    assert client.post("/v1/conversations/empty/summaries").json() == {"summaries": [], "left": 0}


def test_a_landmark_is_found_listed_unpinned_and_pinned_again(client, closed):
    (found,) = eventually(lambda: client.get("/v1/landmarks?conversation=done").json()["landmarks"])
    assert (found["kind"], found["text"], found["message"]) == (
        "decision", "Decision: pump P-7 runs at 4 bar.", closed[0]["id"],
    )  # fmt: skip
    assert client.delete(f"/v1/landmarks/{found['id']}").status_code == 204
    assert client.delete(f"/v1/landmarks/{found['id']}").status_code == 404
    assert client.get("/v1/landmarks").json()["landmarks"] == []
    body = {"conversation": "done", "message": closed[0]["id"], "kind": "decision", "text": "P-7 runs at 4 bar"}
    pinned = client.post("/v1/landmarks", json=body)
    assert pinned.status_code == 201
    assert pinned.json()["text"] == "P-7 runs at 4 bar"
    assert client.post("/v1/landmarks", json=body).status_code == 409
    assert client.get("/v1/landmarks?kind=spec").json()["landmarks"] == []


def test_landmarks_come_in_pages(client):
    client.put("/v1/conversations/pages", json={})
    said = [{"role": "user", "content": f"fact {n}"} for n in range(3)]
    receipts = client.post("/v1/conversations/pages/messages", json=said).json()["messages"]
    for receipt in receipts:
        client.post("/v1/landmarks", json={"conversation": "pages", "message": receipt["id"]})
    seen, query = [], {"limit": 2}
    while True:
        page = client.get("/v1/landmarks", params=query).json()
        seen += [landmark["text"] for landmark in page["landmarks"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == ["fact 0", "fact 1", "fact 2"]


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"text": "other words"}, 422, "text"),
        ({"text": " "}, 422, "text"),
        ({"text": "x" * (LONG + 1)}, 422, "text"),
        ({"message": str(uuid4())}, 404, None),
        ({"message": "x"}, 422, "message"),
        ({"kind": "joke"}, 422, "kind"),
        ({"conversation": "nowhere"}, 404, None),
        ({"more": 1}, 422, "more"),
    ],
)
def test_a_landmark_that_can_not_be_is_refused(client, closed, change, status, field):
    body = {"conversation": "done", "message": closed[0]["id"]} | change
    answer = client.post("/v1/landmarks", json=body)
    assert (answer.status_code, answer.json().get("field")) == (status, field)


@pytest.mark.parametrize(
    "path",
    ["/v1/summaries/0199a1de-6588-7373-871e-21e1d285032a", "/v1/landmarks/0199a1de-6588-7373-871e-21e1d285032a"],
)
def test_what_is_not_there_is_404(client, path):
    method = "DELETE" if "landmarks" in path else "GET"
    assert client.request(method, path).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/summaries/x"),
        ("DELETE", "/v1/landmarks/x"),
        ("GET", "/v1/landmarks?cursor=x"),
        ("GET", "/v1/landmarks?kind=x"),
    ],
)
def test_what_can_not_be_an_id_a_cursor_or_a_kind_is_422(client, method, path):
    assert client.request(method, path).status_code == 422


def test_aegis_stores_a_summary_without_announcing_the_conversation(client):
    body = {
        "agent_id": "helper", "conversation_id": "aegis-1", "summary": "Filed Rule 37 for Mitchell Ranch 2H.",
        "key_decisions": [{"what": "file"}], "entities_mentioned": ["Mitchell Ranch 2H"], "tools_called": ["file_form"],
    }  # fmt: skip
    stored = client.post("/episodic/store", json=body)
    assert stored.status_code == 201
    (episode,) = client.get("/episodic/aegis-1").json()["memories"]
    assert episode.pop("created_at")
    assert episode == body | {"id": stored.json()["id"], "user_id": None}
    assert client.get("/episodic/never-heard-of").json() == {"memories": []}
    assert client.get("/v1/conversations/aegis-1").json()["agent"] == "helper"


def test_aegis_json_fields_may_be_null_or_objects_and_come_back_as_sent(client):
    body = {
        "agent_id": "PermitAgent_1", "conversation_id": "aegis-json", "summary": "Filed Rule 37 for Mitchell Ranch 2H.",
        "key_decisions": None, "entities_mentioned": {"wells": [{"api": "42"}], "n": 1.5}, "tools_called": [None, {}],
    }  # fmt: skip
    stored = client.post("/episodic/store", json=body)
    assert stored.status_code == 201
    (listed,) = client.get("/episodic/aegis-json").json()["memories"]
    (hit,) = client.post("/episodic/search", json={"agent_id": "PermitAgent_1", "query": "Rule 37"}).json()["memories"]
    for episode in (listed, hit):
        assert {name: episode[name] for name in body} == body
    node = client.get(f"/v1/summaries/{stored.json()['id']}").json()
    assert node["summary"]["key_decisions"] is None
    composed = client.post("/v1/compose", json={"conversation": "aegis-json", "message": "What about Rule 37?"})
    assert "Filed Rule 37" in composed.json()["text"]


@pytest.mark.parametrize("agent", ["PermitAgent_1", "x" * 100, "Permit Agent, v1.2 (draft)", "Grüße-世界", "_a", "A.B"])
def test_an_agent_s_id_is_what_aegis_has_in_its_column(client, agent):
    body = {"agent_id": agent, "user_id": "ann", "conversation_id": f"of {agent}", "summary": "Filed the exception."}
    client.put("/v1/users/ann", json={})
    assert client.post("/episodic/store", json=body).status_code == 201
    found = client.post("/episodic/search", json={"agent_id": agent, "user_id": "ann", "query": "exception"}).json()
    assert [(one["agent_id"], one["conversation_id"]) for one in found["memories"]] == [(agent, f"of {agent}")]
    direct = client.put(f"/v1/conversations/direct {agent}", json={"kind": "direct", "user": "ann", "agent": agent})
    assert direct.json()["run_id"] == f"dm:ann:{agent}"
    assert client.put(f"/v1/agents/{agent}", json={"name": "A"}).json()["slug"] == agent


@pytest.mark.parametrize(
    ("agent", "said"),
    [("a:b", "colon"), ("a/b", "slash"), (" a", "blanks at its ends"), ("a\n", "control"), ("x" * 101, "100")],
)
def test_an_agent_s_id_that_can_not_be_says_what_may(client, agent, said):
    answer = client.post("/episodic/store", json={"agent_id": agent, "conversation_id": "c", "summary": "Fine."})
    assert (answer.status_code, answer.json()["field"]) == (422, "agent_id")
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"summary": ""}, "summary"),
        ({"summary": " \n"}, "summary"),
        ({"summary": "x" * (LONG + 1)}, "summary"),
        ({"agent_id": None}, "agent_id"),
        ({"key_decisions": ["x" * LONG]}, "key_decisions"),
        ({"tools_called": "ls"}, "tools_called"),
    ],
)
def test_an_episode_that_can_not_be_is_422_and_names_the_field(client, change, field):
    body = {"agent_id": "helper", "conversation_id": "aegis-2", "summary": "Fine."} | change
    answer = client.post("/episodic/store", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert client.get("/v1/conversations/aegis-2").status_code == 404


def test_a_key_stores_for_its_own_agent_alone(working_service, tenant_name, client):
    body = {"agent_id": "helper", "conversation_id": "aegis-3", "summary": "Fine."}
    assert client.post("/episodic/store", json=body).status_code == 201
    with working_service.client(working_service.make_key(tenant_name, "agent", "other")) as other:
        assert other.post("/episodic/store", json=body).status_code == 403
        assert other.post("/episodic/store", json=body | {"agent_id": "other"}).status_code == 409
        assert other.get("/episodic/aegis-3").json() == {"memories": []}
    with working_service.client(working_service.make_key(tenant_name, "reader")) as reader:
        assert reader.post("/episodic/store", json=body).status_code == 403
        assert len(reader.get("/episodic/aegis-3").json()["memories"]) == 1


@pytest.fixture
def episodes(client):
    """Store what two users talked about with one agent, and one with another."""
    client.put("/v1/users/ann", json={})
    client.put("/v1/users/bob", json={})
    for agent, user, name, summary in (
        ("helper", "ann", "ann-1", "Filed the Rule 37 exception for Mitchell Ranch 2H."),
        ("helper", "ann", "ann-2", "Chose green paint for the kitchen walls."),
        ("helper", "bob", "bob-1", "Discussed spacing requirements of wells near Mitchell Ranch."),
        ("other", "ann", "ann-3", "Planned a party at Mitchell Ranch."),
    ):
        body = {"agent_id": agent, "user_id": user, "conversation_id": name, "summary": summary}
        assert client.post("/episodic/store", json=body).status_code == 201


def found(client, **body):
    answer = client.post("/episodic/search", json={"query": "the well at Mitchell Ranch"} | body)
    assert answer.status_code == 200, answer.text
    return [(memory["conversation_id"], memory["similarity"]) for memory in answer.json()["memories"]]


@pytest.mark.usefixtures("episodes")
def test_aegis_finds_the_nearest_past_conversations_of_an_agent_and_a_user(client):
    mine = found(client, agent_id="helper", user_id="ann")
    assert [name for name, _ in mine] == ["ann-1", "ann-2"]
    assert 1 >= mine[0][1] > mine[1][1] > 0
    assert [name for name, _ in found(client, agent_id="helper", user_id="ann", top_k=1)] == ["ann-1"]
    assert {name for name, _ in found(client, agent_id="helper")} == {"ann-1", "bob-1", "ann-2"}
    assert found(client, agent_id="nobody") == []


@pytest.mark.usefixtures("episodes")
def test_aegis_search_asks_for_who_may_read(working_service, tenant_name):
    body = {"agent_id": "helper", "query": "Mitchell Ranch"}
    with working_service.client(working_service.make_key(tenant_name, "agent", "helper")) as helper:
        answer = helper.post("/episodic/search", json=body)
        assert (answer.status_code, "user_id" in answer.json()["detail"]) == (403, True)
        assert [name for name, _ in found(helper, agent_id="helper", user_id="bob")] == ["bob-1"]
        assert helper.post("/episodic/search", json=body | {"agent_id": "other"}).status_code == 403
    with working_service.client(working_service.make_key(tenant_name, "reader", user="bob")) as bob:
        assert bob.post("/episodic/search", json=body | {"user_id": "ann"}).status_code == 403


@pytest.mark.parametrize(
    ("change", "field"), [({"agent_id": None}, "agent_id"), ({"query": " "}, "query"), ({"top_k": 0}, "top_k")]
)
def test_an_aegis_search_that_can_not_be_is_422_and_names_the_field(client, change, field):
    answer = client.post("/episodic/search", json={"agent_id": "helper", "query": "x"} | change)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
