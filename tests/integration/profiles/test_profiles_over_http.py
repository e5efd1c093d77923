"""Profiles as JSON:API 1.1 has it: documents, errors with pointers, negotiation, paging, filters, sparse fields."""

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import UUID, uuid4

import psycopg
import pytest

from keepword.postgres import migrate

MEDIA = "application/vnd.api+json"
ROOT = "/v1/memories"


@pytest.fixture
def house(keyed_service):
    """A tenant of its own with two members and the client of its owner."""
    tenant = f"memories-{uuid4().hex}"
    key = keyed_service.make_key(tenant)
    with keyed_service.client(key, **{"Content-Type": MEDIA, "Accept": MEDIA}) as client:
        for user in ("ann", "bob"):
            client.put(f"/v1/users/{user}", json={}, headers={"Content-Type": "application/json"})

        def as_(role, **bound):
            return keyed_service.client(keyed_service.make_key(tenant, role, **bound), Accept=MEDIA)

        yield SimpleNamespace(client=client, tenant=tenant, as_=as_, conninfo=keyed_service.conninfo)


def new(memory="likes tea", *, user="ann", **attributes):
    data = {"type": "memory", "attributes": {"memory": memory} | attributes}
    if user is not None:
        data["relationships"] = {"membership": {"data": {"type": "membership", "id": user}}}
    return {"data": data}


