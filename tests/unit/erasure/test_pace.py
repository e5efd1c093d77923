"""A batch that takes too long is tried again smaller, and the smallest with more time."""

import asyncio
from uuid import uuid4

import pytest

from keepword.erasure.eraser import LONGEST_SECONDS, MOST_MESSAGES, STEADY_BATCHES, Pace
from keepword.erasure.ports import ErasureStep
from keepword.errors import TookTooLong

STEP = ErasureStep(uuid4(), uuid4(), "running", 1)


class Slow:
    """Takes too long for more messages than it can, but within enough seconds."""

    def __init__(self, can, needs=None):
        self.can, self.needs, self.asked = can, needs, []

    async def step(self, messages, seconds):
        self.asked.append((messages, seconds))
        if messages > self.can or (self.needs is not None and (seconds or 10) < self.needs):
            raise TookTooLong("too long")
        return STEP


def test_a_batch_is_halved_until_it_is_fast_enough_and_the_next_one_begins_there():
    pace, slow = Pace(), Slow(can=20)
    assert asyncio.run(pace.take(slow.step)) is STEP
    assert slow.asked == [(100, None), (50, None), (25, None), (12, None)]
    asyncio.run(pace.take(slow.step))
    assert slow.asked[4:] == [(12, None)]


def test_batches_grow_again_after_many_that_were_fast_enough():
    pace, fast = Pace(messages=30), Slow(can=100)
    for _ in range(2 * STEADY_BATCHES + 1):
        asyncio.run(pace.take(fast.step))
    assert [fast.asked[at][0] for at in (STEADY_BATCHES - 1, STEADY_BATCHES, 2 * STEADY_BATCHES)] == [30, 60, 100]


def test_batches_grow_while_they_are_fast_and_shrink_when_they_are_slow():
    seconds_of_a_message, now = 0.001, [0.0]

    async def step(messages, _seconds):
        asked.append(messages)
        now[0] += messages * seconds_of_a_message
        return STEP

    asked, pace = [], Pace(clock=lambda: now[0])
    for _ in range(4):
        asyncio.run(pace.take(step))
    assert asked == [100, 200, 400, 400]
    seconds_of_a_message = 0.004
    for _ in range(3):
        asyncio.run(pace.take(step))
    assert asked[4:] == [400, 200, 200]
    seconds_of_a_message = 0.00001
    for _ in range(6):
        asyncio.run(pace.take(step))
    assert asked[-1] == MOST_MESSAGES


def test_one_message_gets_more_time_and_an_end_comes_all_the_same():
    pace, slow = Pace(messages=2), Slow(can=100, needs=60)
    assert asyncio.run(pace.take(slow.step)) is STEP
    assert slow.asked == [(2, None), (1, None), (1, LONGEST_SECONDS)]
    slow.needs = 2 * LONGEST_SECONDS
    with pytest.raises(TookTooLong):
        asyncio.run(pace.take(slow.step))
