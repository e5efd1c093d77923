"""Semantic memories over HTTP on a real service with its worker."""

import time
from uuid import uuid4

import pytest

from patience import HANG_SECONDS


@pytest.fixture(scope="module")
def working_service(service_type, make_migrated_home):
    """Return a service that does its background work, without the deep model."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    made.make_key("first")
    yield made
    made.stop()


@pytest.fixture
def tenant_name():
    return f"tenant-{uuid4().hex[:8]}"


@pytest.fixture
def client(working_service, tenant_name):
    with working_service.client(working_service.make_key(tenant_name)) as found:
        for user in ("ann", "bob"):
            found.put(f"/v1/users/{user}", json={"name": user})
        found.put("/v1/agents/ada", json={"name": "Ada"})
        found.put("/v1/conversations/demo", json={"user": "ann", "agent": "ada"})
        yield found


def add(client, content, **more):
    return client.post("/v1/semantic", json={"conversation": "demo", "content": content, **more})


def eventually(look, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.2)
    return found


def test_what_is_said_becomes_a_memory_and_a_profile_by_itself(client):
    said = [{"role": "user", "content": "I prefer window seats."}, {"role": "assistant", "content": "Noted."}]
    receipts = client.post("/v1/conversations/demo/messages", json=said).json()["messages"]
    (memory,) = eventually(lambda: client.get("/v1/semantic?conversation=demo").json()["memories"])
    assert memory["content"] == "ann prefers window seats."
    assert memory["sources"] == [receipts[0]["id"]]
    found = client.post("/v1/search", json={"query": "seats", "conversation": "demo", "kinds": ["memory"]}).json()
    assert [hit["id"] for hit in found["results"]] == [memory["id"]]
    profiles = eventually(lambda: client.get("/v1/memories").json()["data"])
    assert profiles[0]["attributes"]["memory"] == "Preferences\n- ann prefers window seats."


def test_of_what_was_corrected_the_latest_comes_first_and_the_older_is_marked(client):
    def memories(content):
        found = client.get("/v1/semantic?conversation=demo").json()["memories"]
        return [memory for memory in found if content in memory["content"]]

    for city in ("Hamburg", "Munich"):
        said = [{"role": "user", "content": f"I live in {city}."}, {"role": "assistant", "content": "Noted."}]
        assert client.post("/v1/conversations/demo/messages", json=said).status_code == 201
        (memory,) = eventually(lambda city=city: memories(city))
    for kinds in (["message"], None):
        asked = {"query": "Do I live in Hamburg?", "conversation": "demo", "kinds": kinds, "limit": 3}
        hits = client.post("/v1/search", json=asked).json()["results"]
        marked = [("Hamburg" in hit["text"], hit["superseded_by"]) for hit in hits if "live" in hit["text"]]
        assert marked == [(False, None), (True, memory["id"])]


def test_a_memory_lives_from_adding_to_its_tombstone(client):
    made = add(client, "Ann owns a red boat.", type="fact", confidence=0.5)
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    memory = made.json()
    assert (memory["importance"], memory["user"], memory["agent"], memory["run_id"]) == (
        0.6, "ann", "ada", "session:demo",
    )  # fmt: skip
    again = add(client, "Ann really owns a red boat")
    assert (again.status_code, again.json()["id"], again.json()["times"]) == (200, memory["id"], 2)
    path = f"/v1/semantic/{memory['id']}"
    late = client.patch(path, json={"content": "Ann owns a blue boat."}, headers={"If-Match": '"1"'})
    assert late.status_code == 412
    changed = client.patch(path, json={"content": "Ann owns a blue boat.", "type": "correction"})
    assert (changed.status_code, changed.json()["importance"]) == (200, 0.9)
    assert client.get(path).json() == changed.json()
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == client.delete(path).status_code == 404
    assert client.get("/v1/semantic?conversation=demo").json() == {"memories": [], "next": None}
    history = client.get(f"{path}/history").json()["versions"]
    assert [one["event"] for one in history] == ["deleted", "changed", "merged", "added"]
    page = client.get(f"{path}/history?limit=3").json()
    assert [one["event"] for one in client.get(f"{path}/history?cursor={page['next']}").json()["versions"]] == ["added"]


def test_search_takes_the_seeds_arguments(client):
    client.put("/v1/conversations/other", json={"user": "bob", "agent": "ada"})
    add(client, "Ann prefers window seats.", type="preference")
    add(client, "Ann sails a boat with seats.")
    client.post("/v1/semantic", json={"conversation": "other", "content": "Bob prefers aisle seats."})

    def found(**more):
        answer = client.post("/v1/search/semantic", json={"query": "seats", **more}).json()
        return {hit["memory"]["content"] for hit in answer["results"]}

    assert len(found()) == 3
    assert found(user_id="ann", agent_id="ada") == {"Ann prefers window seats.", "Ann sails a boat with seats."}
    assert found(conversation="demo", filter={"type": ["preference"]}) == {"Ann prefers window seats."}
    assert found(filter={"run_id": ["session:other"]}) == {"Bob prefers aisle seats."}
    assert found(filter={"run_id": "session:other"}) == {"Bob prefers aisle seats."}
    assert found(conversation="demo", filter={"run_id": ["session:other"]}) == set()


def test_what_was_valid_then_can_be_listed_and_searched(client):
    add(client, "Ann lives in Hamburg.")
    then = client.get("/v1/semantic").json()["memories"][0]["created_at"]
    add(client, "Ann lives in Munich.")
    assert [one["content"] for one in client.get("/v1/semantic").json()["memories"]] == ["Ann lives in Munich."]
    (old,) = client.get("/v1/semantic", params={"as_of": then}).json()["memories"]
    assert old["content"] == "Ann lives in Hamburg."
    past = client.post("/v1/search/semantic", json={"query": "where does Ann live", "as_of": then}).json()["results"]
    assert [hit["memory"]["id"] for hit in past] == [old["id"]]
    now = client.get(f"/v1/semantic/{old['id']}").json()
    assert now["valid_to"] is not None
    assert client.patch(f"/v1/semantic/{old['id']}", json={"content": "x"}).status_code == 409
    newer = client.get(f"/v1/semantic/{now['superseded_by']}").json()
    assert newer["content"] == "Ann lives in Munich."


def test_pages_follow_one_another(client):
    for number in range(5):
        add(client, f"Ann owns {number} boats of kind k{number}.")
    first = client.get("/v1/semantic?conversation=demo&limit=3").json()
    rest = client.get(f"/v1/semantic?conversation=demo&limit=3&cursor={first['next']}").json()
    assert len({one["id"] for one in first["memories"] + rest["memories"]}) == 5
    assert rest["next"] is None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"conversation": "demo"}, 422),
        ({"conversation": "demo", "content": " "}, 422),
        ({"conversation": "demo", "content": "x" * 9000}, 413),
        ({"conversation": "demo", "content": "x", "type": "rumour"}, 422),
        ({"conversation": "demo", "content": "x", "importance": 2}, 422),
        ({"conversation": "demo", "content": "x", "user": "bob"}, 404),
        ({"conversation": "demo", "content": "x", "sources": [str(uuid4())]}, 404),
        ({"conversation": "nowhere", "content": "x"}, 404),
        ({"conversation": "demo", "content": "x", "more": 1}, 422),
        ({"content": "x"}, 422),
        ({"project": "nowhere", "content": "x"}, 404),
        ({"project": "nowhere", "conversation": "demo", "content": "x"}, 404),
        ({"project": "nowhere", "content": "x", "user": "ann"}, 422),
        ({"project": "nowhere", "content": "x", "sources": [str(uuid4())]}, 422),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, int) else "body",
)
def test_what_can_not_be_kept_is_refused(client, body, status):
    assert client.post("/v1/semantic", json=body).status_code == status
    assert client.get("/v1/semantic").json()["memories"] == []


def test_bad_changes_and_unknown_ids_are_refused(client):
    memory = add(client, "Ann owns a boat.").json()
    assert client.patch(f"/v1/semantic/{memory['id']}", json={}).status_code == 422
    add(client, "Ann owns a car.")
    assert client.patch(f"/v1/semantic/{memory['id']}", json={"content": "Ann owns a car"}).status_code == 409
    assert client.get(f"/v1/semantic/{uuid4()}").status_code == 404
    assert client.get(f"/v1/semantic/{uuid4()}/history").status_code == 404
    assert client.get("/v1/semantic?cursor=nonsense").status_code == 422
    assert client.post("/v1/search/semantic", json={"query": " "}).status_code == 422


def test_a_key_reads_and_writes_only_where_it_may(client, working_service, tenant_name):
    memory = add(client, "Ann owns a boat.").json()
    path = f"/v1/semantic/{memory['id']}"
    with working_service.client(working_service.make_key(tenant_name, "reader")) as reader:
        assert reader.get(path).status_code == 200
        assert reader.delete(path).status_code == 403
    with working_service.client(working_service.make_key(tenant_name, "agent", "ada", "bob")) as bob:
        assert bob.get(path).status_code == bob.delete(path).status_code == 404
        assert bob.post("/v1/search/semantic", json={"query": "boat", "user_id": "ann"}).status_code == 403
        assert bob.post("/v1/search/semantic", json={"query": "boat"}).json() == {"results": []}


@pytest.fixture
def apollo(client):
    """A project with ann's session, bob's session, a room and ann's direct conversation; and places outside it."""
    client.put("/v1/projects/apollo", json={})
    client.put("/v1/projects/zeus", json={})
    client.put("/v1/rooms/hall", json={})
    for user in ("ann", "bob"):
        client.put(f"/v1/rooms/hall/participants/users/{user}")
        client.put(f"/v1/conversations/of-{user}", json={"user": user, "agent": "ada", "project": "apollo"})
    client.put("/v1/rooms/hall/participants/agents/ada")
    client.put("/v1/projects/apollo/members/rooms/hall")
    client.put("/v1/conversations/in-hall", json={"room": "hall", "agent": "ada"})
    direct = {"kind": "direct", "user": "ann", "agent": "ada", "project": "apollo"}
    assert client.put("/v1/conversations/direct", json=direct).status_code == 201
    client.put("/v1/conversations/in-zeus", json={"user": "ann", "agent": "ada", "project": "zeus"})
    return client


