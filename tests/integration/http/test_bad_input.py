"""Bad input gets a 4xx that names the field, and nothing is stored."""

import json
import socket
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest

from keepword.transcript.page import make_cursor
from patience import HANG_SECONDS

MIB = 1024 * 1024
MESSAGE = {"role": "user", "content": "hello"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def conversation(client):
    """A conversation that is still as it was when the test is over."""
    path = f"/v1/conversations/{uuid4().hex}"
    made = client.put(path, json={"title": "as made", "settings": {"a": 1}})
    assert made.status_code == 201
    yield path
    assert client.get(path).json() == made.json()
    assert client.get(f"{path}/messages").json()["messages"] == []


def check_problem(response, status, field=None):
    """Check that this is a problem as RFC 9457 has it, with this status, about this field."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found["status"] == status
    assert found["title"]
    assert found["detail"]
    assert found["request_id"] == response.headers["x-request-id"]
    assert found.get("field") == field, found
    return found


def with_value(field, value):
    return json.dumps(MESSAGE | {field: value})


@pytest.mark.parametrize(
    "body",
    [
        "",
        " ",
        "{",
        "nonsense",
        '{"role": "user", "content": "x",}',
        '{"role": "user" "content": "x"}',
        "{'role': 'user'}",
        '[{"role": "user", "content": "x"}',
        '{"role": "user", "content": "x"} trailing',
        '{"role": "user", "content": "line\nbreak"}',
        '{"role": "user", "content": "raw \x00 nul"}',
        b'{"role": "user", "content": "\xff\xfe"}',
        b"\xff\xfe{\x00}\x00",
        '{"role": "user", "content": "\\ud800"}',
        '{"role": "user", "content": "\\udc00\\ud800"}',
        '{"role": "user", "content": "x", "metadata": {"\\ud800": 1}}',
        '{"role": "user", "content": "x", "tool_args": [[{"a": "\\udfff"}]]}',
        b'{"role": "user", "content": "\xed\xa0\x80"}',
        '{"role": "user", "content": "x", "tool_args": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"role": "user", "content": "x", "tool_args": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}",
        "[" * 100_000,
    ],
)
def test_what_is_not_json_is_refused(client, conversation, body):
    check_problem(client.post(f"{conversation}/messages", content=body, headers=JSON), 400)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('"text"', "body"),
        ("1", "body"),
        ("null", "body"),
        ("[1]", "0"),
        ("[null]", "0"),
        ("[[]]", "0"),
        ("{}", "role"),
        ('{"role": "user"}', "body"),
        ('{"content": "x"}', "role"),
        (with_value("role", "robot"), "role"),
        (with_value("role", None), "role"),
        (with_value("role", "User"), "role"),
        (with_value("role", 1), "role"),
        (with_value("content", 1), "content"),
        (with_value("content", ["x"]), "content"),
        (with_value("content", {"text": "x"}), "content"),
        (with_value("user", 5), "user"),
        (with_value("user", ""), "user"),
        (with_value("user", "a/b"), "user"),
        (with_value("user", " a"), "user"),
        (with_value("user", "x" * 201), "user"),
        (with_value("agent", "not:an agent"), "agent"),
        (with_value("agent", "x" * 101), "agent"),
        (with_value("agent", "a\n"), "agent"),
        (with_value("tool_name", ""), "tool_name"),
        (with_value("tool_name", "x" * 201), "tool_name"),
        (with_value("attachments", {}), "attachments"),
        (with_value("attachments", None), "attachments"),
        (with_value("attachments", [1] * 1001), "attachments"),
        (with_value("metadata", []), "metadata"),
        (with_value("metadata", "x"), "metadata"),
        (with_value("event_id", ""), "event_id"),
        (with_value("event_id", 7), "event_id"),
        (with_value("event_id", "x" * 201), "event_id"),
        (with_value("created_at", "yesterday"), "created_at"),
        (with_value("created_at", "body"), "created_at"),
        (with_value("created_at", 1700000000), "created_at"),
        (with_value("created_at", True), "created_at"),
        (with_value("created_at", "1700000000"), "created_at"),
        (with_value("created_at", "2024-01-01T00:00:00"), "created_at"),
        (with_value("created_at", "2024-01-01"), "created_at"),
        (with_value("created_at", "2023-02-29T00:00:00Z"), "created_at"),
        (with_value("created_at", "0000-01-01T00:00:00Z"), "created_at"),
        (with_value("created_at", "0001-01-01T00:00:00Z"), "created_at"),
        (with_value("created_at", "9999-12-31T23:59:59Z"), "created_at"),
        (with_value("created_at", "10000-01-01T00:00:00Z"), "created_at"),
        (with_value("created_at", "infinity"), "created_at"),
        (with_value("unknown", 1), "unknown"),
        (with_value("id", "6d5cfacb-da49-4676-b5f0-49503dd422c3"), "id"),
        (with_value("seq", 1), "seq"),
        (with_value("tenant_id", "6d5cfacb-da49-4676-b5f0-49503dd422c3"), "tenant_id"),
        (json.dumps([MESSAGE, MESSAGE | {"role": "robot"}]), "1.role"),
        (json.dumps([MESSAGE] * 999 + [MESSAGE | {"extra": 1}]), "999.extra"),
        (json.dumps({"message": [MESSAGE]}), "role"),
        ("[]", "body"),
        (json.dumps([MESSAGE] * 1001), "body"),
        (json.dumps(MESSAGE | {"role": "assistant", "user": "u"}), "body"),
    ],
)
def test_a_message_of_the_wrong_shape_is_refused_with_its_field(client, conversation, body, field):
    found = check_problem(client.post(f"{conversation}/messages", content=body, headers=JSON), 422, field)
    assert len(found["detail"]) < 500


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"content": "a\0b"}, "content"),
        ({"content": "\0"}, "content"),
        ({"tool_result": "\0"}, "tool_result"),
        ({"tool_name": "\0"}, "tool_name"),
        ({"event_id": "e\0"}, "event_id"),
        ({"metadata": {"a\0": 1}}, "metadata.(a key)"),
        ({"metadata": {"a": {"b": ["c", {"d": "\0"}]}}}, "metadata.a.b.1.d"),
        ({"tool_args": "\0"}, "tool_args"),
        ({"tool_args": {"x": {"\0": 1}}}, "tool_args.x.(a key)"),
        ({"attachments": [{"name": "\0"}]}, "attachments.0.name"),
    ],
)
def test_a_nul_character_is_refused_wherever_it_hides(client, conversation, values, field):
    check_problem(client.post(f"{conversation}/messages", json=MESSAGE | values), 422, field)
    batch = [MESSAGE, MESSAGE | values]
    check_problem(client.post(f"{conversation}/messages", json=batch), 422, f"1.{field}")


def test_an_escaped_backslash_before_u0000_is_no_nul(client):
    path = f"/v1/conversations/{uuid4().hex}"
    client.put(path, json={})
    text = "a\\u0000b"
    assert client.post(f"{path}/messages", json=MESSAGE | {"content": text}).status_code == 201
    assert client.get(f"{path}/messages").json()["messages"][0]["content"] == text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
@pytest.mark.parametrize("field", ["tool_args", "metadata", "attachments"])
@pytest.mark.parametrize("event_id", [None, "e"])
def test_numbers_that_json_does_not_know_are_refused(client, conversation, number, field, event_id):
    value = {"tool_args": '{"a": [%s]}', "metadata": '{"a": %s}', "attachments": "[%s]"}[field] % number
    event = f', "event_id": "{event_id}"' if event_id else ""
    body = f'{{"role": "user", "content": "x", "{field}": {value}{event}}}'
    response = client.post(f"{conversation}/messages", content=body, headers=JSON)
    assert response.status_code in {400, 422}, response.text
    assert field in response.text or response.status_code == 400
    found = client.patch(conversation, content=f'{{"settings": {{"a": {number}}}}}', headers=JSON)
    assert found.status_code in {400, 422}, found.text


@pytest.mark.parametrize("digits", [4301, 10_000, 200_000])
@pytest.mark.parametrize("event_id", [None, "e"])
def test_integers_that_no_one_can_hold_are_refused(client, conversation, digits, event_id):
    event = f', "event_id": "{event_id}"' if event_id else ""
    body = f'{{"role": "user", "content": "x", "tool_args": {"9" * digits}{event}}}'
    response = client.post(f"{conversation}/messages", content=body, headers=JSON)
    assert response.status_code in {400, 413, 422}, response.text


def test_large_integers_come_back_exactly(client):
    path = f"/v1/conversations/{uuid4().hex}"
    client.put(path, json={})
    sent = [2**63, -(2**64), 10**400, 0.1, 1.5e15, 5e-324, True, None, ""]
    assert client.post(f"{path}/messages", json=MESSAGE | {"tool_args": sent, "event_id": "e"}).status_code == 201
    assert client.get(f"{path}/messages").json()["messages"][0]["tool_args"] == sent


@pytest.mark.parametrize("field", ["content", "tool_result"])
@pytest.mark.parametrize("text", ["x" * (MIB + 1), "é" * (MIB // 2 + 1), "🙂" * (MIB // 4 + 1)])
def test_text_over_a_mebibyte_is_too_large(client, conversation, field, text):
    check_problem(client.post(f"{conversation}/messages", json=MESSAGE | {field: text}), 413, field)
    check_problem(client.post(f"{conversation}/messages", json=[MESSAGE, MESSAGE | {field: text}]), 413, f"1.{field}")


@pytest.mark.parametrize("text", ["x" * MIB, "🙂" * (MIB // 4)])
def test_text_of_exactly_a_mebibyte_is_kept(client, text):
    path = f"/v1/conversations/{uuid4().hex}"
    client.put(path, json={})
    assert client.post(f"{path}/messages", json=MESSAGE | {"content": text}).status_code == 201
    assert client.get(f"{path}/messages").json()["messages"][0]["content"] == text


def connect(service):
    address = urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port), timeout=HANG_SECONDS)


def head(path, *lines):
    start = f"POST {path}/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return (start + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode()


def read_answer(conn):
    found = b""
    while b"\r\n\r\n" not in found and (got := conn.recv(65536)):
        found += got
    return found


def test_a_body_announced_as_too_large_is_refused_before_it_is_sent(service, conversation):
    with connect(service) as conn:
        conn.sendall(head(conversation, f"Content-Length: {8 * MIB + 1}"))
        answer = read_answer(conn)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in answer


def test_a_chunked_body_is_refused_once_it_is_too_large(service, conversation):
    chunk = b"%x\r\n%b\r\n" % (MIB, b" " * MIB)
    sent = 0
    with connect(service) as conn:
        conn.sendall(head(conversation, "Transfer-Encoding: chunked"))
        conn.settimeout(0.001)
        answer = b""
        while not answer and sent < 64:
            conn.settimeout(HANG_SECONDS)
            conn.sendall(chunk)
            sent += 1
            conn.settimeout(0.01)
            try:
                answer = read_answer(conn)
            except TimeoutError:
                answer = b""
    assert answer.startswith(b"HTTP/1.1 413 "), sent
    assert 8 < sent < 16


def test_the_rest_of_a_refused_body_is_not_read(service, conversation):
    with connect(service) as conn:
        conn.sendall(head(conversation, f"Content-Length: {1024 * MIB}"))
        assert read_answer(conn).startswith(b"HTTP/1.1 413 ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            conn.sendall(b" " * (64 * MIB))


def test_an_ordinary_client_that_sends_too_much_is_told_so(client, conversation):
    check_problem(client.post(f"{conversation}/messages", content=b" " * (40 * MIB), headers=JSON), 413)


@pytest.mark.parametrize("length", ["-1", "x", "1_000", "１", "99999999999999999999999999"])  # noqa: RUF001
def test_a_nonsensical_content_length_does_not_break_it(service, conversation, length):
    with connect(service) as conn:
        conn.sendall(head(conversation, f"Content-Length: {length}"))
        answer = read_answer(conn)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 ")), answer


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_another_content_type_is_refused(client, conversation, kind):
    body = json.dumps(MESSAGE)
    check_problem(client.post(f"{conversation}/messages", content=body, headers={"Content-Type": kind}), 415)
    check_problem(client.patch(conversation, content='{"title": "x"}', headers={"Content-Type": kind}), 415)
    missing = f"/v1/conversations/{uuid4().hex}"
    check_problem(client.put(missing, content="{}", headers={"Content-Type": kind}), 415)
    assert client.get(missing).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"unknown": 1}, "unknown"),
        ({"kind": "cave"}, "kind"),
        ({"kind": "room"}, "room"),
        ({"kind": "direct"}, "user"),
        ({"kind": "session", "room": "r"}, "room"),
        ({"title": 1}, "title"),
        ({"title": "x" * 1001}, "title"),
        ({"title": "\0"}, "title"),
        ({"settings": None}, "settings"),
        ({"settings": [1]}, "settings"),
        ({"settings": {"a": {"\0": 1}}}, "settings.a.(a key)"),
        ({"active": "yes"}, "active"),
        ({"active": None}, "active"),
        ({"channel": None}, "channel"),
        ({"channel": ""}, "channel"),
        ({"agent": "a:b"}, "agent"),
        ({"user": "a\0"}, "user"),
    ],
)
def test_a_conversation_of_the_wrong_shape_is_not_made(client, body, field):
    path = f"/v1/conversations/{uuid4().hex}"
    check_problem(client.put(path, json=body), 422, field)
    check_problem(client.get(path), 404)


@pytest.mark.parametrize("body", [{"title": 1}, {"kind": "room"}, {"settings": None}, {"active": 1}, {"title": "\0"}])
def test_a_bad_change_changes_nothing(client, conversation, body):
    check_problem(client.patch(conversation, json=body), 422, next(iter(body)))


@pytest.mark.parametrize("body", [{"user": "nobody-here"}, {"project": "none"}, {"room": "none"}])
def test_a_place_that_is_not_there_is_not_found(client, body):
    path = f"/v1/conversations/{uuid4().hex}"
    check_problem(client.put(path, json=body), 404)
    check_problem(client.get(path), 404)


def test_a_conversation_does_not_change_its_place(client, conversation):
    check_problem(client.put(conversation, json={"agent": "other", "title": "changed"}), 409)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("limit=99999999999999999999999", "limit"),
        ("limit=1.5", "limit"),
        ("order=up", "order"),
        ("unknown=1", "unknown"),
        ("limit=5&offset=5", "offset"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=%ff", "cursor"),
        ("cursor=" + "A" * 101, "cursor"),
        ("cursor=" + "A" * 22, "cursor"),
        ("cursor=AH__________AAAAAAAAAAE", "cursor"),
        ("cursor=é", "cursor"),
        ("cursor=6d5cfacb-da49-4676-b5f0-49503dd422c3", "cursor"),
        ("since=yesterday", "since"),
        ("since=1700000000", "since"),
        ("before=0.5", "before"),
        ("since=2024-01-01T25:00:00", "since"),
        ("since=0001-01-01T00:00:00Z", "since"),
        ("before=9999-12-31T00:00:00Z", "before"),
        ("before=2024-01-01T00:00:00%2B99:00", "before"),
        ("since=2024-01-01T00:00:00Z&before=2024-01-01T00:00:00Z", "since"),
        ("since=2024-01-02T00:00:00Z&before=2024-01-01T00:00:00Z", "since"),
        ("since=2024-01-01T00:00:00Z&before=2024-01-01T00:30:00%2B01:00", "since"),
    ],
)
def test_a_bad_query_is_refused_with_its_field(client, conversation, query, field):
    check_problem(client.get(f"{conversation}/messages?{query}"), 422, field)


@pytest.mark.parametrize("field", ["actor", "action"])
def test_a_filter_of_the_audit_with_a_nul_is_refused_with_its_field(client, field):
    check_problem(client.get(f"/v1/audit?{field}=a%00b"), 422, field)


LISTS = ("conversations", "users", "agents", "rooms", "projects")


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "order=asc", "cursor=", "cursor=%00", "cursor=" + "A" * 401])
@pytest.mark.parametrize("things", LISTS)
def test_a_bad_query_of_a_list_is_refused_with_its_field(client, things, query):
    check_problem(client.get(f"/v1/{things}?{query}"), 422, query.partition("=")[0])


@pytest.mark.parametrize("cursor", ["x", "%ff", "MjAyNA", "A" * 40, "MjAyNC0wMS0wMSBub3QtYW4taWQ"])
def test_a_bad_cursor_of_the_conversations_is_refused(client, cursor):
    check_problem(client.get(f"/v1/conversations?cursor={cursor}"), 422, "cursor")


@pytest.mark.parametrize(
    "name", ["a%00b", "%00", "a%0Ab", "%20a", "a%20", "%C2%A0", "%ff", "%ed%a0%80", "x" * 201, "%e2%80%ae"]
)
def test_a_bad_external_id_in_the_path_is_refused(client, name):
    for response in (
        client.put(f"/v1/conversations/{name}", json={}),
        client.get(f"/v1/conversations/{name}"),
        client.patch(f"/v1/conversations/{name}", json={}),
        client.get(f"/v1/conversations/{name}/messages"),
        client.post(f"/v1/conversations/{name}/messages", json=MESSAGE),
    ):
        check_problem(response, 422, "external_id")
    for things, field in (("users", "user"), ("agents", "slug"), ("rooms", "room"), ("projects", "project")):
        check_problem(client.put(f"/v1/{things}/{name}", json={}), 422, field)


def raw_request(service, method, target, headers=(), body=""):
    """Send a target as it stands: clients tidy up what they are given."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", body]
    with connect(service) as conn:
        conn.sendall("\r\n".join(lines).encode("latin-1"))
        return read_answer(conn)


