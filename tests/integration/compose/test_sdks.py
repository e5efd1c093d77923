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


def checked(validator, good):
    """Answer as the API does: 400 for messages that are not of the SDK's own types or carry more than these."""

    async def reply(body, writer):
        try:
            validator.validate_python(body["messages"])
        except ValidationError as exc:
            await status(400, json.dumps({"error": {"message": str(exc)}}).encode())(body, writer)
            return
        strangers = {name for message in body["messages"] for name in message} - {"role", "content"}
        answer = status(400, str(strangers).encode()) if strangers else good
        await answer(body, writer)

    return reply


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
