"""Text is read in a process of its own, which is stopped when a text takes too long, and nobody else is held up."""

import asyncio
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import structlog.testing

from keepword.compaction import landmarks
from keepword.errors import Unavailable, WorkStopped
from keepword.jobs.reading_process import ReadingProcess
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

# backtracks for longer than anybody lives, and holds Python's lock all the time
FOR_EVER = (r"(a+)+$", "a" * 64 + "!")


@pytest.fixture
def reading():
    made = ReadingProcess(call_seconds=0.3)
    yield made
    made.close()


async def test_a_function_is_called_elsewhere_and_returns_what_it_returns(reading):
    assert await reading(landmarks.detect, "decision: we ship") == landmarks.detect("decision: we ship")
    number = await reading(os.getpid)
    assert number != os.getpid()
    assert number == await reading(os.getpid)


async def test_what_a_function_raises_is_raised_here(reading):
    with pytest.raises(ValueError, match="invalid literal"):
        await reading(int, "no number")


async def test_a_text_that_takes_too_long_is_stopped_while_the_loop_goes_on(reading):
    stopped = asyncio.ensure_future(reading(re.match, *FOR_EVER))
    ticks = 0
    while not stopped.done():
        await asyncio.sleep(0.01)
        ticks += 1
    with pytest.raises(WorkStopped, match="match took more than"):
        await stopped
    assert ticks > 3
    assert await reading(landmarks.detect, "hello") == []


async def test_a_process_that_somebody_kills_is_started_again(reading):
    number = await reading(os.getpid)
    waiting = asyncio.ensure_future(reading(re.match, *FOR_EVER))
    await asyncio.sleep(0)
    os.kill(number, signal.SIGKILL)
    with pytest.raises((Unavailable, WorkStopped)):
        await waiting
    assert await reading(os.getpid) != number


async def test_a_process_that_gets_little_of_the_processor_is_stopped_for_its_text_not_for_the_clock():
    reading = ReadingProcess(call_seconds=0.05, stuck_seconds=HANG_SECONDS)
    number = await reading(os.getpid)
    waiting = asyncio.ensure_future(reading(re.match, *FOR_EVER))
    # less than a twentieth of the processor, as on a machine where others want it
    with suppress(ProcessLookupError):
        while not waiting.done():
            os.kill(number, signal.SIGSTOP)
            await asyncio.sleep(0.2)
            os.kill(number, signal.SIGCONT)
            await asyncio.sleep(0.005)
    with pytest.raises(WorkStopped):
        await waiting
    reading.close()


async def test_a_process_that_does_nothing_is_ended_and_its_text_is_not_blamed():
    reading = ReadingProcess(stuck_seconds=0.2)
    number = await reading(os.getpid)
    os.kill(number, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="used no processor time for"):
        await reading(landmarks.detect, "hello")
    assert await reading(os.getpid) != number
    reading.close()


async def test_whoever_closes_it_does_not_wait_for_a_call_that_never_ends():
    reading = ReadingProcess()
    number = await reading(os.getpid)
    waiting = asyncio.ensure_future(reading(re.match, *FOR_EVER))
    await asyncio.sleep(0.1)
    with structlog.testing.capture_logs() as events:
        await asyncio.wait_for(asyncio.to_thread(reading.close), 30)
        with pytest.raises(Unavailable, match="is stopping"):
            await waiting
    assert events == []
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


async def test_it_is_given_no_secret(reading, monkeypatch):
    monkeypatch.setenv("KEEPWORD_LLM_KEY", "secret")
    assert await reading(os.getenv, "KEEPWORD_LLM_KEY") is None


def is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


async def test_a_process_that_nobody_calls_for_long_is_ended_and_the_next_call_starts_another():
    reading = ReadingProcess(idle_seconds=0.2)
    try:
        number = await reading(os.getpid)
        async with asyncio.timeout(HANG_SECONDS):
            while is_there(number):  # noqa: ASYNC110 - another process ends
                await asyncio.sleep(0.02)
        assert await reading(os.getpid) != number
    finally:
        reading.close()
