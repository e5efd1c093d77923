"""Working memory, ledger and buffer as AEGIS' clients and others see them, on both engines."""

import json
from uuid import uuid4

import pytest


@pytest.fixture(scope="module", params=["postgres", "redis"])
def working_service(request, keyed_service, redis_keyed_service):
    return {"postgres": keyed_service, "redis": redis_keyed_service}[request.param]


@pytest.fixture(scope="module")
def tenant_name() -> str:
    return f"t-{uuid4().hex[:12]}"


@pytest.fixture
def connect(working_service, tenant_name):
    """Open clients with keys of one tenant."""
    made = []

    def open_client(role="agent", agent=None, user=None, tenant=tenant_name):
        made.append(working_service.client(working_service.make_key(tenant, role, agent, user)))
        return made[-1]

    yield open_client
    for client in made:
        client.close()


@pytest.fixture
def client(connect):
    return connect()


@pytest.fixture
def name() -> str:
    return f"conv-{uuid4().hex}"


def test_an_unknown_conversation_reads_as_empty_and_is_not_made(client, name):
    assert client.get(f"/working-memory/{name}").json() == {}
    assert client.get(f"/ledger/{name}").json() == {}
    item = {"item_key": "skill:a"}
    assert client.post(f"/ledger/{name}/check", json=item).json() == {"injected": False, "value": None}
    assert client.post(f"/ledger/{name}/evict", json=item).json() == {"evicted": False}
    assert client.delete(f"/working-memory/{name}").status_code == 204
    assert client.request("DELETE", f"/working-memory/{name}", json={"fields": ["a"]}).status_code == 204
    assert client.get(f"/v1/conversations/{name}").status_code == 404


def test_the_first_write_makes_a_session_for_the_calling_key(connect, name):
    admin = connect("admin")
    admin.put("/v1/users/alice", json={}).raise_for_status()
    alice = connect(agent="helper", user="alice")
    assert alice.put(f"/working-memory/{name}", json={"data": {"a": 1}}).status_code == 200
    made = alice.get(f"/v1/conversations/{name}").json()
    assert (made["kind"], made["agent"], made["user"]) == ("session", "helper", "alice")
    other = f"{name}-2"
    assert connect().post(f"/ledger/{other}/mark", json={"item_key": "k"}).json() == {"marked": True, "first": True}
    assert admin.get(f"/v1/conversations/{other}").json()["agent"] == "default"


def test_fields_are_merged_read_and_deleted_as_aegis_does(client, name):
    path = f"/working-memory/{name}"
    first = {"scratchpad": "123", "entities": [{"type": "well", "id": 2**80, "name": "Grüße"}], "n": 1.0}
    assert client.put(path, json={"data": first}).json() == {"bytes": 92, "fields": 3}
    client.put(path, json={"data": {"n": {"z": 1, "a": 2}}, "ttl_seconds": 60})
    read = client.get(path)
    assert read.headers["content-type"] == "application/json"
    assert read.json() == first | {"n": {"z": 1, "a": 2}}
    assert '"n":{"z":1,"a":2}' in read.text
    assert client.request("DELETE", path, json={"fields": ["n", "no"]}).status_code == 204
    assert client.request("DELETE", path, json={"fields": ["n"]}).status_code == 204
    assert client.get(path).json() == {"scratchpad": "123", "entities": first["entities"]}
    assert client.delete(path).status_code == 204
    assert client.get(path).json() == {}
    assert client.delete(path).status_code == 204


def test_over_64_kib_answers_413_with_the_sizes_and_keeps_the_old_value(client, name):
    client.put(f"/working-memory/{name}", json={"data": {"a": "x" * 60_000}})
    answer = client.put(f"/working-memory/{name}", json={"data": {"b": "y" * 10_000}})
    assert answer.status_code == 413
    assert {"70002", "65536", "60001"} <= set(answer.json()["detail"].replace(",", "").split())
    assert client.get(f"/working-memory/{name}").json() == {"a": "x" * 60_000}


