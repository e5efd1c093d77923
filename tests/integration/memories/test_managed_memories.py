"""Memories that people manage: metadata, categories, an end, feedback, filters, restoring, deleting many."""

import json
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from patience import HANG_SECONDS


@pytest.fixture
def client(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"tenant-{uuid4().hex[:8]}")) as found:
        for user in ("ann", "bob"):
            found.put(f"/v1/users/{user}", json={"name": user})
        found.put("/v1/agents/ada", json={"name": "Ada"})
        for user in ("ann", "bob"):
            found.put(f"/v1/conversations/of-{user}", json={"user": user, "agent": "ada"})
        yield found


def add(client, content, user="ann", **more):
    made = client.post("/v1/semantic", json={"conversation": f"of-{user}", "content": content, **more})
    assert made.status_code == 201, made.text
    return made.json()


def query(client, filters, **more):
    page = client.post("/v1/query/semantic", json={"filters": filters, **more})
    assert page.status_code == 200, page.text
    return [memory["content"] for memory in page.json()["memories"]]


def soon(**ahead):
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


def test_what_a_caller_puts_to_a_memory_is_kept_changed_and_in_its_history(client):
    made = add(client, "Ann likes tea.", metadata={"source": "crm", "n": 1}, categories=["b", "a", "b"])
    assert (made["metadata"], made["categories"], made["expires_at"]) == ({"source": "crm", "n": 1}, ["a", "b"], None)
    assert made["state"] == "valid"
    path = f"/v1/semantic/{made['id']}"
    later = soon(days=1)
    changed = client.patch(path, json={"metadata": {"n": 2}, "expires_at": later}).json()
    assert (changed["metadata"], changed["categories"], changed["content"]) == ({"n": 2}, ["a", "b"], "Ann likes tea.")
    assert datetime.fromisoformat(changed["expires_at"]) == datetime.fromisoformat(later)
    emptied = client.patch(path, json={"metadata": None, "categories": None, "expires_at": None}).json()
    assert (emptied["metadata"], emptied["categories"], emptied["expires_at"]) == ({}, [], None)
    versions = client.get(f"{path}/history").json()["versions"]
    assert [(one["event"], one["metadata"]) for one in versions] == [
        ("changed", {}), ("changed", {"n": 2}), ("added", {"source": "crm", "n": 1}),
    ]  # fmt: skip
    # what says the same takes it up, with what is put to it
    again = client.post(
        "/v1/semantic",
        json={"conversation": "of-ann", "content": "Ann likes tea.", "metadata": {"m": 3}, "categories": ["c"]},
    )
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["metadata"], again.json()["categories"]) == (made["id"], {"m": 3}, ["c"])


def test_feedback_is_kept_with_who_and_why_and_can_be_taken_back(client):
    path = f"/v1/semantic/{add(client, 'Ann lives in Rome.')['id']}"
    rated = client.put(f"{path}/feedback", json={"feedback": "negative", "reason": "she moved"}).json()
    assert (rated["feedback"], rated["feedback_reason"], rated["content"]) == (
        "negative",
        "she moved",
        "Ann lives in Rome.",
    )
    assert query(client, {"feedback": "negative"}) == ["Ann lives in Rome."]
    assert client.put(f"{path}/feedback", json={"feedback": None}).json()["feedback"] is None
    history = client.get(f"{path}/history").json()["versions"]
    assert [(one["event"], one["feedback"]) for one in history] == [
        ("rated", None),
        ("rated", "negative"),
        ("added", None),
    ]
    assert all(one["by"] for one in history)
    assert client.put(f"{path}/feedback", json={"feedback": "great"}).status_code == 422