@pytest.mark.parametrize("name", ["a%2Fb", "%2E%2E", "..", ".", "%2e", "%2F", "..%2F..%2Fhealthz"])
def test_slashes_and_dots_lead_nowhere(service, name):
    json_body = ("Content-Type: application/json", "Content-Length: 2")
    found = raw_request(service, "GET", f"/v1/conversations/{name}")
    assert found.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 422 ")), found
    found = raw_request(service, "PUT", f"/v1/conversations/{name}", json_body, "{}")
    assert found.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 422 ", b"HTTP/1.1 405 ")), found


@pytest.mark.parametrize(
    "name",
    ["Grüße 世界",
     "🙂", "a:b", "session:x", "dm:u:a", "%", "%2F", "a?b#c", "{a,b}", '"quoted"', "a\\b", "..a",
     "x" * 200, "é" * 200, "🙂" * 200, "NULL", "a,b", "'"],
)  # fmt: skip
def test_odd_but_good_external_ids_are_kept_exactly(keyed_service, name):
    key = keyed_service.make_key(f"t-{uuid4().hex}")
    with keyed_service.client(key) as client:
        path = f"/v1/conversations/{quote(name, safe='')}"
        assert client.put(path, json={}).json()["external_id"] == name
        assert client.post(f"{path}/messages", json=MESSAGE).status_code == 201
        (read,) = client.get(f"{path}/messages").json()["messages"]
        assert read["conversation"] == name
        (listed,) = client.get("/v1/conversations").json()["conversations"]
        assert listed["external_id"] == name
        assert listed["run_id"] == f"session:{name}"


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "HEAD", "TRACE"])
def test_a_method_that_is_not_served_is_answered_405(client, conversation, method):
    response = client.request(method, conversation)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) >= {"GET", "PUT", "PATCH"}
    if method != "HEAD":
        check_problem(response, 405)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_messages_can_not_be_replaced_over_http(client, conversation, method):
    """A message is erased by its number, and by nothing else."""
    check_problem(client.request(method, f"{conversation}/messages", json=MESSAGE), 405)
    refusal = (422, "seq") if method == "DELETE" else (405,)
    check_problem(client.request(method, f"{conversation}/messages/{uuid4()}", json=MESSAGE), *refusal)


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/v2/conversations", "/favicon.ico", "/%00"])
def test_an_unknown_path_is_a_problem_too(client, path):
    check_problem(client.get(path), 404)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Keepword-User", ""),
        ("Keepword-User", "a/b"),
        ("Keepword-User", "a%00b"),
        ("Keepword-User", "%0Ax"),
        ("Keepword-User", "%ff"),
        ("Keepword-User", "%ed%a0%80"),
        ("Keepword-User", "x" * 201),
        ("Keepword-User", ".."),
        ("Keepword-Agent", ""),
        ("Keepword-Agent", "a:b"),
        ("Keepword-Agent", "a/b"),
        ("Keepword-Agent", "%20a"),
        ("Keepword-Agent", "a%0Ab"),
        ("Keepword-Agent", ".."),
        ("Keepword-Agent", "%ff"),
        ("Keepword-Agent", "x" * 101),
    ],
)
def test_a_bad_header_is_refused_by_its_name(client, conversation, name, value):
    check_problem(client.get(conversation, headers={name: value}), 422, name)
    check_problem(client.post(f"{conversation}/messages", json=MESSAGE, headers={name: value}), 422, name)