INSIDE, OUTSIDE = ("of-ann", "of-bob", "in-hall", "direct"), ("demo", "in-zeus")
LAUNCH = "The Apollo launch window opens on 4 May."


def launch_lines(client, conversation):
    """Return what of the project is listed, found and composed in a place, each in every way that there is."""
    listed = client.get("/v1/semantic", params={"conversation": conversation}).json()["memories"]
    asked = {"query": "when does the launch window open?", "conversation": conversation}
    found = client.post("/v1/search", json=asked | {"kinds": ["memory"]}).json()["results"]
    semantic = client.post("/v1/search/semantic", json=asked | {"filter": {"run_id": "project:apollo"}}).json()
    turn = {"conversation": conversation, "message": asked["query"], "dry_run": True}
    composed = client.post("/v1/compose", json=turn).json()
    recalled = [line["text"] for one in composed["sections"] if one["name"] == "recall" for line in one["lines"]]
    return [
        [one["content"] for one in listed],
        [hit["text"] for hit in found],
        [hit["memory"]["content"] for hit in semantic["results"]],
        [LAUNCH for text in recalled if LAUNCH in text and "project:apollo" in text],
    ]


@pytest.mark.parametrize("isolated", [False, True])
def test_a_projects_memory_is_known_in_all_of_its_places_and_in_no_other(apollo, isolated):
    apollo.put("/v1/projects/apollo", json={"isolated": isolated})
    made = apollo.post("/v1/semantic", json={"project": "apollo", "content": LAUNCH})
    assert made.status_code == 201, made.text
    memory = made.json()
    assert (memory["run_id"], memory["visibility"]) == ("project:apollo", "shared")
    assert (memory["user"], memory["conversation"]) == (None, None)
    assert memory["sources"] == []
    for name in INSIDE:
        assert launch_lines(apollo, name) == [[LAUNCH]] * 4, name
    for name in OUTSIDE:
        assert launch_lines(apollo, name) == [[], [], [], []], name


