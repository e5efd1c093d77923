"""A composed turn goes into the OpenAI and Anthropic SDKs as it is, against a server that checks what arrives."""

import asyncio
import json
import re
from pathlib import Path
from uuid import uuid4

import anthropic
import openai
import pytest
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter, ValidationError

from crooked_model import crooked_model, says, status
from keepword import Client, Keepword

pytestmark = pytest.mark.anyio

_PAGE = Path(__file__).parents[3] / "docs" / "python.md"
_BLOCK = re.compile(r"<!-- run: sdks -->\n```python\n(.*?)```", re.DOTALL)
_openai_messages = TypeAdapter(list[ChatCompletionMessageParam])
_anthropic_messages = TypeAdapter(list[MessageParam])
NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_CALLS = (("c1", "weather", {"city": "Oslo"}), ("c2", "weather", {"city": "Paris"}))
_OPENAI_CALLS = [
    {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    for id_, name, arguments in (*_CALLS, ("c3", "map", {}))
]
_SENT = {
    "openai": [
        {"role": "user", "content": [{"type": "text", "text": "How is the weather in Oslo and Paris?"}]},
        {"role": "assistant", "content": None, "refusal": None, "tool_calls": _OPENAI_CALLS[:2]},
        {"role": "tool", "tool_call_id": "c2", "content": "rain"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sun"}]},
        {"role": "assistant", "content": "Sun and rain. I draw a map.", "tool_calls": _OPENAI_CALLS[2:]},
    ],
    "anthropic": [
        {"role": "user", "content": "How is the weather in Oslo and Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in _CALLS],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": "rain"},
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "sun"}]},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Sun and rain. I draw a map."},
                {"type": "tool_use", "id": "c3", "name": "map", "input": {}},
            ],
        },
    ],
}  # fmt: skip
_TOOLS = [{"name": "weather", "description": "", "input_schema": {"type": "object"}}]
_ANTHROPIC_ANSWER = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3},
    "content": [{"type": "text", "text": "On Friday."}],
}  # fmt: skip


@pytest.fixture(scope="module", params=["in process", "over http"])
async def kw(request, make_migrated_home, service):
    if request.param == "in process":
        async with Keepword.open(data=make_migrated_home(), worker=False) as made:
            yield made
    else:
        async with Client(service.url) as made:
            yield made


@pytest.fixture
async def turn(kw):
    name = f"sdk-{uuid4().hex[:8]}"
    await kw.conversations.put(name)
    await kw.facts.set("global", "-", "motto", "slow is smooth")
    await kw.append(name, "We fly on Friday.")
    await kw.append(name, "Noted.", role="assistant")
    return await kw.compose(name, "When do we fly?")


@pytest.fixture(params=["openai", "anthropic"])
async def turn_with_tools(kw, request):
    """Compose after two calls at once, one more, and one without a result, sent as one of the two APIs has them."""
    name = f"sdk-{uuid4().hex[:8]}"
    await kw.conversations.put(name)
    await kw.append_all(name, _SENT[request.param])
    return await kw.compose(name, "And in Rome?")


def checked(validator, good):
    """Answer as the API does: 400 for messages that are not of the SDK's own types or break the rules on tools."""

    async def reply(body, writer):
        try:
            validator.validate_python(body["messages"])
            if validator is _openai_messages:
                check_openai(body["messages"])
            else:
                check_anthropic(body["messages"])
        except (ValidationError, AssertionError) as exc:
            await status(400, json.dumps({"error": {"message": str(exc)}}).encode())(body, writer)
            return
        await good(body, writer)

    return reply


def check_openai(messages):
    """Each call has exactly one answer, before anything else is said; an answer has its call."""
    open_ids = []
    for message in messages:
        assert set(message) <= {"role", "content", "tool_calls", "tool_call_id"}, f"unknown fields: {message}"
        assert message.get("content") or message.get("tool_calls") or message["role"] == "tool", f"empty: {message}"
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_ids, f"an answer to nothing: {message}"
            open_ids.remove(message["tool_call_id"])
            continue
        assert not open_ids, f"calls without an answer: {open_ids}"
        for call in message.get("tool_calls", ()):
            assert NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_ids.append(call["id"])
    assert not open_ids, f"calls without an answer: {open_ids}"


def check_anthropic(messages):
    """Roles alternate; the message behind one that uses tools begins with a result for each of them."""
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    used = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        assert message["content"], "an empty message"
        assert [block["tool_use_id"] for block in blocks[: len(used)]] == used
        assert not [block for block in blocks[len(used) :] if block["type"] == "tool_result"]
        assert all(block["text"] for block in blocks if block["type"] == "text"), "an empty text"
        used = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(NAME.fullmatch(block["name"]) for block in blocks if block["type"] == "tool_use")
    assert not used


