"""Who asks at the wrong door is told the right one: the root, unknown paths, wrong methods, unknown fields."""

import re
from pathlib import Path
from uuid import uuid4

import pytest

ROOT = Path(__file__).parents[3]
MESSAGE = {"role": "user", "content": "We fly on Friday."}


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def conversation(client):
    path = f"/v1/conversations/{uuid4().hex}"
    assert client.put(path, json={}).status_code == 201
    return path


def detail_of(response, status):
    assert response.status_code == status, response.text
    return response.json()["detail"]


def test_the_root_tells_a_program_where_to_look(client):
    found = client.get("/")
    assert found.headers["content-type"] == "application/json"
    told = found.json()
    assert (told["name"], told["routes"], told["openapi"]) == ("Keepword", "/docs", "/openapi.json")
    for path in (told["routes"], told["openapi"], told["health"], told["ready"]):
        assert client.get(path).status_code == 200
    for page in told["pages"].values():
        assert (ROOT / page).is_file()


def test_the_root_shows_a_browser_a_page_of_its_own(client):
    found = client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert found.headers["content-type"].startswith("text/html")
    assert found.headers["vary"] == "Accept"
    links = re.findall(r'(?:href|src)="([^"]*)"', found.text)
    assert {"/docs", "/openapi.json", "/healthz"} <= set(links)
    assert all(link.startswith("/") or link == "data:," for link in links)
    assert "docs/quickstart.md" in found.text


def test_the_root_needs_no_key(keyed_service):
    with keyed_service.client() as client:
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/memory", "did you mean /v1/memories?"),
        ("/v1/conversation/demo", "did you mean /v1/conversations/demo?"),
        ("/v1/conversations/demo/message", "did you mean /v1/conversations/demo/messages?"),
        ("/v1/serach", "did you mean /v1/search?"),
        ("/conversations/demo", "did you mean /v1/conversations/demo?"),
        ("/search", "did you mean /v1/search?"),
        ("/health", "did you mean /healthz?"),
        ("/api/v1/search", "did you mean /v1/search?"),
        ("/v2/search", "did you mean /v1/search?"),
        ("/v1/search/", "no path here ends with a slash: /v1/search"),
        ("/v1//search", "did you mean /v1/search?"),
        ("/v1/conversations/a%2Fb", "an id holds no slash, written as %2F or not"),
        ("/v1/agents/helper/files/..%2Fx", "an id holds no slash, written as %2F or not"),
        ("/favicon.ico", "every route is described at /docs"),
    ],
)
def test_an_unknown_path_is_told_where_to_look(client, path, said):
    found = client.request("GET", path)
    detail = detail_of(found, 404)
    assert found.headers["content-type"] == "application/problem+json"
    assert detail.startswith("no route ")
    assert said in detail
    assert "/docs" in detail


def test_an_unknown_path_is_answered_at_once_however_long_it_is(client):
    path = "/v1/" + "/".join(["conversation" * 20] * 150)
    assert len(detail_of(client.get(path), 404)) < 400


def test_a_wrong_method_is_told_which_there_are(client):
    found = client.delete("/v1/rooms/hall")
    assert found.headers["allow"] == "GET, PUT"
    assert detail_of(found, 405) == "DELETE is not served at /v1/rooms/{room}, but GET and PUT are; see /docs"
    assert "POST" in detail_of(client.get("/v1/search"), 405)


def test_messages_may_come_in_an_object(client, conversation):
    stored = client.post(f"{conversation}/messages", json={"messages": [MESSAGE, MESSAGE | {"event_id": "e"}]})
    assert stored.status_code == 201, stored.text
    assert [message["seq"] for message in stored.json()["messages"]] == [1, 2]
    one = client.post(f"{conversation}/messages", json=MESSAGE | {"metadata": {"messages": [1]}})
    assert one.status_code == 201, one.text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [MESSAGE] * 1001}, "messages"),
        ({"messages": [MESSAGE, {"role": "human", "content": "x"}]}, "messages.1.role"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [MESSAGE], "user": "alice"}, "user"),
        (MESSAGE | {"messages": [MESSAGE]}, "messages"),
    ],
)
def test_an_object_of_messages_is_refused_as_a_whole(client, conversation, body, field):
    found = client.post(f"{conversation}/messages", json=body)
    assert (found.status_code, found.json()["field"]) == (422, field), found.text
    assert client.get(conversation).json()["message_count"] == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": "x", "top_k": 5}, "top_k: unknown field; did you mean limit? There are: query, conversation, reach"),
        ({"query": "x", "limt": 5}, "limt: unknown field; did you mean limit?"),
        ({"query": "x", "user_id": "a"}, "user_id: unknown field; did you mean user?"),
        ({"query": "x", "session_id": "a"}, "session_id: unknown field; did you mean conversation?"),
        ({"query": "x", "zzz": 5}, "zzz: unknown field; there are: query, conversation, reach, mode"),
        ({"query": "x", "synthesise": True}, "did you mean synthesize?"),
        ({"q": "x"}, "query: Field required; q: unknown field; did you mean query?"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "; and 2 more"),
    ],
)
def test_an_unknown_field_is_told_which_there_are(client, body, said):
    assert said in detail_of(client.post("/v1/search", json=body), 422)


def test_an_unknown_field_of_a_message_is_told_which_there_are(client, conversation):
    messages = [MESSAGE, MESSAGE | {"timestamp": "2026-11-16T00:00:00Z"}]
    for body, field in ((messages, "1.timestamp"), ({"messages": messages}, "messages.1.timestamp")):
        found = client.post(f"{conversation}/messages", json=body)
        said = f"{field}: unknown field; did you mean created_at? There are: role, content, user"
        assert detail_of(found, 422).startswith(said)


def test_an_unknown_parameter_is_told_which_there_are(client, conversation):
    found = client.get(f"{conversation}/messages?top_k=5")
    assert detail_of(found, 422).startswith("top_k: unknown parameter; did you mean limit? There are: limit, order")


def test_an_empty_body_is_called_empty(client):
    found = client.put(f"/v1/conversations/{uuid4().hex}")
    assert detail_of(found, 400) == "the body is empty; JSON is wanted here, at least {}"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"query": None}, "(got null)"),
        ({"query": {"a": True}}, '(got {"a": true})'),
        ({"query": "x", "mode": "fuzzy"}, "(got 'fuzzy')"),
        ({"query": "x", "since": "0001-01-01T00:00:00Z"}, "(got "),
    ],
)
def test_a_value_is_shown_as_it_was_sent(client, body, shown):
    detail = detail_of(client.post("/v1/search", json=body), 422)
    assert shown in detail
    assert "datetime" not in detail
