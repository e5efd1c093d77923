"""What `keepword doctor` finds, and what it says to do."""

import asyncio
import os
import socket
import subprocess

import pytest

from conftest import KEEPWORD, environment
from crooked_model import crooked_model, hang, says, status

pytestmark = pytest.mark.anyio


@pytest.fixture
def doctor(service):
    async def run(variables=None, **settings):
        env = environment(service.home, **{"embedding": "none"} | settings) | (variables or {})
        return await asyncio.to_thread(
            subprocess.run, [KEEPWORD, "doctor"], env=env | {"COLUMNS": "400"}, cwd="/", capture_output=True,
            text=True, check=False, timeout=120,
        )  # fmt: skip

    return run


def line_of(done, name):
    return next(line for line in done.stdout.splitlines() if line[5:].startswith(f"{name}:"))


async def test_the_language_model_is_asked_once(doctor):
    async with crooked_model(says("yes")) as model:
        done = await doctor(llm_url=model.url, llm_model="qwen", llm_key="sesame")
    assert done.returncode == 0, done.stdout
    assert [body["model"] for body in model.bodies] == ["qwen"]
    assert model.headers[0]["authorization"] == "Bearer sesame"
    assert line_of(done, "language model").startswith(f"ok   language model: qwen at {model.url} answers, in ")
    assert "sesame" not in done.stdout


async def test_a_language_model_at_a_dead_address_is_bad(doctor):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        done = await doctor(llm_url=url)
    assert done.returncode == 1
    found = line_of(done, "language model")
    assert found.startswith("bad  ")
    assert url in found
    assert "tried once" in found
    assert "fix: start it, or correct KEEPWORD_LLM_URL" in done.stdout
    assert "Traceback" not in done.stderr


async def test_a_language_model_that_refuses_is_bad_with_its_own_words(doctor):
    async with crooked_model(status(404, b'{"error": "model qwen not found"}')) as model:
        done = await doctor(llm_url=model.url, llm_model="qwen")
    assert done.returncode == 1
    assert "model qwen not found" in line_of(done, "language model")
    assert "fix: correct KEEPWORD_LLM_URL, KEEPWORD_LLM_MODEL or KEEPWORD_LLM_KEY" in done.stdout
    assert len(model.bodies) == 1


async def test_a_language_model_that_thinks_too_long_to_finish_is_there(doctor):
    async with crooked_model(says("<think>Hm", finish="length")) as model:
        done = await doctor(llm_url=model.url)
    assert done.returncode == 0, done.stdout


async def test_a_language_model_that_is_silent_is_not_waited_for(doctor):
    async with crooked_model(hang) as model:
        done = await doctor(llm_url=model.url, llm_timeout_seconds="1")
    assert done.returncode == 1
    assert "no answer in 1 s" in line_of(done, "language model")


async def test_another_model_for_tool_calls_is_asked_as_well(doctor):
    async with crooked_model(says("yes")) as large, crooked_model(status(500, b"overloaded")) as small:
        tool = {"TOOL_SYNTH_ENDPOINT": small.url, "TOOL_SYNTH_MODEL": "tiny"}
        done = await doctor(tool, llm_url=large.url)
    assert (len(large.bodies), len(small.bodies)) == (1, 1)
    assert done.returncode == 1
    assert line_of(done, "language model").startswith("ok   ")
    assert "overloaded" in line_of(done, "tool-call model")
    assert "TOOL_SYNTH_ENDPOINT" in done.stdout.partition("bad  tool-call model")[2].splitlines()[1]


async def test_without_a_key_it_says_that_every_account_of_the_machine_is_the_owner(doctor):
    done = await doctor()
    assert "every account of this machine" in line_of(done, "keys")


async def test_checks_come_before_the_settings(doctor):
    done = await doctor()
    last_check = max(done.stdout.rindex(f"ok   {name}:") for name in ("disk", "database", "model"))
    assert last_check < done.stdout.index("Settings") < done.stdout.index("copies_mb")


async def test_a_variable_without_the_prefix_is_said_to_be_ignored(doctor):
    with_both = {"DATABASE_URL": "postgresql://me:hunter2@db/x", "REDIS_URL": "redis://cache"}
    done = await doctor(with_both)
    assert done.returncode == 0, done.stdout
    said = line_of(done, "environment")
    assert "DATABASE_URL is ignored; Keepword reads KEEPWORD_DATABASE_URL" in said
    assert "REDIS_URL is ignored; Keepword reads KEEPWORD_REDIS_URL" in said
    assert "hunter2" not in done.stdout
    assert "HOME is ignored" not in done.stdout
    assert "HOME" in os.environ
