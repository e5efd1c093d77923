"""mem0's client, as its requests are on the wire: the shapes, the errors, who may read what, and what must not break.

tests/compat plays the client itself.
"""

import json
import time
from uuid import UUID, uuid4

import httpx
import pytest

from patience import HANG_SECONDS

LONG_AGO = 1_700_000_000


@pytest.fixture(scope="module")
def working(service_type, make_migrated_home):
    """A service that reads messages for memories, without the deep model."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    made.make_key("first")
    yield made
    made.stop()


def as_mem0(service, key):
    """Return a client that sends its key as mem0's clients do."""
    return httpx.Client(base_url=service.url, headers={"Authorization": f"Token {key}"}, timeout=HANG_SECONDS)


@pytest.fixture
def tenant():
    return f"mem0-{uuid4().hex[:12]}"


@pytest.fixture
def client(working, tenant):
    with as_mem0(working, working.make_key(tenant)) as made:
        yield made


@pytest.fixture(scope="module")
def refused(working):
    """A client of a tenant in which nothing is ever stored."""
    with as_mem0(working, working.make_key("refused")) as made:
        yield made


def add(client, text="Likes green tea.", **more):
    body = {"messages": [{"role": "user", "content": text}], "user_id": "ann", "infer": False} | more
    answer = client.post("/v3/memories/add/", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def memories(client, filters=None, **more):
    answer = client.post("/v3/memories/", json={"filters": filters or {"user_id": "ann"}} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def contents(client, filters=None, **more):
    return {one["memory"] for one in memories(client, filters, **more)}


def test_what_is_added_is_found_in_the_background_and_the_event_says_when(client):
    said = [{"role": "user", "content": "I prefer window seats."}, {"role": "assistant", "content": "Noted."}]
    labels = {"metadata": {"source": "chat"}, "expiration_date": "2090-12-31"}
    answer = client.post("/v3/memories/add/", json={"messages": said, "user_id": "ann", "run_id": "r:1", **labels})
    assert answer.status_code == 200
    event = answer.json()
    assert event["status"] == "PENDING"
    deadline = time.monotonic() + HANG_SECONDS
    while (now := client.get(f"/v1/event/{event['event_id']}/").json())["status"] != "SUCCEEDED":
        assert now["status"] == "PENDING"
        assert time.monotonic() < deadline, "it was never read"
        time.sleep(0.2)
    (found,) = now["results"]
    memory = client.get(f"/v1/memories/{found['id']}/").json()
    assert memory["memory"] == found["memory"] == "ann prefers window seats."
    assert (memory["user_id"], memory["agent_id"], memory["app_id"], memory["run_id"]) == ("ann", None, None, "r:1")
    assert memory["metadata"] == {"source": "chat"}
    assert memory["expiration_date"] == "2090-12-31"
    listed = client.get("/v1/events/").json()
    assert [one["id"] for one in listed["results"]] == [event["event_id"]]
    (version,) = client.get(f"/v1/memories/{found['id']}/history/").json()
    assert version["event"] == "ADD"
    assert version["input"] == [{"role": "user", "content": "I prefer window seats."}]
    assert version["new_memory"] == memory["memory"]


def test_without_inference_each_message_is_a_memory_at_once(client):
    said = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "one cat"}]
    answer = add(client, messages=[*said, {"role": "assistant", "content": "two dogs"}], agent_id="ada", app_id="shop")
    assert answer["status"] == "SUCCEEDED"
    assert [one["event"] for one in answer["results"]] == ["ADD", "ADD"]
    assert {one["memory"] for one in answer["results"]} == {"one cat", "two dogs"} == contents(client)
    assert client.get(f"/v1/event/{answer['event_id']}/").json()["status"] == "SUCCEEDED"
    (memory, _) = memories(client)
    assert (memory["agent_id"], memory["app_id"], memory["run_id"]) == ("ada", "shop", None)


