"""The transcript as a caller sees it, over real HTTP and a real database."""

from uuid import uuid4

import pytest


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def conversation(client):
    name = f"c-{uuid4().hex}"
    assert client.put(f"/v1/conversations/{name}", json={}).status_code == 201
    return f"/v1/conversations/{name}"


def test_what_is_appended_is_read_back_word_for_word(client, conversation):
    message = {
        "role": "assistant",
        "content": "  Grüße, 世界 🙂\n\ttabs stay ",
        "tool_name": "lookup",
        "tool_args": {"b": [1, 2.5, None, True], "a": {"deep": "värde"}},
        "tool_result": "ok",
        "attachments": [{"name": "a.txt"}],
        "metadata": {"k": "v"},
        "event_id": "e1",
        "created_at": "2020-02-29T12:34:56.789012+02:00",
    }
    stored = client.post(f"{conversation}/messages", json=message)
    assert stored.status_code == 201
    (read,) = client.get(f"{conversation}/messages").json()["messages"]
    assert read["id"] == stored.json()["messages"][0]["id"]
    assert {name: read[name] for name in message if name != "created_at"} == {
        name: value for name, value in message.items() if name != "created_at"
    }
    assert read["created_at"] == "2020-02-29T10:34:56.789012Z"