def check_error(answer, status, **source):
    """Check that this is an error document as the specification has it, about this part of the request."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA
    found = answer.json()
    assert found["jsonapi"] == {"version": "1.1"}
    assert "data" not in found
    (error,) = found["errors"]
    assert (error["status"], error["id"]) == (str(status), answer.headers["x-request-id"])
    assert error["title"]
    assert error["detail"]
    assert error.get("source", {}) == source, error
    return error


def test_a_memory_is_made_read_changed_and_deleted(house):
    made = house.client.post(ROOT, json=new())
    assert made.status_code == 201
    assert made.headers["content-type"] == MEDIA
    data = made.json()["data"]
    assert made.headers["location"] == data["links"]["self"] == f"{ROOT}/{data['id']}"
    assert UUID(data["id"]).version == 4
    assert data["type"] == "memory"
    created = data["attributes"].pop("created_at")
    assert data["attributes"].pop("updated_at") == created
    assert created.endswith("Z")
    assert abs(datetime.fromisoformat(created) - datetime.now(UTC)) < timedelta(minutes=1)
    assert data["attributes"] == {"type": "user", "memory": "likes tea"}
    assert data["relationships"] == {
        "workspace": {"data": {"type": "workspace", "id": house.tenant}},
        "membership": {"data": {"type": "membership", "id": "ann"}},
    }
    path = f"{ROOT}/{data['id']}"
    assert house.client.get(path).json()["data"] == made.json()["data"]
    time.sleep(0.01)
    body = {"data": {"type": "memory", "id": data["id"], "attributes": {"memory": "likes coffee", "type": "user"}}}
    changed = house.client.patch(path, json=body)
    assert changed.status_code == 200
    attributes = changed.json()["data"]["attributes"]
    assert (attributes["memory"], attributes["created_at"]) == ("likes coffee", created)
    assert attributes["updated_at"] > created
    assert house.client.delete(path).status_code == 204
    check_error(house.client.get(path), 404)
    check_error(house.client.delete(path), 404)
    check_error(house.client.patch(path, json=body), 404)


def test_the_workspace_has_one_and_each_member_has_one(house):
    workspace = house.client.post(ROOT, json=new(user=None, type="workspace"))
    assert workspace.status_code == 201
    assert workspace.json()["data"]["relationships"]["membership"] == {"data": None}
    check_error(house.client.post(ROOT, json=new(user=None, type="workspace")), 409)
    for user in ("ann", "bob"):
        assert house.client.post(ROOT, json=new(user=user)).status_code == 201
        check_error(house.client.post(ROOT, json=new(user=user)), 409)
    assert house.client.get(ROOT).json()["meta"] == {"total": 3}


def test_what_is_said_with_the_relationships_that_are_there_passes(house):
    linked = {"workspace": {"data": {"type": "workspace", "id": house.tenant}}, "membership": {"data": None}}
    body = new(user=None, type="workspace")
    body["data"]["relationships"] = linked
    made = house.client.post(ROOT, json=body | {"meta": {"any": 1}, "unknown": 1})
    assert made.status_code == 201, made.text
    id_ = made.json()["data"]["id"]
    body = {"data": {"type": "memory", "id": id_, "relationships": linked}}
    assert house.client.patch(f"{ROOT}/{id_}", json=body).json() == house.client.get(f"{ROOT}/{id_}").json()


def with_data(**changes):
    body = new()
    body["data"] |= changes
    return body


def linked(name, data):
    body = new()
    body["data"]["relationships"][name] = data
    return body


MEMBERSHIP = "/data/relationships/membership"


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 400, ""),
        ([], 400, ""),
        ({"meta": {}}, 400, ""),
        ({"data": None}, 400, "/data"),
        ({"data": []}, 400, "/data"),
        ({"data": {}}, 400, "/data"),
        ({"data": {"type": 1}}, 400, "/data"),
        (with_data(type="memories"), 409, "/data/type"),
        (with_data(id="0199a1de-6588-7373-871e-21e1d285032a"), 403, "/data/id"),
        (with_data(attributes=[]), 400, "/data/attributes"),
        (with_data(attributes={}), 422, "/data/attributes"),
        ({"data": {"type": "memory"}}, 422, "/data"),
        (new(None), 422, "/data/attributes/memory"),
        (new(7), 422, "/data/attributes/memory"),
        (new("a\0b"), 422, "/data/attributes/memory"),
        (new("é" * 524_289), 413, "/data/attributes/memory"),
        (new(type="team"), 422, "/data/attributes/type"),
        (new(type=[]), 422, "/data/attributes/type"),
        (with_data(type=[]), 400, "/data"),
        (new(type=None), 422, "/data/attributes/type"),
        (new(created_at="2020-01-01T00:00:00Z"), 422, "/data/attributes/created_at"),
        (new(updated_at="2020-01-01T00:00:00Z"), 422, "/data/attributes/updated_at"),
        (new(memory_id="0199a1de-6588-7373-871e-21e1d285032a"), 422, "/data/attributes/memory_id"),
        (new(**{"a/b~c": 1}), 422, "/data/attributes/a~1b~0c"),
        (new(type="workspace"), 422, MEMBERSHIP),
        (new(user=None), 422, "/data"),
        (with_data(relationships=7), 400, "/data/relationships"),
        (linked("team", {"data": None}), 422, "/data/relationships/team"),
        (linked("membership", {}), 400, MEMBERSHIP),
        (linked("membership", 7), 400, MEMBERSHIP),
        (linked("membership", {"data": []}), 400, f"{MEMBERSHIP}/data"),
        (linked("membership", {"data": {"type": "membership"}}), 400, f"{MEMBERSHIP}/data"),
        (linked("membership", {"data": {"type": "user", "id": "ann"}}), 422, f"{MEMBERSHIP}/data"),
        (linked("membership", {"data": {"type": "membership", "id": "a/b"}}), 422, f"{MEMBERSHIP}/data/id"),
        (linked("membership", {"data": {"type": "membership", "id": "zed"}}), 404, f"{MEMBERSHIP}/data"),
        (linked("membership", {"data": None}), 422, "/data"),
        (linked("workspace", {"data": None}), 404, "/data/relationships/workspace/data"),
        (linked("workspace", {"data": {"type": "workspace", "id": "x"}}), 404, "/data/relationships/workspace/data"),
    ],
)
def test_a_document_that_can_not_be_made_is_refused_with_a_pointer(house, body, status, pointer):
    check_error(house.client.post(ROOT, json=body), status, pointer=pointer)
    assert house.client.get(ROOT).json()["data"] == []


@pytest.mark.parametrize("body", ["", "{", "nonsense", '{"data": NaN}', b"\xff", '{"data": {"type": "\\ud800"}}'])
def test_what_is_not_json_is_refused(house, body):
    check_error(house.client.post(ROOT, content=body), 400)


def test_a_change_that_would_make_it_another_is_refused(house):
    id_ = house.client.post(ROOT, json=new()).json()["data"]["id"]
    path, other = f"{ROOT}/{id_}", str(uuid4())

    def patch(**changes):
        return house.client.patch(path, json={"data": {"type": "memory", "id": id_} | changes})

    check_error(patch(id=other), 409, pointer="/data/id")
    check_error(patch(id=7), 400, pointer="/data")
    check_error(patch(type="team"), 409, pointer="/data/type")
    check_error(patch(attributes={"type": "workspace"}), 422, pointer="/data/attributes/type")
    for name in ("created_at", "updated_at", "memory_id"):
        check_error(patch(attributes={name: "2020-01-01T00:00:00Z"}), 422, pointer=f"/data/attributes/{name}")
    for to in (None, {"type": "membership", "id": "bob"}):
        check_error(patch(relationships={"membership": {"data": to}}), 403, pointer=MEMBERSHIP)
    check_error(patch(attributes={"memory": "x" * (1024 * 1024 + 1)}), 413, pointer="/data/attributes/memory")
    check_error(house.client.patch(path, json={}), 400, pointer="")
    assert house.client.get(path).json()["data"]["attributes"]["memory"] == "likes tea"


@pytest.mark.parametrize(
    "id_", ["x", "7", "0199a1de-6588-7373-871e-21e1d285032a", "0199A1DE-6588-7373-871E-21E1D285032B", "%00", "a%20b"]
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_unknown_ids_are_not_found(house, method, id_):
    body = {"data": {"type": "memory", "id": id_}} if method == "PATCH" else None
    check_error(house.client.request(method, f"{ROOT}/{id_}", json=body), 404)


@pytest.mark.parametrize(
    "sent", ["", "application/json", "text/plain", f"{MEDIA}; charset=utf-8", f'{MEDIA};ext="https://example.org/x"']
)
def test_another_media_type_is_not_read(house, sent):
    answer = house.client.post(ROOT, json=new(), headers={"Content-Type": sent})
    check_error(answer, 415, header="Content-Type")


@pytest.mark.parametrize(
    "sent", [MEDIA, MEDIA.upper(), f'{MEDIA};profile="https://example.org/a https://example.org/b"']
)
def test_the_media_type_may_name_profiles(house, sent):
    assert house.client.post(ROOT, json=new(), headers={"Content-Type": sent}).status_code == 201


@pytest.mark.parametrize(
    "sent",
    [
        "text/html", "application/json", f"{MEDIA};charset=utf-8", f'{MEDIA};ext="https://example.org/x"',
        f'{MEDIA};ext="https://example.org/a,b", text/html', f"{MEDIA};q=0", "text/*",
    ],
)  # fmt: skip
def test_who_would_not_understand_the_answer_gets_406(house, sent):
    check_error(house.client.get(ROOT, headers={"Accept": sent}), 406, header="Accept")


@pytest.mark.parametrize(
    "sent",
    [
        MEDIA, "*/*", "application/*", "", f"text/html, {MEDIA};q=0.5", f"{MEDIA};charset=utf-8, {MEDIA}",
        f'{MEDIA};profile="https://example.org/a,b"', f"{MEDIA};charset=utf-8, */*;q=0.1",
    ],
)  # fmt: skip
def test_who_would_understand_it_gets_an_answer(house, sent):
    assert house.client.get(ROOT, headers={"Accept": sent}).status_code == 200


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("include=workspace", "include"), ("include=", "include"), ("limit=5", "limit"), ("sort=memory", "sort"),
        ("sort=", "sort"), ("sort=type,type,type,type", "sort"), ("page[size]=0", "page[size]"),
        ("page[size]=201", "page[size]"), ("page[size]=x", "page[size]"), ("page[number]=0", "page[number]"),
        ("page[number]=-1", "page[number]"), ("page[number]=" + "9" * 50, "page[number]"),
        ("page[offset]=1", "page[offset]"), ("filter[type]=team", "filter[type]"),
        ("inConversation=", "inConversation"), ("inConversation=%00", "inConversation"),
        ("filter[memory]=x", "filter[memory]"),
        ("filter[membership]=a%2Fb", "filter[membership]"), ("fields[memory]=text", "fields[memory]"),
        ("fields[workspace]=x", "fields[workspace]"), ("sort=type&sort=type", "sort"),
    ],
)  # fmt: skip
def test_a_query_that_can_not_be_read_is_refused(house, query, parameter):
    check_error(house.client.get(f"{ROOT}?{query}"), 400, parameter=parameter)


@pytest.fixture
def many(house):
    """Seven members with a memory each, made one after the other, and the workspace's."""
    users = [f"user {number}, é" for number in range(7)]
    for user in users:
        house.client.put(f"/v1/users/{user}", json={}, headers={"Content-Type": "application/json"})
        house.client.post(ROOT, json=new(f"of {user}", user=user))
    house.client.post(ROOT, json=new("of all", user=None, type="workspace"))
    return SimpleNamespace(house=house, client=house.client, users=users)