def test_each_filter_of_theirs_finds_what_it_says(client):
    add(client, "one", agent_id="ada", metadata={"rank": 1, "kind": "a"}, categories=["x", "y"])
    add(client, "two", app_id="a:b%", run_id="50%", metadata={"rank": 2})
    add(client, "three", user_id="bob", expiration_date="2090-01-02")
    everybody = {"user_id": "*"}
    for filters, found in (
        ({"user_id": "ann"}, {"one", "two"}),
        (everybody, {"one", "two", "three"}),
        ({"user_id": {"ne": "ann"}}, {"three"}),
        ({"user_id": {"in": ["ann", "bob"]}}, {"one", "two", "three"}),
        ({"agent_id": "ada"}, {"one"}),
        ({"AND": [everybody, {"agent_id": None}]}, {"two", "three"}),
        ({"AND": [everybody, {"agent_id": {"ne": "*"}}]}, {"two", "three"}),
        ({"app_id": "a:b%"}, {"two"}),
        ({"run_id": {"eq": "50%"}}, {"two"}),
        ({"OR": [{"agent_id": "ada"}, {"run_id": "50%"}]}, {"one", "two"}),
        ({"AND": [everybody, {"NOT": {"agent_id": "ada"}}]}, {"two", "three"}),
        ({"AND": [everybody, {"NOT": [{"agent_id": "ada"}, {"user_id": "bob"}]}]}, {"two"}),
        ({"AND": [everybody, {"metadata": {"kind": "a"}}]}, {"one"}),
        ({"AND": [everybody, {"metadata": {"rank": {"ne": 1}}}]}, {"two", "three"}),
        ({"AND": [everybody, {"categories": {"contains": "x"}}]}, {"one"}),
        ({"AND": [everybody, {"categories": {"in": ["y", "z"]}}]}, {"one"}),
        ({"AND": [everybody, {"keywords": {"icontains": "TW"}}]}, {"two"}),
        ({"AND": [everybody, {"expiration_date": "2090-01-02"}]}, {"three"}),
        ({"AND": [everybody, {"expiration_date": {"lte": "2090-01-01"}}]}, set()),
        ({"AND": [everybody, {"created_at": {"gte": "2024-01-01", "lt": "2999-01-01"}}]}, {"one", "two", "three"}),
        ({"AND": [everybody, {"timestamp": {"lt": LONG_AGO}}]}, set()),
    ):
        assert contents(client, filters) == found, filters
    ids = [one["id"] for one in memories(client, {"agent_id": "ada"})]
    assert contents(client, {"memory_ids": ids}) == {"one"}
    assert contents(client, everybody, categories=["y"]) == {"one"}
    assert contents(client, everybody, end_date="2024-01-01") == set()


def test_lists_are_paged_by_numbers_and_show_the_fields_that_are_asked_for(client):
    for number in range(5):
        add(client, f"memory number {number}")
    body = {"filters": {"user_id": "ann"}, "fields": ["metadata"]}
    pages = [client.post(f"/v3/memories/?page={page}&page_size=2", json=body).json() for page in (1, 2, 3, 4)]
    assert [page["count"] for page in pages] == [5] * 4
    assert [len(page["results"]) for page in pages] == [2, 2, 1, 0]
    assert [bool(page["next"]) for page in pages] == [True, True, False, False]
    assert [bool(page["previous"]) for page in pages] == [False, True, True, True]
    shown = [one for page in pages for one in page["results"]]
    assert [one["memory"] for one in shown] == [f"memory number {number}" for number in (4, 3, 2, 1, 0)]
    assert set(shown[0]) == {"id", "memory", "metadata"}


def test_a_search_keeps_to_its_filter_and_its_scores_to_one(client):
    add(client, "favorite color is blue", run_id="r1")
    add(client, "has two cats")
    add(client, "favorite color is red", user_id="bob")

    def found(query, **more):
        answer = client.post("/v3/memories/search/", json={"query": query, "filters": {"user_id": "ann"}} | more)
        return answer.json()["results"]

    best = found("What is my favorite color?")
    assert best[0]["memory"] == "favorite color is blue"
    assert {one["user_id"] for one in best} == {"ann"}
    scores = [one["score"] for one in best]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert best[0]["score"] > 0
    assert len(found("What do you know about me?", filters={"OR": [{"user_id": "ann"}]})) == 2
    assert [one["memory"] for one in found("color", top_k=1)] == ["favorite color is blue"]
    assert [one["memory"] for one in found("cats", filters={"run_id": "r1"})] == ["favorite color is blue"]
    assert found("color", threshold=1.0) == []
    assert found("color", filters={"user_id": "nobody"}) == []