def test_raw_bytes_in_a_header_are_refused_and_percent_encoding_is_read(client):
    client.put("/v1/users/Zo%C3%AB", json={})
    made = client.put(f"/v1/conversations/{uuid4().hex}", json={}, headers={"Keepword-User": "Zo%C3%AB"})
    assert made.json()["user"] == "Zoë"
    for raw in ("Zoë".encode(), "Zoë".encode("latin-1"), b"\xff"):
        response = client.get("/v1/conversations", headers=[(b"Keepword-User", raw)])
        check_problem(response, 422, "Keepword-User")


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Basic dXNlcjpwYXNz", "Bearer x", "kw_0",
     "Bearer kw_0000000000000000_" + "A" * 43, "Bearer \xff", "Bearer kw_" + "0" * 10_000],
)  # fmt: skip
def test_a_header_that_holds_no_good_key_is_unauthenticated_even_where_none_is_needed(client, conversation, value):
    response = client.get(conversation, headers=[(b"Authorization", value.encode("latin-1"))])
    assert check_problem(response, 401)["title"] == "Unauthorized"
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "é", "a;b"])
def test_a_bad_request_id_is_replaced(client, sent):
    found = client.get("/healthz", headers=[(b"X-Request-Id", sent.encode())]).headers["x-request-id"]
    assert found != sent
    assert found.isalnum()


