"""The model client against a real HTTP server that misbehaves."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from prometheus_client import REGISTRY

import crooked_model as crooked
from crooked_model import crooked_model, says, status
from keepword.background import models
from keepword.config import Settings
from keepword.errors import ModelAway, ModelCutOff, ModelFailed, ModelRefused, ModelUnreadable
from keepword.llm.breaker import Breaker
from keepword.llm.chat import MAX_ANSWER_BYTES, Chat, Endpoint, strip_thinking
from keepword.llm.port import Prompt
from keepword.llm.rate import RequestRate
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

PROMPT = Prompt("be brief", "what is the answer?", 100)


class Sleeps(list):
    async def __call__(self, seconds):
        self.append(seconds)


def chat(model, sleeps=None, breaker=None, name="crooked", timeout_seconds=20, key=None, **more):
    endpoint = Endpoint(model.url, name, key, timeout_seconds=timeout_seconds, extra_body=more.pop("extra_body", {}))
    return Chat(endpoint, sleep=Sleeps() if sleeps is None else sleeps, breaker=breaker, **more)


def counted(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


async def test_it_asks_and_counts_the_tokens():
    async with crooked_model(says("42")) as model, chat(model, name="counting", key="sk-1") as asked:
        answer = await asked.ask(PROMPT)
    assert (answer.text, answer.model, answer.prompt_tokens, answer.completion_tokens) == ("42", "crooked", 7, 3)
    assert model.bodies == [
        {
            "model": "counting",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "what is the answer?"},
            ],
            "max_tokens": 100,
            "temperature": 0,
            "stream": False,
        }
    ]
    assert model.headers[0]["authorization"] == "Bearer sk-1"
    assert counted("keepword_llm_tokens_total", model="counting", kind="prompt") == 7
    assert counted("keepword_llm_tokens_total", model="counting", kind="completion") == 3
    assert counted("keepword_llm_calls_total", model="counting", outcome="answered") == 1


async def test_a_url_may_name_the_whole_path():
    async with crooked_model(says("42")) as model:
        model.url += "/chat/completions/"
        async with chat(model) as asked:
            assert (await asked.ask(PROMPT)).text == "42"


@pytest.mark.parametrize(
    "fault", [status(500, b"boom"), status(503), status(408), status(429), crooked.drop, crooked.cut_short]
)
async def test_a_passing_fault_is_waited_out(fault):
    sleeps = Sleeps()
    async with crooked_model(fault, fault, fault, says("42")) as model, chat(model, sleeps) as asked:
        assert (await asked.ask(PROMPT)).text == "42"
    assert sleeps == [5, 10, 15]


async def test_a_lasting_fault_ends_after_three_retries_with_what_the_server_said():
    sleeps = Sleeps()
    async with crooked_model(status(500, b"out of memory")) as model, chat(model, sleeps) as asked:
        with pytest.raises(ModelAway, match="500: out of memory; tried 4 times"):
            await asked.ask(PROMPT)
    assert sleeps == [5, 10, 15]
    assert len(model.bodies) == 4


async def test_nobody_listens():
    async with crooked_model(says("42")) as model:
        pass
    async with chat(model) as asked:
        with pytest.raises(ModelAway, match="can't be reached"):
            await asked.ask(PROMPT)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 301])
async def test_a_refusal_is_not_retried(code):
    sleeps = Sleeps()
    async with crooked_model(status(code, b"no such model")) as model, chat(model, sleeps) as asked:
        with pytest.raises(ModelRefused, match=f"{code}: no such model; check KEEPWORD_LLM_URL"):
            await asked.ask(PROMPT)
    assert sleeps == []


async def test_retry_after_is_respected_in_seconds_and_as_a_date():
    sleeps = Sleeps()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    replies = (status(429, retry_after="7"), status(429, retry_after=date), status(503, retry_after="soon"), says("42"))
    async with crooked_model(*replies) as model, chat(model, sleeps) as asked:
        assert (await asked.ask(PROMPT)).text == "42"
    assert sleeps[0] == 7
    assert 50 < sleeps[1] <= 60
    assert sleeps[2] == 15


async def test_a_long_retry_after_is_not_waited_out():
    sleeps = Sleeps()
    async with crooked_model(status(429, retry_after="3600")) as model, chat(model, sleeps) as asked:
        with pytest.raises(ModelAway, match="come back in 3600 s"):
            await asked.ask(PROMPT)
    assert sleeps == []


async def test_a_model_that_hangs_is_given_up_after_the_time_allowed():
    async with crooked_model(crooked.hang) as model, chat(model, timeout_seconds=0.2) as asked:
        with pytest.raises(ModelAway, match=r"no answer in 0\.2 s"):
            await asked.ask(PROMPT)
        await asyncio.wait_for(model.dropped.wait(), HANG_SECONDS)


async def test_cancelling_a_call_closes_its_connection():
    async with crooked_model(crooked.hang) as model, chat(model) as asked:
        task = asyncio.create_task(asked.ask(PROMPT))
        await model.hanging.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(model.dropped.wait(), HANG_SECONDS)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (crooked.nonsense, "no chat completion"),
        (status(200, b'{"choices": []}'), "no chat completion"),
        (status(200, b"[1, 2]"), "no chat completion"),
        (crooked.empty, "answered nothing"),
        (says("<think>I never stop"), "answered nothing"),
        (says(" ", reasoning_content="only thoughts"), "answered nothing"),
        (crooked.endless, f"more than {MAX_ANSWER_BYTES}"),
    ],
)
async def test_an_answer_that_is_none_is_an_error_of_its_own(reply, said):
    sleeps = Sleeps()
    async with crooked_model(reply) as model, chat(model, sleeps) as asked:
        with pytest.raises(ModelUnreadable, match=said):
            await asked.ask(PROMPT)
    assert sleeps == []


async def test_being_cut_off_is_an_error_of_its_own():
    async with crooked_model(says("The answer is", finish="length")) as model, chat(model) as asked:
        with pytest.raises(ModelCutOff, match="after 100 tokens"):
            await asked.ask(PROMPT)


@pytest.mark.parametrize(
    "text",
    ["<think>6 * 7</think>42", "6 * 7\n</think>\n\n42", "<thinking>a</thinking><think>b</think> 42 <think>more", "42"],
)
def test_thinking_is_stripped(text):
    assert strip_thinking(text) == "42"


async def test_a_schema_is_sent_and_the_answer_parsed():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    async with crooked_model(says('<think>hm</think>{"a": 1}'), says("not JSON")) as model, chat(model) as asked:
        answer = await asked.ask(Prompt("s", "t", 10, schema))
        assert answer.data == {"a": 1}
        with pytest.raises(ModelUnreadable, match="asked for JSON"):
            await asked.ask(Prompt("s", "t", 10, schema))
    assert model.bodies[0]["response_format"]["json_schema"]["schema"] == schema


async def test_a_server_that_knows_no_schemas_is_asked_for_json_in_the_older_way_from_then_on():
    schema, sleeps = {"type": "object"}, Sleeps()
    fault = status(500, b"{'loc': ('body', 'response_format', 'type'), 'msg': 'should be text or json_object'}")
    async with crooked_model(fault, says('{"a": 1}')) as model, chat(model, sleeps) as asked:
        for _ in range(2):
            assert (await asked.ask(Prompt("s", "t", 10, schema))).data == {"a": 1}
    kinds = [body["response_format"]["type"] for body in model.bodies]
    assert (kinds, sleeps) == (["json_schema", "json_object", "json_object"], [])


async def test_after_three_failures_nobody_waits_and_one_probe_closes_the_circuit_again():
    now = [0.0]
    breaker = Breaker(lambda: now[0], pause_seconds=60)
    fault = status(500)
    async with crooked_model(*[fault] * 12, fault, says("42")) as model, chat(model, breaker=breaker) as asked:
        for _ in range(3):
            with pytest.raises(ModelAway, match="tried 4 times"):
                await asked.ask(PROMPT)
        with pytest.raises(ModelAway, match="tried again in 60 s"):
            await asked.ask(PROMPT)
        assert len(model.bodies) == 12
        now[0] = 61
        with pytest.raises(ModelAway, match="tried once"):
            await asked.ask(PROMPT)
        with pytest.raises(ModelAway, match="tried again in"):
            await asked.ask(PROMPT)
        now[0] = 122
        assert (await asked.ask(PROMPT)).text == "42"
        assert (await asked.ask(PROMPT)).text == "42"


async def test_of_many_callers_one_probes():
    now = [0.0]
    breaker = Breaker(lambda: now[0], failures=1, pause_seconds=60)
    async with crooked_model(*[status(500)] * 4, says("42")) as model, chat(model, breaker=breaker) as asked:
        with pytest.raises(ModelAway):
            await asked.ask(PROMPT)
        now[0] = 61
        found = await asyncio.gather(*(asked.ask(PROMPT) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(one, ModelFailed) for one in found) == 4
    assert len(model.bodies) == 5


async def test_a_cancelled_probe_lets_the_next_one_through():
    now = [0.0]
    breaker = Breaker(lambda: now[0], failures=1, pause_seconds=60)
    replies = (*[status(500)] * 4, crooked.hang, says("42"))
    async with crooked_model(*replies) as model, chat(model, breaker=breaker) as asked:
        with pytest.raises(ModelAway):
            await asked.ask(PROMPT)
        now[0] = 61
        task = asyncio.create_task(asked.ask(PROMPT))
        await model.hanging.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await asked.ask(PROMPT)).text == "42"


class Clock:
    """Monotonic seconds that pass only while somebody sleeps."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