def test_a_memory_is_changed_rated_and_deleted_and_its_history_tells(client):
    (made,) = add(client)["results"]
    path = f"/v1/memories/{made['id']}/"
    changed = client.put(path, json={"text": "Likes black tea.", "metadata": {"a": 1}, "expiration_date": "2090-05-01"})
    assert changed.json()["memory"] == "Likes black tea."
    assert changed.json()["expiration_date"] == "2090-05-01"
    assert client.put(path, json={"expiration_date": None}).json()["expiration_date"] is None
    rated = client.post(
        "/v1/feedback/", json={"memory_id": made["id"], "feedback": "NEGATIVE", "feedback_reason": "no"}
    )
    assert rated.json() == {"id": made["id"], "feedback": "NEGATIVE", "feedback_reason": "no"}
    told = client.delete(path).json()["message"]
    assert told.startswith("Memory deleted successfully!")
    assert client.get(path).status_code == 404
    history = client.get(f"{path}history/").json()
    assert [one["event"] for one in history] == ["ADD", "UPDATE", "UPDATE", "NOOP", "DELETE"]
    assert (history[1]["old_memory"], history[1]["new_memory"]) == ("Likes green tea.", "Likes black tea.")
    assert history[-1]["new_memory"] is None
    assert len({one["id"] for one in history}) == 5


def test_batches_change_and_delete_and_name_the_one_that_fails(client):
    ids = [add(client, text)["results"][0]["id"] for text in ("one", "two", "three")]
    changes = [{"memory_id": id_, "text": f"now {number}"} for number, id_ in enumerate(ids)]
    answer = client.put("/v1/batch/", json={"memories": changes})
    assert answer.json()["message"] == "Successfully updated 3 memories"
    assert contents(client) == {"now 0", "now 1", "now 2"}
    gone = str(uuid4())
    refused = client.request("DELETE", "/v1/batch/", json={"memories": [{"memory_id": one} for one in (ids[0], gone)]})
    assert refused.status_code == 404
    assert gone in refused.json()["detail"]
    assert "1 before it" in refused.json()["detail"]
    assert contents(client) == {"now 1", "now 2"}


def test_all_of_a_user_an_app_or_everybody_is_deleted(client):
    add(client, "one")
    add(client, "two", app_id="shop", user_id="bob")
    add(client, "three", app_id="shop", user_id="cy")
    assert client.delete("/v1/memories/").status_code == 400
    assert client.delete("/v1/memories/?user_id=nobody").status_code == 200
    kinds = {(one["type"], one["name"]): one["total_memories"] for one in client.get("/v1/entities/").json()["results"]}
    assert kinds == {("user", "ann"): 1, ("user", "bob"): 1, ("user", "cy"): 1, ("app", "shop"): 2}
    assert client.delete("/v2/entities/app/shop/").json()["message"] == "Entity deleted successfully."
    assert contents(client, {"user_id": "*"}) == {"one"}
    assert client.delete("/v1/memories/?user_id=*&app_id=*").status_code == 200
    assert contents(client, {"user_id": "*"}) == {"one"}, "it is of no app"
    add(client, "four", user_id="dan")
    assert client.delete("/v1/memories/?user_id=*&agent_id=*&app_id=*&run_id=*").status_code == 200
    assert contents(client, {"user_id": "*"}) == set()
    assert client.get("/v1/entities/").json()["count"] == 0


def test_what_is_deleted_for_a_user_is_erased_with_its_words(client, working, tenant):
    said = [{"role": "user", "content": "My code word is heliotrope."}]
    for more in ({}, {"run_id": "r"}):
        body = {"messages": said, "user_id": "ann"} | more
        assert client.post("/v3/memories/add/", json=body).status_code == 200
    add(client, "of bob", user_id="bob")
    with working.client(working.make_key(tenant)) as own:
        assert own.get("/v1/conversations/mem0:ann:::/messages").status_code == 200
        told = client.delete("/v1/memories/?user_id=ann").json()["message"]
        assert "2 sessions were erased" in told
        assert "other sessions" not in told
        for name in ("mem0:ann:::", "mem0:ann:::r"):
            assert own.get(f"/v1/conversations/{name}/messages").status_code == 404
        found = own.post("/v1/search", json={"query": "heliotrope"}).json()["results"]
        assert found == []
    assert contents(client, {"user_id": "*"}) == {"of bob"}
    # the names are free again
    deadline = time.monotonic() + HANG_SECONDS
    again = {"messages": "Likes jazz.", "user_id": "ann", "infer": False}
    while client.post("/v3/memories/add/", json=again).status_code != 200:
        assert time.monotonic() < deadline, "the session was never gone"
        time.sleep(0.2)
    assert contents(client) == {"Likes jazz."}