@pytest.mark.parametrize("number", ["not-a-uuid", "00000000-0000-0000-0000-000000000000", "%00"])
def test_what_exists_nowhere_is_not_found_or_refused(client, number):
    assert client.get(f"/v1/conversations/{number}").status_code in {404, 422}
    assert client.get(f"/v1/conversations/{number}/messages").status_code in {404, 422}


def test_another_tenants_conversation_looks_exactly_like_none(keyed_service):
    mine, theirs = (keyed_service.make_key(f"t-{uuid4().hex}") for _ in range(2))
    taken, free = "the-same-length-1", "the-same-length-2"
    with keyed_service.client(theirs) as client:
        assert client.put(f"/v1/conversations/{taken}", json={"title": "secret"}).status_code == 201
        assert client.post(f"/v1/conversations/{taken}/messages", json=MESSAGE).status_code == 201

    def answers(client, name):
        path = f"/v1/conversations/{name}"
        for response in (
            client.get(path),
            client.patch(path, json={"title": "x"}),
            client.get(f"{path}/messages"),
            client.post(f"{path}/messages", json=MESSAGE),
            client.put(f"/v1/projects/p/members/conversations/{name}"),
        ):
            assert response.status_code == 404
            body = response.content.replace(name.encode(), b"NAME")
            yield body.replace(response.headers["x-request-id"].encode(), b"ID")

    with keyed_service.client(mine, **{"X-Request-Id": "fixed"}) as client:
        client.put("/v1/projects/p", json={})
        assert list(answers(client, taken)) == list(answers(client, free))
        assert client.get("/v1/conversations").json()["conversations"] == []
        assert client.put(f"/v1/conversations/{taken}", json={}).status_code == 201
    with keyed_service.client(theirs) as client:
        assert client.get(f"/v1/conversations/{taken}").json()["title"] == "secret"
        assert len(client.get(f"/v1/conversations/{taken}/messages").json()["messages"]) == 1