def memories(answer):
    return [data["attributes"]["memory"] for data in answer.json()["data"]]


def test_pages_follow_each_other_by_their_links(many):
    path, seen = f"{ROOT}?page[size]=3&sort=-created_at", []
    while path:
        answer = many.client.get(path)
        seen += memories(answer)
        links = answer.json()["links"]
        path = links["next"]
    assert seen == ["of all", *(f"of {user}" for user in reversed(many.users))]
    assert memories(many.client.get(links["last"])) == seen[6:]
    assert memories(many.client.get(links["prev"])) == seen[3:6]
    assert memories(many.client.get(links["first"])) == seen[:3]
    beyond = many.client.get(f"{ROOT}?page[size]=3&page[number]=9")
    assert (beyond.status_code, beyond.json()["data"], beyond.json()["meta"]) == (200, [], {"total": 8})


def test_sorting_goes_by_each_field_in_turn(many):
    by_age = [f"of {user}" for user in many.users]
    assert memories(many.client.get(f"{ROOT}?sort=type,-created_at")) == [*reversed(by_age), "of all"]
    assert memories(many.client.get(f"{ROOT}?sort=-type,created_at")) == ["of all", *by_age]
    oldest = many.client.get(f"{ROOT}?sort=created_at&page[size]=1").json()["data"][0]["id"]
    body = {"data": {"type": "memory", "id": oldest, "attributes": {"memory": "changed"}}}
    many.client.patch(f"{ROOT}/{oldest}", json=body)
    assert memories(many.client.get(f"{ROOT}?sort=-updated_at"))[:2] == ["changed", "of all"]
    assert memories(many.client.get(ROOT))[0] == "changed"