def test_what_is_too_large_by_itself_makes_no_conversation(client, name):
    assert client.put(f"/working-memory/{name}", json={"data": {"b": "y" * 70_000}}).status_code == 413
    assert client.get(f"/v1/conversations/{name}").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"{}", 422),
        (b'{"data": []}', 422),
        (b'{"data": null}', 422),
        (b'{"data": "x"}', 422),
        (b'{"data": {"a": NaN}}', 422),
        (b'{"data": {"a": 1e999}}', 422),
        (b'{"data": {"a": "\\u0000"}}', 422),
        (b'{"data": {"": 1}}', 422),
        (b'{"data": {"%b": 1}}' % (b"x" * 201), 422),
        (json.dumps({"data": {f"f{number}": 1 for number in range(1001)}}).encode(), 422),
        (b'{"data": {}, "ttl_seconds": 0}', 422),
        (b'{"data": {}, "ttl_seconds": 2592001}', 422),
        (b'{"data": {}, "ttl_seconds": 1.5}', 422),
        (b'{"data": {}, "ttl_seconds": "60"}', 422),
        (b'{"data": {}, "ttl": 60}', 422),
    ],
)
def test_bad_bodies_are_refused(client, name, body, status):
    sent = {"content": body, "headers": {"Content-Type": "application/json"}}
    answer = client.put(f"/working-memory/{name}", **sent)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("body", [{"fields": []}, {"fields": "a"}, {"fields": [1]}, {"field": ["a"]}, []])
def test_bad_deletes_are_refused(client, name, body):
    client.put(f"/working-memory/{name}", json={"data": {"a": 1}})
    assert client.request("DELETE", f"/working-memory/{name}", json=body).status_code == 422
    assert client.get(f"/working-memory/{name}").json() == {"a": 1}


@pytest.mark.parametrize(
    "body", [{}, {"item_key": ""}, {"item_key": "x" * 201}, {"item_key": 1}, {"item_key": "a", "x": 1}]
)
@pytest.mark.parametrize("action", ["check", "mark", "evict"])
def test_bad_items_are_refused(client, name, action, body):
    assert client.post(f"/ledger/{name}/{action}", json=body).status_code == 422


def test_the_ledger_tells_who_was_first(client, name):
    item = {"item_key": "skill:spacing-calculation"}
    assert client.post(f"/ledger/{name}/mark", json=item | {"value": "1"}).json() == {"marked": True, "first": True}
    assert client.post(f"/ledger/{name}/mark", json=item | {"value": "2"}).json() == {"marked": True, "first": False}
    assert client.post(f"/ledger/{name}/check", json=item).json() == {"injected": True, "value": "2"}
    assert client.get(f"/ledger/{name}").json() == {"skill:spacing-calculation": "2"}
    assert client.post(f"/ledger/{name}/evict", json=item).json() == {"evicted": True}
    assert client.post(f"/ledger/{name}/check", json=item).json() == {"injected": False, "value": None}


def test_a_reader_may_read_and_check_but_not_write(connect, client, name):
    client.put(f"/working-memory/{name}", json={"data": {"a": 1}})
    reader, item = connect("reader"), {"item_key": "k"}
    assert reader.get(f"/working-memory/{name}").json() == {"a": 1}
    assert reader.get(f"/ledger/{name}").json() == {}
    assert reader.post(f"/ledger/{name}/check", json=item).status_code == 200
    for answer in (
        reader.put(f"/working-memory/{name}", json={"data": {"a": 2}}),
        reader.delete(f"/working-memory/{name}"),
        reader.post(f"/ledger/{name}/mark", json=item),
        reader.post(f"/ledger/{name}/evict", json=item),
    ):
        assert answer.status_code == 403


def _say(client, name, *texts, **more):
    messages = [{"role": "user", "content": text} | more for text in texts]
    client.post(f"/v1/conversations/{name}/messages", json=messages).raise_for_status()


def _texts(client, name, limit=50):
    answer = client.get(f"/v1/conversations/{name}/buffer", params={"limit": limit})
    answer.raise_for_status()
    return [message["text"] for message in answer.json()["messages"]]