def test_a_projects_memory_lives_as_others_do(apollo):
    said = {"project": "apollo", "conversation": "of-ann", "content": "The budget is 40,000 crowns."}
    memory = apollo.post("/v1/semantic", json=said).json()
    assert memory["agent"] == "ada"
    again = apollo.post("/v1/semantic", json=said)
    assert (again.status_code, again.json()["id"], again.json()["times"]) == (200, memory["id"], 2)
    newer = apollo.post("/v1/semantic", json=said | {"content": "The budget is 50,000 crowns."}).json()
    path = f"/v1/semantic/{newer['id']}"
    assert apollo.get(f"/v1/semantic/{memory['id']}?conversation=of-bob").json()["superseded_by"] == newer["id"]
    changed = apollo.patch(f"{path}?conversation=in-hall", json={"content": "The budget is 60,000 crowns."})
    assert changed.json()["version"] == 2
    events = apollo.get(f"{path}/history").json()["versions"]
    assert [one["event"] for one in events] == ["changed", "added"]
    assert apollo.delete(path, headers={"If-Match": '"1"'}).status_code == 412
    assert apollo.delete(path, headers={"If-Match": '"2"'}).status_code == 204
    assert apollo.get(path).status_code == 404
    assert apollo.get(f"{path}/history").json()["versions"][0]["event"] == "deleted"
    assert apollo.get("/v1/semantic?conversation=of-ann").json()["memories"] == []


