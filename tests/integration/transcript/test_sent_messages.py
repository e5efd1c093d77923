"""Messages as people really send them: parts, tool calls, JSON results, times that are wrong, ids with a slash."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
# what the OpenAI SDK's own model_dump() of an answer has
DUMPED = {
    "role": "assistant", "content": None, "refusal": None, "annotations": [], "audio": None, "function_call": None,
    "tool_calls": [CALL],
}  # fmt: skip


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def conversation(client):
    name = f"c-{uuid4().hex}"
    assert client.put(f"/v1/conversations/{name}", json={}).status_code == 201
    return f"/v1/conversations/{name}"


def stored(client, conversation):
    return client.get(f"{conversation}/messages").json()["messages"]


def test_parts_are_stored_as_text_and_attachments_and_the_text_is_found(client, conversation):
    parts = [
        {"type": "text", "text": "The quokka on the picture is called Albert."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert client.post(f"{conversation}/messages", json={"role": "user", "content": parts}).status_code == 201
    (message,) = stored(client, conversation)
    assert message["content"] == parts[0]["text"]
    assert message["attachments"] == [{"type": "image_url", "media_type": "image/png", "bytes": 3}]
    body = {"query": "quokka Albert", "conversation": conversation.rpartition("/")[2]}
    assert client.post("/v1/search", json=body).json()["results"][0]["id"] == message["id"]


def test_an_answer_with_tool_calls_is_stored_as_the_sdk_dumps_it(client, conversation):
    second = CALL | {"id": "call_2"}
    sent = [
        DUMPED | {"tool_calls": [CALL, second], "event_id": "turn-1"},
        {"role": "tool", "tool_call_id": "call_2", "content": "rain"},
    ]
    answer = client.post(f"{conversation}/messages", json={"messages": sent})
    assert answer.status_code == 201, answer.text
    # one receipt for each message that was sent
    assert [receipt["seq"] for receipt in answer.json()["messages"]] == [1, 3]
    first, other, result = stored(client, conversation)
    assert [first["tool_name"], first["tool_args"]] == ["weather", {"city": "Oslo"}]
    assert [one["metadata"] for one in (first, other, result)] == [
        {"tool_call_id": "call_1"}, {"tool_call_id": "call_2"}, {"tool_call_id": "call_2"},
    ]  # fmt: skip
    assert [result["tool_name"], result["tool_result"], result["content"]] == ["weather", "rain", ""]
    again = client.post(f"{conversation}/messages", json=sent[:1])
    assert again.status_code == 200
    assert [one["duplicate"] for one in again.json()["messages"]] == [True]
    other_words = DUMPED | {"tool_calls": [CALL, CALL | {"id": "call_3"}], "event_id": "turn-1"}
    assert client.post(f"{conversation}/messages", json=other_words).status_code == 409
    assert len(stored(client, conversation)) == 3


@pytest.mark.parametrize(
    ("result", "text"), [({"ok": [1, None]}, '{"ok": [1, null]}'), ("plain", "plain"), (42, "42"), (False, "false")]
)
def test_a_result_may_be_any_json(client, conversation, result, text):
    message = {"role": "tool", "tool_name": "t", "tool_result": result}
    assert client.post(f"{conversation}/messages", json=message).status_code == 201
    assert stored(client, conversation)[0]["tool_result"] == text


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "user", "content": 42}, "content"),
        ({"role": "user", "content": [{"text": "no type"}]}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": ""}]}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": 7}]}, "content.0.text"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "tool_calls.0"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "role"),
        ({"role": "assistant", "function_call": {"name": "x"}}, "function_call"),
    ],
)
def test_what_is_wrong_is_named(client, conversation, message, field):
    for body, prefix in ((message, ""), ([message], "0."), ({"messages": [message]}, "messages.0.")):
        answer = client.post(f"{conversation}/messages", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == f"{prefix}{field}"
        assert answer.json()["detail"].startswith(f"{prefix}{field}"[:9])
    assert stored(client, conversation) == []


def test_texts_of_parts_are_as_long_as_a_content_may_be(client, conversation):
    half = {"type": "text", "text": "a" * 600_000}
    answer = client.post(f"{conversation}/messages", json={"role": "user", "content": [half, half]})
    assert answer.status_code == 413
    assert answer.json()["detail"] == "content: 1200001 bytes; at most 1048576"


def test_a_time_more_than_a_day_ahead_is_refused_but_in_an_admins_import(keyed_service):
    tenant = f"ahead-{uuid4().hex[:8]}"
    soon = (datetime.now(UTC) + timedelta(hours=23)).isoformat()
    late = (datetime.now(UTC) + timedelta(hours=25)).isoformat()
    with (
        keyed_service.client(keyed_service.make_key(tenant)) as admin,
        keyed_service.client(keyed_service.make_key(tenant, "agent", "ada")) as ada,
    ):
        assert admin.put("/v1/conversations/c", json={"agent": "ada"}).status_code == 201
        path, message = "/v1/conversations/c/messages", {"role": "assistant", "content": "Hi."}
        assert ada.post(path, json=message | {"created_at": soon}).status_code == 201
        refused = ada.post(path, json=[message, message | {"created_at": late}])
        assert refused.status_code == 422
        assert refused.json()["field"] == "messages.1.created_at"
        assert "more than a day ahead" in refused.json()["detail"]
        assert admin.post(path, json=message | {"created_at": late}).status_code == 422
        assert ada.post(f"{path}?import=true", json=message | {"created_at": late}).status_code == 403
        assert admin.post(f"{path}?import=true", json=message | {"created_at": late}).status_code == 201
        assert len(admin.get(path).json()["messages"]) == 2


def test_an_id_with_a_slash_is_said_to_be_wrong(client):
    for path in ("/v1/conversations/a%2Fb", "/v1/conversations/a%2Fb/messages"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "an id holds no slash" in answer.json()["detail"]
    answer = client.post("/v1/search", json={"query": "x", "conversation": "a/b"})
    assert answer.status_code == 422
    assert "may not hold a slash" in answer.json()["detail"]