def test_older_clients_get_lists(client):
    body = {"messages": "Likes green tea.", "user_id": "ann", "infer": False}
    assert len(client.post("/v1/memories/", json=body).json()["results"]) == 1
    for found in (
        client.get("/v1/memories/?user_id=ann"),
        client.post("/v2/memories/", json={"filters": {"user_id": "ann"}}),
        client.post("/v1/memories/search/", json={"query": "tea", "user_id": "ann"}),
        client.post("/v2/memories/search/", json={"query": "tea", "filters": {"user_id": "ann"}, "limit": 3}),
    ):
        assert [one["memory"] for one in found.json()] == ["Likes green tea."]
    assert len(client.get("/v1/memories/?user_id=ann&output_format=v1.1").json()["results"]) == 1
    assert client.get("/v1/memories/?user_id=ann&page=1").json()["count"] == 1


def test_the_project_gives_back_what_it_was_told(client):
    ping = client.get("/v1/ping/").json()
    assert ping["status"] == "ok"
    path = f"/api/v1/orgs/organizations/{ping['org_id']}/projects/{ping['project_id']}/"
    assert client.get(path, params={"fields": "custom_instructions"}).json() == {"custom_instructions": None}
    assert client.patch(path, json={"custom_instructions": "Only travel."}).status_code == 200
    assert client.patch(path, json={"decay": True}).status_code == 200
    assert client.get(path).json()["custom_instructions"] == "Only travel."
    assert client.get(path.replace(ping["project_id"], str(uuid4()))).status_code == 404
    assert client.patch(path, json={}).status_code == 400
    assert client.patch(path, json={"custom_instructions": "x" * 9_000}).status_code == 413
    # Keepword's own settings neither show it nor take it
    assert "mem0" not in client.get("/v1/settings").json()
    assert client.patch("/v1/settings", json={"mem0": {}}).status_code == 422


def test_webhooks_are_made_listed_changed_and_deleted(client):
    path = f"/api/v1/webhooks/projects/{client.get('/v1/ping/').json()['project_id']}/"
    hook = {"url": "https://example.com/a", "name": "crm", "event_types": ["memory_add", "memory_categorize"]}
    made = client.post(path, json=hook).json()
    assert made["secret"]
    assert (made["name"], made["event_types"], made["is_active"]) == ("crm", ["memory_add"], True)
    one = f"/api/v1/webhooks/{made['webhook_id']}/"
    assert client.put(one, json={"event_types": ["memory_delete"], "name": "new"}).status_code == 200
    (listed,) = client.get(path).json()
    assert (listed["name"], listed["event_types"], listed["url"]) == ("new", ["memory_delete"], hook["url"])
    assert "secret" not in listed
    (own,) = client.get("/v1/webhooks").json()["webhooks"]
    assert own["events"] == ["memory.deleted", "memory.expired"]
    for wrong in (
        {"event_types": ["x"]},
        {"event_types": ["memory_categorize"]},
        {"url": "ftp://x"},
        {"name": "x" * 201},
    ):
        assert client.post(path, json=hook | wrong).status_code == 400
        assert client.put(one, json=wrong).status_code == 400
    assert client.put(one, json={}).status_code == 400
    assert client.delete(one).status_code == 200
    assert client.delete(one).status_code == 404
    assert client.get(path).json() == []


def test_errors_have_the_form_that_their_clients_read(client):
    for answer, status in (
        (client.get("/v1/memories/no-uuid/"), 400),
        (client.get(f"/v1/memories/{UUID(int=0)}/"), 404),
        (client.get("/v1/event/no-uuid/"), 400),
        (client.get(f"/v1/event/{UUID(int=0)}/"), 404),
        (client.post("/v3/memories/add/", json={"messages": []}), 400),
        (client.post("/v3/memories/add/", json={"messages": [{"role": "user", "content": "x"}]}), 400),
        (client.post("/v3/memories/add/", content=b"{"), 415),
        (client.post("/v3/memories/add/", content=b"{", headers={"Content-Type": "application/json"}), 400),
        (client.post("/v3/memories/search/", json={"query": " ", "filters": {"user_id": "ann"}}), 400),
        (client.post("/v1/exports/", json={}), 404),
        (client.get("/api/v1/webhooks/projects/x/"), 404),
        (client.delete("/api/v1/webhooks/no-uuid/"), 404),
        (client.get("/v1/memories/x/y/z/"), 404),
        (client.post("/v3/memories/?page=0", json={}), 400),
    ):
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["detail"] == answer.json()["error"] != ""
    # the paths beside theirs speak as they did
    assert client.get(f"/v1/memories/{uuid4()}").headers["content-type"] == "application/vnd.api+json"
    assert client.get("/v1/semantic/").headers["content-type"] == "application/problem+json"