async def test_messages_go_into_openai_as_they_are(turn):
    async with (
        crooked_model(checked(_openai_messages, says("On Friday."))) as model,
        openai.AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as client,
    ):
        answer = await client.chat.completions.create(model="m", messages=turn.messages)
    assert answer.choices[0].message.content == "On Friday."
    assert model.bodies[0]["messages"] == turn.messages
    # the workspace has a fact, which is quoted in a message of its own
    assert [message["role"] for message in turn.messages] == ["system", "user", "user", "assistant", "user"]
    assert "motto" in turn.messages[1]["content"]
    assert "When do we fly?" in turn.messages[-1]["content"]


async def test_messages_go_into_anthropic_as_they_are(turn):
    good = status(200, json.dumps(_ANTHROPIC_ANSWER).encode(), content_type="application/json")
    async with (
        crooked_model(checked(_anthropic_messages, good)) as model,
        anthropic.AsyncAnthropic(base_url=model.url.removesuffix("/v1"), api_key="none", max_retries=0) as client,
    ):
        answer = await client.messages.create(
            model="m", max_tokens=100, system=turn.anthropic.system, messages=turn.anthropic.messages
        )
    assert answer.content[0].text == "On Friday."
    assert model.bodies[0]["messages"] == turn.anthropic.messages
    assert "We fly on Friday." in str(model.bodies[0])


async def test_tool_calls_go_into_openai_as_they_are(turn_with_tools):
    async with (
        crooked_model(checked(_openai_messages, says("On Friday."))) as model,
        openai.AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as client,
    ):
        await client.chat.completions.create(model="m", messages=turn_with_tools.messages)
    *_, asked, called, sun, rain, drawn, missing, now = model.bodies[0]["messages"]
    assert model.bodies[0]["messages"] == turn_with_tools.messages
    assert "How is the weather" in asked["content"]
    assert called == {"role": "assistant", "tool_calls": _OPENAI_CALLS[:2]}
    assert sun == {"role": "tool", "tool_call_id": "c1", "content": "sun"}
    assert rain == {"role": "tool", "tool_call_id": "c2", "content": "rain"}
    assert drawn == {"role": "assistant", "content": "Sun and rain. I draw a map.", "tool_calls": _OPENAI_CALLS[2:]}
    assert missing == {"role": "tool", "tool_call_id": "c3", "content": "(no result of this call is stored)"}
    assert "And in Rome?" in now["content"]


async def test_tool_calls_go_into_anthropic_as_they_are(turn_with_tools):
    good = status(200, json.dumps(_ANTHROPIC_ANSWER).encode(), content_type="application/json")
    shown = turn_with_tools.anthropic
    async with (
        crooked_model(checked(_anthropic_messages, good)) as model,
        anthropic.AsyncAnthropic(base_url=model.url.removesuffix("/v1"), api_key="none", max_retries=0) as client,
    ):
        await client.messages.create(
            model="m", max_tokens=100, system=shown.system, messages=shown.messages, tools=_TOOLS
        )
    assert model.bodies[0]["messages"] == shown.messages
    _, called, told, drawn, now = model.bodies[0]["messages"]
    assert [(block["id"], block["name"], block["input"]) for block in called["content"]] == list(_CALLS)
    assert [block["content"] for block in told["content"]] == ["sun", "rain"]
    assert [block["type"] for block in drawn["content"]] == ["text", "tool_use"]
    assert [block["type"] for block in now["content"]] == ["tool_result", "text"]


async def test_tool_calls_are_told_in_words_for_a_call_without_tools(kw):
    name = f"sdk-{uuid4().hex[:8]}"
    await kw.conversations.put(name)
    await kw.append_all(name, _SENT["openai"])
    turn = await kw.compose(name, "And in Rome?", tools_as="text")
    assert {field for message in turn.messages for field in message} == {"role", "content"}
    assert {type(message["content"]) for message in turn.anthropic.messages} == {str}
    assert 'called weather({"city": "Oslo"})' in str(turn.messages)
    assert "result of weather: sun" in str(turn.messages)


async def test_the_calls_of_the_python_page_work(turn, monkeypatch, capsys):
    good = status(200, json.dumps(_ANTHROPIC_ANSWER).encode(), content_type="application/json")
    async with crooked_model(
        checked(_openai_messages, says("On Friday.")), checked(_anthropic_messages, good)
    ) as model:
        for name, url in {"OPENAI": model.url, "ANTHROPIC": model.url.removesuffix("/v1")}.items():
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "none")
        page = compile(_BLOCK.search(_PAGE.read_text(encoding="utf-8"))[1], _PAGE, "exec")
        await asyncio.to_thread(exec, page, {"shown": turn})
    assert capsys.readouterr().out == "On Friday.\nOn Friday.\n"


async def test_messages_are_lists_of_plain_dicts(turn):
    for messages in (turn.messages, turn.anthropic.messages):
        assert isinstance(messages, list)
        assert {type(message) for message in messages} == {dict}
        assert json.loads(json.dumps(messages)) == messages
