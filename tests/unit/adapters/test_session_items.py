"""What a session of the OpenAI Agents SDK puts in comes back as it was, and its text is found."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from keepword.adapters.session_items import ITEM, to_item, to_message
from keepword.model import Message

ITEMS = [
    {"role": "user", "content": "We fly on Friday."},
    {"role": "assistant", "content": "  Noted.\n"},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": ""},
    {"role": "user",
     "content": [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "x"}]},
    {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "A boat.", "annotations": []}]},
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Lisbon"}'},
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "no JSON"},
    {"type": "function_call_output", "call_id": "c1", "output": "Sunny."},
    {"type": "function_call_output", "call_id": "c1", "output": {"sky": None, "wind": 1.5}},
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "item_reference", "id": "x"},
    {"content": "no role"},
    {},
]  # fmt: skip


def stored(sent) -> Message:
    """Return the message as the service gives it back."""
    has = {"content": "", "tool_name": None, "tool_args": None, "tool_result": None, "attachments": [], "metadata": {}}
    now = datetime(2026, 1, 31, tzinfo=UTC)
    return Message(
        id=UUID(int=1), conversation="c", seq=1, user=None, agent=None, event_id=None, created_at=now,
        **(has | json.loads(json.dumps(sent))),
    )  # fmt: skip


@pytest.mark.parametrize("item", ITEMS, ids=map(str, range(len(ITEMS))))
def test_an_item_comes_back_as_it_was(item):
    assert to_item(stored(to_message(item))) == item


def test_texts_calls_and_results_are_what_they_are_in_a_transcript():
    sent = [{name: value for name, value in to_message(item).items() if name != "metadata"} for item in ITEMS]
    assert sent[0] == {"role": "user", "content": "We fly on Friday."}
    assert sent[2] == {"role": "system", "content": "Be kind."}
    assert sent[4] == {"role": "user", "content": "What is this?"}
    assert sent[5] == {"role": "assistant", "content": "A boat."}
    assert sent[7] == {"role": "assistant", "tool_name": "weather", "tool_args": {"city": "Lisbon"}}
    assert sent[9] == {"role": "tool", "tool_result": "Sunny."}
    assert sent[11] == {"role": "assistant", "attachments": [{"type": "reasoning"}]}


def test_a_plain_item_is_stored_once():
    assert "metadata" not in to_message(ITEMS[0])
    assert ITEM in to_message(ITEMS[5])["metadata"]


def test_messages_of_others_are_items_where_they_have_a_text():
    assert to_item(stored({"role": "user", "content": "Hello."})) == {"role": "user", "content": "Hello."}
    assert to_item(stored({"role": "assistant", "tool_name": "weather"})) is None
    assert to_item(stored({"role": "tool", "tool_result": "Sunny."})) is None


def test_what_is_no_json_is_refused_before_it_is_sent():
    with pytest.raises(TypeError):
        to_message({"role": "user", "content": object()})