def nested(depth):
    tree = {"user_id": "ann"}
    for _ in range(depth):
        tree = {"NOT": tree}
    return tree


@pytest.mark.parametrize(
    "filters",
    [
        nested(9), nested(500), {"colour": "red"}, {"AND": []}, {"OR": {"user_id": "ann"}}, {"AND": ["x"]}, {"NOT": 7},
        {"user_id": {"like": "a"}}, {"user_id": 7}, {"user_id": []}, {"user_id": "a\0b"}, {"user_id": {}},
        {"user_id": {"in": ["x"] * 101}}, {"OR": [{"user_id": str(one)} for one in range(101)]},
        {"created_at": "yesterday"}, {"created_at": {"gt": 10**400}}, {"timestamp": 1e308}, {"timestamp": -1e15},
        {"expiration_date": "2024-02-30"}, {"expiration_date": "9999-12-31"}, {"expiration_date": {"gt": None}},
        {"metadata": 7}, {"metadata": {}}, {"metadata": {"k" * 201: 1}}, {"metadata": {"a\0": 1}}, {"keywords": "x"},
        {"keywords": {"contains": 7}}, {"memory_ids": "x"}, {"categories": {"gt": "x"}}, {"x" * 5_000: 1},
        {"metadata": {"k": "\ud800"}},
    ],
    ids=lambda tree: str(tree)[:40].encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_a_filter_that_is_none_is_refused_in_words(refused, filters):
    for path, body in (("/v3/memories/", {}), ("/v3/memories/search/", {"query": "x"})):
        answer = refused.post(
            path, content=json.dumps(body | {"filters": filters}).encode("ascii"),
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert answer.status_code == 400, answer.text
        assert answer.json()["detail"]


@pytest.mark.parametrize("name", ["a/b", "", " ", "a\nb", "x" * 201, "\ufffd", "a\0b"])
def test_a_name_that_is_none_is_refused(refused, name):
    body = {"messages": "hello there", "infer": False}
    for field in ("user_id", "agent_id", "app_id", "run_id"):
        assert refused.post("/v3/memories/add/", json=body | {field: name}).status_code == 400
    assert refused.post("/v3/memories/add/", json=body | {"agent_id": "a:b"}).status_code == 400
    if name:
        found = refused.delete("/v1/memories/", params={"user_id": name})
        assert found.status_code in {200, 400}
        assert found.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "more",
    [
        {"timestamp": "now"}, {"timestamp": 1e300}, {"timestamp": 4e9}, {"expiration_date": "soon"},
        {"expiration_date": "2020-01-01"}, {"metadata": {"x": "y" * 20_000}}, {"messages": [{"content": "x"}]},
        {"messages": [{"role": "wizard", "content": "x"}]}, {"messages": {"role": "user", "content": 7}},
        {"messages": [{"role": "user", "content": ""}]}, {"messages": [{"role": "system", "content": "x"}]},
        {"messages": "a\0b"}, {"messages": "x" * 9_000}, {"infer": "no"}, {"categories": [""]},
    ],
    ids=lambda more: str(more)[:40],
)  # fmt: skip
def test_an_add_that_is_none_is_refused(refused, more):
    body = {"messages": [{"role": "user", "content": "hello"}], "user_id": "ann", "infer": False} | more
    answer = refused.post("/v3/memories/add/", json=body)
    assert answer.status_code in {400, 413}, answer.text
    assert contents(refused) == set()


def test_messages_keep_their_time_and_content_parts(client, working, tenant):
    parts = [
        {"type": "text", "text": "I like jazz."},
        {"type": "image_url", "image_url": {"url": "https://x.example/a"}},
    ]
    answer = client.post(
        "/v3/memories/add/",
        json={"messages": [{"role": "user", "content": parts, "name": "Ann"}], "user_id": "ann", "timestamp": LONG_AGO},
    )
    assert answer.status_code == 200
    with working.client(working.make_key(tenant)) as own:
        (message,) = own.get("/v1/conversations/mem0:ann:::/messages").json()["messages"]
    assert message["content"] == "I like jazz."
    assert message["created_at"].startswith("2023-11-14")
    assert message["user"] == "ann"


def test_a_bound_key_acts_as_itself_and_reads_no_more(working, tenant, client):
    add(client, "said to ada", agent_id="ada")
    add(client, "said to bea", agent_id="bea")
    add(client, "of bob, to ada", user_id="bob", agent_id="ada")
    (others,) = memories(client, {"agent_id": "bea"})
    own = working.make_key(tenant, "agent", agent="ada")
    with as_mem0(working, own) as ada:
        assert contents(ada) == {"said to ada"}
        assert contents(ada, {"AND": [{"user_id": "ann"}, {"agent_id": "*"}]}) == {"said to ada"}
        assert ada.post("/v3/memories/", json={"filters": {}}).status_code == 400
        assert ada.get(f"/v1/memories/{others['id']}/").status_code == 404
        assert ada.put(f"/v1/memories/{others['id']}/", json={"text": "x"}).status_code == 404
        assert ada.delete(f"/v1/memories/{others['id']}/").status_code == 404
        assert add(ada, "by ada")["status"] == "SUCCEEDED"
        assert {one["agent_id"] for one in memories(ada)} == {"ada"}
        named = {"messages": "x", "user_id": "ann", "agent_id": "bea", "infer": False}
        assert ada.post("/v3/memories/add/", json=named).status_code == 403
        stranger = {"messages": "x", "user_id": "cy", "infer": False}
        assert ada.post("/v3/memories/add/", json=stranger).status_code == 404
        assert ada.delete("/v1/memories/?user_id=ann").status_code == 200
    assert contents(client) == {"said to bea"}
    with as_mem0(working, working.make_key(tenant, "agent", user="bob")) as bob:
        assert contents(bob, {"agent_id": "ada"}) == {"of bob, to ada"}
        assert (
            bob.post("/v3/memories/", json={"filters": {"AND": [{"user_id": "ann"}, {"agent_id": "bea"}]}}).json()[
                "results"
            ]
            == []
        )
        assert bob.get("/v1/ping/").status_code == 200
        ping = bob.get("/v1/ping/").json()
        path = f"/api/v1/orgs/organizations/{ping['org_id']}/projects/{ping['project_id']}/"
        assert bob.get(path).status_code == 403


def test_a_session_that_another_key_took_first_is_not_written_to(working, tenant, client):
    add(client, "first", agent_id="evil")
    with working.client(working.make_key(tenant, "agent", agent="evil")) as evil:
        taken = evil.put("/v1/conversations/mem0:ann:ada::", json={"user": "ann"})
        assert taken.status_code == 201
    body = {"messages": "a secret", "user_id": "ann", "agent_id": "ada", "infer": False}
    assert client.post("/v3/memories/add/", json=body).status_code == 409


def test_without_a_key_the_word_local_is_one_and_nothing_else(service):
    with httpx.Client(base_url=service.url, timeout=HANG_SECONDS) as plain:

        def ping(*headers):
            return plain.get("/v1/ping/", headers=[*headers]).status_code

        assert ping(("Authorization", "Token local")) == 200
        for refused in ("Token invalid-key-12345", "Token", "Token kw_local", "Bearer local", "Basic local", "local"):
            assert ping(("Authorization", refused)) == 401, refused
        assert ping(("Authorization", "Token local"), ("Authorization", "Token local")) == 401
        # a page in a browser, and a name that a page made up
        assert ping(("Authorization", "Token local"), ("Origin", "https://evil.example")) == 401
        assert ping(("Authorization", "Token local"), ("Host", "evil.example")) == 401
        assert plain.options("/v1/ping/", headers={"Origin": "https://evil.example"}).status_code in {401, 405}


def test_where_there_are_keys_the_word_local_is_none(working):
    with as_mem0(working, "local") as client:
        answer = client.get("/v1/ping/")
    assert answer.status_code == 401
    assert answer.json()["detail"]