def test_a_made_up_cursor_gets_an_answer_and_no_trace(client, conversation):
    for tie in (0, 2**63 - 1, 2**63, 2**128 - 1):
        cursor = make_cursor((datetime(2020, 1, 1, tzinfo=UTC), tie), turned=False)
        for order in ("asc", "desc"):
            response = client.get(f"{conversation}/messages", params={"cursor": cursor, "order": order})
            assert response.status_code in {200, 422}, response.text


@pytest.mark.parametrize("field", ["tool_args", "attachments", "metadata"])
def test_json_over_a_mebibyte_is_refused(client, conversation, field):
    value = {"tool_args": "x" * MIB, "attachments": ["x" * MIB], "metadata": {"a": "x" * MIB}}[field]
    check_problem(client.post(f"{conversation}/messages", json=[MESSAGE, MESSAGE | {field: value}]), 413, f"1.{field}")


def test_settings_are_small_and_hold_numbers_that_json_knows(client, conversation):
    check_problem(client.patch(conversation, json={"settings": {"a": "x" * 65536}}), 413, "settings")
    response = client.patch(conversation, content='{"settings": {"a": 1e400}}', headers=JSON)
    check_problem(response, 422, "settings")


@pytest.mark.parametrize("name", ["Keepword-User", "Keepword-Agent"])
def test_a_header_that_says_who_acts_is_sent_once(client, conversation, name):
    check_problem(client.get(conversation, headers=[(name, "a"), (name, "b")]), 422, name)


def test_two_keys_are_none(client, conversation):
    two = [("Authorization", "Bearer a"), ("Authorization", "Bearer b")]
    assert client.get(conversation, headers=two).status_code == 401


def test_a_cursor_of_another_list_is_refused(client, conversation):
    when = datetime(2020, 1, 1, tzinfo=UTC)
    across = make_cursor((when, 1), turned=False, across=True)
    check_problem(client.get(f"{conversation}/messages", params={"cursor": across}), 422, "cursor")
    within = make_cursor((when, 1), turned=False)
    check_problem(client.get("/v1/browse", params={"cursor": within}), 422, "cursor")


def test_a_tool_s_empty_result_is_kept(client):
    path = f"/v1/conversations/{uuid4().hex}"
    client.put(path, json={})
    assert client.post(f"{path}/messages", json={"role": "tool", "tool_result": ""}).status_code == 201
