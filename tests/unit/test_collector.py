"""A process that serves looks for unreachable cycles seldom, and does find them."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keepword.serving import _give_back_memory

pytestmark = pytest.mark.anyio


class Cycle:
    def __init__(self) -> None:
        self.own = self


@contextmanager
def collector_as_before() -> Iterator[list[int]]:
    """Yield how many objects each look of the collector found; leave the collector as it was."""
    threshold, looks = gc.get_threshold(), list[int]()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            looks.append(info["collected"])

    gc.callbacks.append(note)
    try:
        yield looks
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*threshold)
        gc.unfreeze()


async def test_a_request_s_garbage_is_looked_through_seldom_and_does_not_grow():
    with collector_as_before() as looks:
        task = asyncio.create_task(_give_back_memory(asyncio.Event()))
        await asyncio.sleep(0)
        gc.collect()
        looks.clear()
        for _ in range(2_000):
            Cycle()
        assert looks == []
        for _ in range(30_000):
            Cycle()
        task.cancel()
        assert 1 <= len(looks) <= 4
        assert sum(looks) > 15_000