def test_the_buffer_shows_who_said_what_when(connect, name):
    admin = connect("admin")
    admin.put("/v1/users/bob", json={})
    bob = connect(agent="helper", user="bob")
    bob.put(f"/v1/conversations/{name}", json={})
    _say(bob, name, "hello", attachments=[{"name": "a.txt"}], created_at="2026-01-02T03:04:05Z")
    for _ in range(2):  # once from the transcript, once from what it left in the cache
        (message,) = bob.get(f"/v1/conversations/{name}/buffer").json()["messages"]
        shown = {part: message[part] for part in ("user", "ts", "text", "attachments", "role", "agent", "seq")}
        assert shown == {
            "user": "bob", "ts": "2026-01-02T03:04:05Z", "text": "hello", "attachments": [{"name": "a.txt"}],
            "role": "user", "agent": "helper", "seq": 1,
        }  # fmt: skip
        assert message["conversation"] == name


def test_the_buffer_follows_every_append_and_keeps_the_last_50(client, name):
    client.put(f"/v1/conversations/{name}", json={})
    said = []
    assert _texts(client, name) == []
    for number in range(30):
        batch = [f"m{number}.{part}" for part in range(number % 4 + 1)]
        _say(client, name, *batch)
        said += batch
        assert _texts(client, name) == said[-50:]
    assert _texts(client, name, limit=7) == said[-7:]
    assert len(client.get(f"/v1/conversations/{name}/buffer").json()["messages"]) == 40


def test_a_message_told_for_an_earlier_time_takes_its_place_in_time(client, name):
    client.put(f"/v1/conversations/{name}", json={})
    _say(client, name, "now")
    assert _texts(client, name) == ["now"]
    _say(client, name, "long ago", created_at="2001-01-01T00:00:00Z")
    assert _texts(client, name) == ["long ago", "now"]
    _say(client, name, "later")
    assert _texts(client, name) == ["long ago", "now", "later"]


def test_a_room_s_conversations_share_its_buffer(connect, name):
    admin = connect("admin")
    for path in (f"rooms/{name}", "users/carol"):
        admin.put(f"/v1/{path}", json={}).raise_for_status()
    admin.put(f"/v1/rooms/{name}/participants/users/carol")
    admin.put(f"/v1/rooms/{name}/participants/agents/helper")
    for thread in ("a", "b"):
        body = {"room": name, "agent": "helper"}
        admin.put(f"/v1/conversations/{name}-{thread}", json=body).raise_for_status()
    said = []
    for number in range(12):
        thread = "ab"[number % 2]
        _say(admin, f"{name}-{thread}", f"m{number}", user="carol")
        said.append(f"m{number}")
        assert _texts(admin, f"{name}-a") == said
        assert _texts(admin, f"{name}-b") == said


def test_a_retried_event_is_in_the_buffer_once(client, name):
    client.put(f"/v1/conversations/{name}", json={})
    for _ in range(2):
        _say(client, name, "once", event_id="e1")
        assert _texts(client, name) == ["once"]
    _say(client, name, "twice")
    assert _texts(client, name) == ["once", "twice"]


@pytest.mark.parametrize("limit", [0, 51, "x"])
def test_the_buffer_s_limit_has_bounds(client, name, limit):
    client.put(f"/v1/conversations/{name}", json={})
    assert client.get(f"/v1/conversations/{name}/buffer", params={"limit": limit}).status_code == 422


def test_the_buffer_of_an_unknown_conversation_is_not_found(client, name):
    assert client.get(f"/v1/conversations/{name}/buffer").status_code == 404


def test_the_first_write_of_a_user_s_key_makes_a_session_of_that_user(keyed_service):
    tenant = f"t-{uuid4().hex}"
    with keyed_service.client(keyed_service.make_key(tenant, "agent", "bot", "ann")) as client:
        assert client.put("/working-memory/notes", json={"data": {"a": 1}}).status_code == 200
        assert client.get("/v1/conversations/notes").json()["user"] == "ann"