def test_a_memory_that_expired_is_nowhere_but_in_its_history(client):
    made = add(client, "Ann is in Lisbon.", expires_at=soon(seconds=2))
    body = {"query": "Lisbon", "conversation": "of-ann"}

    def places():
        found = client.post("/v1/search", json=body).json()["results"]
        semantic = client.post("/v1/search/semantic", json=body).json()["results"]
        listed = client.get("/v1/semantic?conversation=of-ann").json()["memories"]
        composed = client.post("/v1/compose", json={"conversation": "of-ann", "message": "Lisbon?"}).json()
        return [bool(found), bool(semantic), bool(listed), "Ann is in Lisbon" in composed["text"]]

    assert places() == [True] * 4
    deadline = time.monotonic() + HANG_SECONDS
    while client.get(f"/v1/semantic/{made['id']}").json()["state"] == "valid":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert places() == [False] * 4
    assert query(client, {"state": "expired"}) == ["Ann is in Lisbon."]
    # it may be said again, and the old one may live again under another name
    assert add(client, "Ann is in Lisbon.")["id"] != made["id"]
    assert query(client, {"user": "ann"}) == ["Ann is in Lisbon."]
    revived = {"content": "Ann was in Lisbon in spring.", "expires_at": None}
    assert client.patch(f"/v1/semantic/{made['id']}", json=revived).json()["state"] == "valid"
    assert client.post("/v1/search", json={**body, "query": "spring"}).json()["results"]
    assert [one["event"] for one in client.get(f"/v1/semantic/{made['id']}/history").json()["versions"]] == [
        "changed", "expired", "added",
    ]  # fmt: skip


def test_a_deleted_memory_comes_back_as_it_was(client):
    made = add(client, "Ann plays chess.", metadata={"a": 1})
    path, body = f"/v1/semantic/{made['id']}", {"query": "chess", "conversation": "of-ann"}
    assert client.post(f"{path}/restore").status_code == 409
    assert client.delete(path).status_code == 204
    assert client.post("/v1/search", json=body).json()["results"] == []
    assert query(client, {"state": "deleted"}) == ["Ann plays chess."]
    restored = client.post(f"{path}/restore")
    assert restored.status_code == 200, restored.text
    assert (restored.json()["content"], restored.json()["metadata"], restored.json()["version"]) == (
        "Ann plays chess.", {"a": 1}, 3,
    )  # fmt: skip
    assert [hit["id"] for hit in client.post("/v1/search", json=body).json()["results"]] == [made["id"]]
    assert client.delete(path).status_code == 204
    add(client, "Ann plays chess.")
    assert client.post(f"{path}/restore").status_code == 409
    assert client.post(f"/v1/semantic/{uuid4()}/restore").status_code == 404


@pytest.fixture
def filled(client):
    add(client, "Ann flies on Friday.", categories=["travel"], metadata={"n": 1, "tags": ["x", "y"], "who": "Zed"})
    add(client, "Ann prefers aisle seats.", categories=["travel", "taste"], type="preference", metadata={"n": 2})
    add(client, "Bob drinks coffee.", user="bob", categories=["taste"], metadata={"n": "2"}, importance=0.1)
    client.delete(f"/v1/semantic/{add(client, 'Bob had a boat.', user='bob')['id']}")
    return client


FRIDAY, AISLE, COFFEE, BOAT = (
    "Ann flies on Friday.",
    "Ann prefers aisle seats.",
    "Bob drinks coffee.",
    "Bob had a boat.",
)