async def test_no_more_requests_go_out_in_a_minute_than_allowed():
    clock = Clock()
    rate = RequestRate(3, clock=clock, sleep=clock.sleep)
    times = []
    async with crooked_model(says("42")) as model, chat(model, rate=rate) as one, chat(model, rate=rate) as other:
        for number in range(8):
            clock.now += 1
            await (one if number % 2 else other).ask(PROMPT)
            times.append(clock.now)
    assert len(model.bodies) == 8
    assert times == [1001, 1002, 1003, 1061, 1062, 1063, 1121, 1122]


async def test_a_retry_is_a_request_too():
    clock = Clock()
    rate = RequestRate(1, clock=clock, sleep=clock.sleep)
    async with crooked_model(status(500), says("42")) as model, chat(model, clock.sleep, rate=rate) as asked:
        assert (await asked.ask(PROMPT)).text == "42"
    assert clock.now == 1060


async def test_who_gives_up_waiting_for_a_turn_uses_nothing_up_and_blames_nobody():
    clock, breaker = Clock(), Breaker(lambda: 0.0, failures=1)
    rate = RequestRate(1, clock=clock)
    async with crooked_model(says("42")) as model, chat(model, breaker=breaker, rate=rate) as asked:
        await asked.ask(PROMPT)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await asked.ask(PROMPT)
        assert not breaker.is_open
        clock.now += 60
        assert (await asked.ask(PROMPT)).text == "42"
    assert len(model.bodies) == 2


async def test_all_clients_of_a_process_keep_to_one_limit():
    """Jobs run in a thread of their own, with clients of their own."""
    async with crooked_model(says("42")) as model:
        settings = Settings(llm_url=model.url, llm_requests_a_minute=1)
        async with models(settings) as (inline, _), models(settings) as (_, background):
            await inline.ask(PROMPT)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await background.ask(PROMPT)
    assert len(model.bodies) == 1


async def test_fields_that_only_the_server_knows_are_sent_along():
    extra = {"reasoning_effort": "high", "temperature": 1}
    async with crooked_model(says("42")) as model, chat(model, extra_body=extra) as asked:
        await asked.ask(PROMPT)
    assert model.bodies[0].items() >= extra.items()
    assert model.bodies[0]["max_tokens"] == 100