def test_filters_choose_by_type_and_membership(many):
    assert memories(many.client.get(f"{ROOT}?filter[type]=workspace")) == ["of all"]
    assert len(memories(many.client.get(f"{ROOT}?filter[type]=user"))) == 7
    one = many.client.get(ROOT, params={"filter[membership]": many.users[3]})
    assert (memories(one), one.json()["meta"]) == ([f"of {many.users[3]}"], {"total": 1})
    both = {"filter[membership]": many.users[3], "filter[type]": "workspace"}
    assert many.client.get(ROOT, params=both).json()["data"] == []


def test_sparse_fields_leave_out_the_others(many):
    for path in (ROOT, f"{ROOT}/{many.client.get(ROOT).json()['data'][0]['id']}"):
        data = many.client.get(f"{path}?fields[memory]=memory,workspace").json()["data"]
        first = data[0] if isinstance(data, list) else data
        assert set(first) == {"type", "id", "attributes", "relationships", "links"}
        assert (set(first["attributes"]), set(first["relationships"])) == ({"memory"}, {"workspace"})
        bare = many.client.get(f"{path}?fields[memory]=").json()["data"]
        assert set(bare[0] if isinstance(bare, list) else bare) == {"type", "id", "links"}


def test_errors_before_the_route_are_of_the_same_kind(house, keyed_service):
    with keyed_service.client() as nobody:
        answer = nobody.get(ROOT)
        check_error(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        check_error(nobody.delete(f"{ROOT}/{uuid4()}"), 401)
    with house.as_("reader") as reader:
        check_error(reader.post(ROOT, json=new()), 403)
        check_error(reader.get(ROOT, headers={"Keepword-Agent": "not:a slug"}), 422, header="Keepword-Agent")
        check_error(reader.get(ROOT), 400, parameter="inConversation")
    check_error(house.client.put(f"{ROOT}/{uuid4()}", json={}), 405)
    check_error(house.client.put(ROOT, json={}), 405)
    check_error(house.client.get(f"{ROOT}/a/b"), 404)
    check_error(house.client.get(f"{ROOT}/a/relationships/workspace"), 404)
    with house.as_("admin", user="ann") as bound:
        check_error(bound.post(ROOT, json=new(), headers={"Content-Type": MEDIA}), 403)
    assert house.client.get("/v1/memorable").headers["content-type"] == "application/problem+json"


def test_a_place_shows_its_peoples_memories_and_the_workspaces(house):
    for body in (new("of ann"), new("of bob", user="bob"), new("of all", user=None, type="workspace")):
        assert house.client.post(ROOT, json=body).status_code == 201
    as_json = {"Content-Type": "application/json"}
    house.client.put("/v1/projects/sealed", json={"isolated": True}, headers=as_json)
    house.client.put("/v1/rooms/hall", json={}, headers=as_json)
    for path in ("users/ann", "users/bob", "agents/ada"):
        house.client.put(f"/v1/rooms/hall/participants/{path}")
    for name, place in {
        "session": {"user": "ann"}, "dm": {"user": "ann", "kind": "direct"}, "nobody": {},
        "sealed": {"user": "ann", "project": "sealed"}, "hall": {"room": "hall"},
    }.items():  # fmt: skip
        answer = house.client.put(f"/v1/conversations/{name}", json={"agent": "ada"} | place, headers=as_json)
        assert answer.status_code == 201
    expected = {
        "session": {"of ann", "of all"}, "dm": {"of ann", "of all"}, "nobody": {"of all"}, "sealed": set(),
        "hall": {"of ann", "of bob", "of all"},
    }  # fmt: skip
    ids = {data["attributes"]["memory"]: data["id"] for data in house.client.get(ROOT).json()["data"]}
    with house.as_("agent", agent="ada") as agent, house.as_("agent", agent="ada", user="ann") as ann:
        for name, there in expected.items():
            listed = agent.get(ROOT, params={"inConversation": name})
            assert (set(memories(listed)), listed.json()["meta"]["total"]) == (there, len(there))
            for memory, id_ in ids.items():
                answer = agent.get(f"{ROOT}/{id_}", params={"inConversation": name})
                assert answer.status_code == (200 if memory in there else 404)
        assert memories(ann.get(ROOT)) == ["of ann"]
        check_error(ann.get(f"{ROOT}/{ids['of bob']}"), 404)
        check_error(ann.get(ROOT, params={"inConversation": "no-such"}), 404, parameter="inConversation")
        check_error(agent.delete(f"{ROOT}/{ids['of ann']}"), 403)


AS_JSON = {"Content-Type": "application/json"}


def put_place(house, name, **place):
    answer = house.client.put(f"/v1/conversations/{name}", json={"agent": "ada"} | place, headers=AS_JSON)
    assert answer.status_code == 201, answer.text


def remember(house, name, content, user="ann"):
    """Let something be said, and be remembered of the user with what was said as its source."""
    path, message = f"/v1/conversations/{name}/messages", {"role": "user", "user": user, "content": f"{content} (said)"}
    said = house.client.post(path, json=message, headers=AS_JSON).json()["messages"][0]["id"]
    body = {"conversation": name, "content": content, "user": user, "sources": [said]}
    made = house.client.post("/v1/semantic", json=body, headers=AS_JSON)
    assert made.status_code == 201, made.text
    return made.json()["id"]


def put_room(house, *users):
    house.client.put("/v1/rooms/hall", json={}, headers=AS_JSON)
    for path in (*(f"users/{user}" for user in users), "agents/ada"):
        house.client.put(f"/v1/rooms/hall/participants/{path}")
    put_place(house, "hall", room="hall")


def only(answer):
    (data,) = answer.json()["data"]
    return data


def patch(house, data, **attributes):
    body = {"data": {"type": "memory", "id": data["id"], "attributes": attributes}}
    return house.client.patch(f"{ROOT}/{data['id']}", json=body)


def read(house, name):
    """Return the text of ann's profile as the place shows it, None where it shows none."""
    found = house.client.get(ROOT, params={"inConversation": name, "filter[membership]": "ann"}).json()["data"]
    return found[0]["attributes"]["memory"] if found else None


def test_what_was_read_can_be_sent_back_and_shares_nothing(house):
    put_place(house, "alone", user="ann")
    put_room(house, "ann", "bob")
    remember(house, "alone", "ann earns 92,000 euros.")
    remember(house, "hall", "ann likes tea.")
    data = only(house.client.get(ROOT))
    answer = house.client.patch(f"{ROOT}/{data['id']}", json={"data": data})
    assert (answer.status_code, answer.json()["data"]) == (200, data)
    assert only(house.client.get(ROOT)) == data
    assert read(house, "hall") == "Facts\n- ann likes tea."
    for name in ("created_at", "updated_at"):
        check_error(patch(house, data, **{name: "2020-01-01T00:00:00.000Z"}), 422, pointer=f"/data/attributes/{name}")


def test_what_an_admin_edits_is_shared_and_what_they_leave_as_it_was_is_not(house):
    put_place(house, "alone", user="ann")
    put_room(house, "ann", "bob")
    remember(house, "alone", "ann earns 92,000 euros.")
    remember(house, "alone", "ann lives in Kiel.")
    data = only(house.client.get(ROOT))
    text = data["attributes"]["memory"].replace("- ann lives in Kiel.", "- ann lives at the sea.") + "\n"
    changed = patch(house, data, memory=text).json()["data"]
    assert changed["attributes"]["memory"] == text
    assert (changed["id"], changed["attributes"]["created_at"]) == (data["id"], data["attributes"]["created_at"])
    assert read(house, "alone").splitlines() == ["Facts", *sorted(text.splitlines()[1:], key=text.index)]
    assert read(house, "hall") == "Facts\n- ann lives at the sea."


def test_what_is_said_later_stands_after_what_an_admin_wrote_and_never_undoes_it(house):
    put_place(house, "alone", user="ann")
    remember(house, "alone", "ann likes tea.")
    made = only(house.client.get(ROOT))
    assert patch(house, made, memory="Ann, by her own words.").status_code == 200
    house.client.post(
        "/v1/conversations/alone/messages",
        json={"role": "user", "user": "ann", "content": "What time is it?"}, headers=AS_JSON,
    )  # fmt: skip
    assert read(house, "alone") == "Ann, by her own words."
    remember(house, "alone", "ann owns a boat.")
    assert read(house, "alone") == "Ann, by her own words.\nFacts\n- ann owns a boat."
    assert only(house.client.get(ROOT))["id"] == made["id"]


def test_a_memory_that_is_deleted_is_gone_from_the_text_that_repeats_it(house):
    put_place(house, "alone", user="ann")
    id_ = remember(house, "alone", "ann likes tea.")
    patch(house, only(house.client.get(ROOT)), memory="Ann\n\n* ann likes tea.\nends here")
    assert read(house, "alone") == "Ann\n\n- ann likes tea.\nends here"
    assert only(house.client.get(ROOT))["attributes"]["memory"] == "Ann\n\n* ann likes tea.\nends here"
    assert house.client.delete(f"/v1/semantic/{id_}").status_code == 204
    assert read(house, "alone") == "Ann\n\nends here"


def test_what_was_deleted_stays_away_and_what_is_said_later_makes_a_new_one(house):
    put_place(house, "alone", user="ann")
    remember(house, "alone", "ann likes tea.")
    data = only(house.client.get(ROOT))
    assert house.client.delete(f"{ROOT}/{data['id']}").status_code == 204
    check_error(house.client.get(f"{ROOT}/{data['id']}"), 404)
    assert house.client.get(ROOT).json()["data"] == []
    remember(house, "alone", "ann owns a boat.")
    later = only(house.client.get(ROOT))
    assert later["id"] != data["id"]
    assert later["attributes"]["memory"] == "Facts\n- ann owns a boat."
    assert house.client.post(ROOT, json=new()).status_code == 409


def test_times_tell_nothing_of_lines_that_are_not_shown(house):
    put_place(house, "alone", user="ann")
    put_room(house, "ann", "bob")
    remember(house, "hall", "ann likes tea.")
    before = only(house.client.get(ROOT, params={"inConversation": "hall"}))
    remember(house, "alone", "ann earns 92,000 euros.")
    assert only(house.client.get(ROOT, params={"inConversation": "hall"})) == before


def test_every_text_that_was_written_is_kept_with_who_wrote_it(house):
    data = house.client.post(ROOT, json=new("first")).json()["data"]
    patch(house, data, memory="second")
    house.client.delete(f"{ROOT}/{data['id']}")
    with migrate.owner(house.conninfo) as conn:
        rows = conn.execute(
            """SELECT v.version, v.memory, v.by_whom IS NOT NULL FROM profile_versions v
            JOIN tenants t ON t.id = v.tenant_id WHERE t.name = %s ORDER BY 1""",
            (house.tenant,),
        ).fetchall()
    assert rows == [(1, "first", True), (2, "second", True), (3, None, True)]


def test_an_empty_text_and_one_of_headings_come_back_as_they_were_written(house):
    for number, text in enumerate(("", "\n", "Facts", "Facts\n\n- one\r\n  two  \n\n")):
        house.client.put(f"/v1/users/u{number}", json={}, headers=AS_JSON)
        made = house.client.post(ROOT, json=new(text, user=f"u{number}"))
        assert made.json()["data"]["attributes"]["memory"] == text


def test_the_database_keeps_the_seeds_constraints(house):
    insert = """
        INSERT INTO profiles (tenant_id, type, user_id)
        SELECT id, %s, %s FROM tenants WHERE name = %s
    """
    with migrate.owner(house.conninfo) as conn:
        for type_, user in (("user", None), ("workspace", "ann")):
            with pytest.raises(psycopg.errors.CheckViolation, match="profiles_type_membership_check"):
                conn.execute(insert, (type_, user, house.tenant))
        for type_, user, name in (("user", "ann", "membership"), ("workspace", None, "workspace")):
            conn.execute(insert, (type_, user, house.tenant))
            with pytest.raises(psycopg.errors.UniqueViolation, match=f"profiles_{name}_unique"):
                conn.execute(insert, (type_, user, house.tenant))
        for change in ("created_at = now() + interval '1 s'", "user_id = 'bob'", "id = gen_random_uuid()"):
            with pytest.raises(psycopg.errors.RestrictViolation):
                conn.execute(f"UPDATE profiles SET {change} WHERE user_id = 'ann'")
        conn.execute("SET ROLE keepword_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("UPDATE profiles SET created_at = now()")
        conn.execute("RESET ROLE")