@pytest.mark.parametrize(
    ("filters", "contents"),
    [
        ({}, [FRIDAY, AISLE, COFFEE]),
        ({"user": "ann"}, [FRIDAY, AISLE]),
        ({"user": {"ne": "ann"}}, [COFFEE]),
        ({"user": {"in": ["ann", "bob"]}, "category": "taste"}, [AISLE, COFFEE]),
        ({"NOT": {"category": "travel"}}, [COFFEE]),
        ({"NOT": [{"user": "bob"}, {"type": "preference"}]}, [FRIDAY]),
        ({"OR": [{"type": "preference"}, {"AND": [{"user": "bob"}, {"category": "taste"}]}]}, [AISLE, COFFEE]),
        ({"category": {"contains": "travel"}, "user": "ann"}, [FRIDAY, AISLE]),
        ({"conversation": "of-bob"}, [COFFEE]),
        ({"place": {"in": ["session:of-bob"]}}, [COFFEE]),
        ({"agent": "ada", "content": {"contains": "AISLE"}}, [AISLE]),
        ({"metadata": {"n": 2}}, [AISLE]),
        ({"metadata": {"n": "2"}}, [COFFEE]),
        ({"metadata": {"n": {"gte": 1}}}, [FRIDAY, AISLE]),
        ({"metadata": {"tags": {"contains": "y"}}}, [FRIDAY]),
        ({"metadata": {"tags": ["x", "y"]}}, [FRIDAY]),
        ({"metadata": {"who": {"contains": "zed"}, "n": {"exists": True}}}, [FRIDAY]),
        ({"metadata": {"who": {"exists": False}}}, [AISLE, COFFEE]),
        ({"importance": {"lt": 0.2}}, [COFFEE]),
        ({"created_at": {"gt": "2020-01-01"}, "said_at": {"lte": "9000-01-01T00:00:00Z"}}, [FRIDAY, AISLE, COFFEE]),
        ({"created_at": {"lt": "2020-01-01"}}, []),
        ({"state": {"in": ["valid", "deleted"]}, "user": "bob"}, [COFFEE, BOAT]),
        ({"state": "superseded"}, []),
        ({"expires_at": {"exists": False}, "feedback": {"exists": False}, "user": "bob"}, [COFFEE]),
        ({"metadata": {"n') OR 1=1 --": 1}}, []),
        ({"user": "ann' OR '1'='1"}, []),
    ],
)  # fmt: skip
def test_filters_find_what_they_name(filled, filters, contents):
    assert query(filled, filters) == contents


def test_an_unknown_field_is_refused_with_the_fields_that_there_are(client):
    answer = client.post("/v1/query/semantic", json={"filters": {"AND": [{"user_id": "ann"}]}})
    assert answer.status_code == 422
    assert answer.json()["field"] == "filters.AND.0.user_id"
    assert "user, agent, place, conversation, id, category" in answer.json()["detail"]