def test_a_projects_memory_is_written_where_its_facts_are(apollo, working_service, tenant_name):
    memory = apollo.post("/v1/semantic", json={"project": "apollo", "content": LAUNCH}).json()
    path = f"/v1/semantic/{memory['id']}"

    def tried(client, conversation, project="apollo"):
        body = {"project": project, "conversation": conversation, "content": f"Noted in {conversation}."}
        query = f"?conversation={conversation}"
        return [
            client.post("/v1/semantic", json=body).status_code,
            client.get(path + query).status_code,
            client.patch(path + query, json={"importance": 0.9}).status_code,
        ]

    with working_service.client(working_service.make_key(tenant_name, "agent", "ada")) as ada:
        assert tried(ada, "of-ann") == [201, 200, 200]
        assert tried(ada, "in-hall") == [201, 200, 200]
        # what is said in a direct conversation is for one user: nothing is put from there where others read
        assert tried(ada, "direct") == [403, 200, 403]
        assert tried(ada, "demo") == [404, 404, 404]
        assert tried(ada, "in-zeus") == [404, 404, 404]
        assert tried(ada, "of-ann", "zeus")[0] == 404
        assert ada.post("/v1/semantic", json={"project": "apollo", "content": "x"}).status_code == 403
        assert ada.get(path).status_code == ada.delete(path).status_code == 404
    with working_service.client(working_service.make_key(tenant_name, "reader", "ada")) as reader:
        assert tried(reader, "of-ann") == [403, 200, 403]
    with working_service.client(working_service.make_key(tenant_name, "agent", "ada", "bob")) as bob:
        assert tried(bob, "of-ann") == [404, 404, 404]
        assert tried(bob, "of-bob")[:2] == [201, 200]
    assert {one["content"] for one in apollo.get("/v1/semantic").json()["memories"]} == {
        LAUNCH, "Noted in of-ann.", "Noted in in-hall.", "Noted in of-bob.",
    }  # fmt: skip
