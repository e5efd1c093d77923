"""Messages of the OpenAI and Anthropic APIs become drafts: texts, attachments, one tool call or result each."""

import base64

import pytest

from keepword.errors import InvalidInput
from keepword.model import Draft
from keepword.transcript.chat_formats import name_results, to_drafts

PIXEL = base64.b64encode(b"x" * 1000).decode()
WEATHER = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


def test_texts_are_kept_and_other_parts_become_attachments_with_type_and_size():
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"}},
        {"type": "text", "text": "And that?"},
    ]
    (draft,) = to_drafts(Draft("user", attachments=[{"type": "mine"}]), parts)
    assert draft.content == "What is this?\nAnd that?"
    assert draft.attachments == [
        {"type": "mine"},
        {"type": "image_url", "media_type": "image/png", "bytes": 1000},
        {"type": "image_url", "url": "https://example.org/a.png"},
        {"type": "input_audio", "bytes": 1000, "format": "wav"},
        {"type": "file", "name": "a.pdf", "media_type": "application/pdf", "bytes": 1000},
    ]


def test_anthropics_sources_become_attachments_too():
    parts = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": PIXEL}},
        {"type": "document", "title": "Notes", "source": {"type": "text", "media_type": "text/plain", "data": "héllo"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_9"}},
        {"type": "something_new", "number": 1},
    ]
    (draft,) = to_drafts(Draft("user"), parts)
    assert draft.content == ""
    assert draft.attachments == [
        {"type": "image", "media_type": "image/jpeg", "bytes": 1000},
        {"type": "document", "name": "Notes", "media_type": "text/plain", "bytes": 6},
        {"type": "document", "file_id": "file_9"},
        {"type": "something_new", "bytes": len('{"type": "something_new", "number": 1}')},
    ]


def test_each_tool_call_is_a_message_and_the_first_has_the_text():
    second = {"id": "call_2", "type": "function", "function": {"name": "clock", "arguments": "{oops"}}
    draft = Draft("assistant", "I look.", agent="ada", event_id="m7", metadata={"a": 1})
    first, other = to_drafts(draft, "I look.", [WEATHER, second])
    assert (first.content, first.tool_name, first.tool_args) == ("I look.", "weather", {"city": "Oslo"})
    assert first.metadata == {"a": 1, "tool_call_id": "call_1"}
    assert (other.content, other.tool_name, other.tool_args) == ("", "clock", "{oops")
    assert (other.role, other.agent, other.metadata) == ("assistant", "ada", {"tool_call_id": "call_2"})
    assert [first.event_id, other.event_id] == ["m7", "m7#2"]


def test_anthropics_calls_and_results_become_the_same_messages_as_openais():
    used = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}
    told = {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "sunny"}]}
    anthropic = [
        *to_drafts(Draft("assistant"), [{"type": "text", "text": "I look."}, used]),
        *to_drafts(Draft("user", user="ann"), [told]),
    ]
    openai = [
        *to_drafts(Draft("assistant", "I look."), "I look.", [WEATHER]),
        *to_drafts(Draft("tool", "sunny"), "sunny", call_id="call_1"),
    ]
    assert anthropic == openai
    assert [draft.tool_name for draft in name_results(openai)] == ["weather", "weather"]
    assert openai[1].tool_result == "sunny"


def test_results_stand_before_the_text_that_they_came_with():
    parts = [
        {"type": "tool_result", "tool_use_id": "a", "content": "one", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b"},
        {"type": "text", "text": "Go on."},
    ]
    drafts = to_drafts(Draft("user", user="ann", event_id="e"), parts)
    assert [(one.role, one.user, one.content, one.tool_result) for one in drafts] == [
        ("tool", None, "", "one"), ("tool", None, "", ""), ("user", "ann", "Go on.", None),
    ]  # fmt: skip
    assert drafts[0].metadata == {"tool_call_id": "a", "is_error": True}
    assert [one.event_id for one in drafts] == ["e", "e#2", "e#3"]


@pytest.mark.parametrize(
    ("role", "content", "calls", "field"),
    [
        ("user", "x", [WEATHER], "role"),
        ("assistant", [{"type": "tool_result", "tool_use_id": "a"}], [], "role"),
        ("user", [{"type": "text"}], [], "content.0.text"),
        ("assistant", "", ["call"], "tool_calls.0"),
        ("assistant", "", [{"id": "a", "type": "function", "function": {"name": ""}}], "tool_calls.0.function.name"),
        ("assistant", "", [WEATHER | {"id": None}], "tool_calls.0.id"),
        ("assistant", [{"type": "tool_use", "id": "a", "name": "x" * 201}], [], "content.0.name"),
        ("user", [{"type": "tool_result", "tool_use_id": "a", "content": [1]}], [], "content.0.content"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(role, content, calls, field):
    with pytest.raises(InvalidInput) as refused:
        to_drafts(Draft(role), content, calls)
    assert refused.value.field == field
    assert field.rpartition(".")[2] in str(refused.value)