def test_pages_are_stable_while_memories_come_and_go(client):
    made = [add(client, f"Ann knows number {number * 37}.", categories=["n"]) for number in range(9)]
    seen, cursor = [], None
    for _ in range(9):
        body = {"filters": {"category": "n"}, "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = client.post("/v1/query/semantic", json=body).json()
        seen += [memory["id"] for memory in page["memories"]]
        if page["next"] is None:
            break
        cursor = page["next"]
        # neither what was shown nor what comes last moves what is between
        if len(seen) == 4:
            client.delete(f"/v1/semantic/{made[0]['id']}")
            add(client, "Ann knows a last number.", categories=["n"])
    assert seen[:9] == [memory["id"] for memory in made]
    assert len(seen) == len(set(seen)) == 10


def test_many_are_deleted_by_a_filter_after_a_dry_run(filled):
    body = {"filters": {"category": "taste"}, "dry_run": True}
    assert filled.post("/v1/delete/semantic", json=body).json() == {"matched": 2, "deleted": 0}
    assert query(filled, {"category": "taste"}) == [AISLE, COFFEE]
    in_place = body | {"dry_run": False, "conversation": "of-bob"}
    assert filled.post("/v1/delete/semantic", json=in_place).json() == {"matched": 1, "deleted": 1}
    assert query(filled, {}) == [FRIDAY, AISLE]
    assert filled.post("/v1/delete/semantic", json={"filters": {}}).status_code == 422
    assert filled.post("/v1/delete/semantic", json={"filters": {"user": "ann"}}).json() == {"matched": 2, "deleted": 2}
    assert query(filled, {}) == []
    assert len(query(filled, {"state": "deleted"})) == 4
    (last, *_) = filled.get(f"/v1/semantic/{ids(filled)[AISLE]}/history").json()["versions"]
    assert (last["event"], bool(last["by"])) == ("deleted", True)


def ids(client):
    page = client.post("/v1/query/semantic", json={"filters": {"state": "deleted"}}).json()
    return {memory["content"]: memory["id"] for memory in page["memories"]}


def test_who_may_not_write_there_deletes_restores_and_rates_nothing(keyed_service):
    tenant = f"tenant-{uuid4().hex[:8]}"
    with (
        keyed_service.client(keyed_service.make_key(tenant)) as admin,
        keyed_service.client(keyed_service.make_key(tenant, "agent", "eve")) as eve,
        keyed_service.client(keyed_service.make_key(tenant, "reader")) as reader,
    ):
        admin.put("/v1/users/ann", json={"name": "ann"})
        for agent in ("ada", "eve"):
            admin.put(f"/v1/agents/{agent}", json={"name": agent})
            admin.put(f"/v1/conversations/{agent}", json={"agent": agent, "user": "ann"})
        made = admin.post("/v1/semantic", json={"conversation": "ada", "content": "Ann likes tea."}).json()
        path = f"/v1/semantic/{made['id']}"
        assert eve.put(f"{path}/feedback", json={"feedback": "negative"}).status_code == 404
        assert reader.put(f"{path}/feedback", json={"feedback": "negative"}).status_code == 403
        everything = {"filters": {"type": "fact"}}
        assert eve.post("/v1/delete/semantic", json=everything).status_code == 403
        assert eve.post("/v1/delete/semantic", json=everything | {"conversation": "ada"}).status_code == 404
        assert eve.post("/v1/delete/semantic", json=everything | {"conversation": "eve"}).json()["matched"] == 0
        assert reader.post("/v1/delete/semantic", json=everything).status_code == 403
        assert eve.post("/v1/query/semantic", json=everything | {"conversation": "eve"}).json()["memories"] == []
        assert eve.post("/v1/query/semantic", json=everything).status_code == 403
        assert admin.delete(path).status_code == 204
        assert eve.post(f"{path}/restore").status_code == 404
        assert eve.post("/v1/query/semantic", json={"filters": {"state": "deleted"}, "conversation": "eve"}).json() == {
            "memories": [], "next": None,
        }  # fmt: skip
        assert reader.post(f"{path}/restore").status_code == 403
        assert admin.post(f"{path}/restore").json()["feedback"] is None


@pytest.mark.parametrize(
    ("more", "status", "field"),
    [
        ({"metadata": {"k": "x" * 16_384}}, 413, "metadata"),
        ({"metadata": [1]}, 422, "metadata"),
        ({"categories": ["x"] * 21}, 422, "categories"),
        ({"categories": [""]}, 422, "categories.0"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 422, "expires_at"),
        ({"expires_at": "tomorrow"}, 422, "expires_at"),
    ],
)
def test_what_can_not_be_put_to_a_memory_is_refused(client, more, status, field):
    path = f"/v1/semantic/{add(client, 'Ann likes tea.')['id']}"
    for answer in (
        client.post("/v1/semantic", json={"conversation": "of-ann", "content": "Ann likes rum."} | more),
        client.patch(path, json=more),
    ):
        assert answer.status_code == status, answer.text
        assert answer.json()["field"] == field
    assert json.loads(client.get(path).text)["version"] == 1


def test_whose_word_a_memory_is_can_be_asked_for(client):
    add(client, "Ann likes tea.")
    assert query(client, {"said_by": "user"}) == ["Ann likes tea."]
    assert query(client, {"said_by": "agent"}) == []
    assert client.post("/v1/query/semantic", json={"filters": {"said_by": "ada"}}).status_code == 422
