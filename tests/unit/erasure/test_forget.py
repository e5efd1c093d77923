"""A process forgets the texts that its caches hold."""

import asyncio
import threading
from datetime import UTC, datetime
from functools import cache, lru_cache

from keepword.erasure.forget import Forgetting, clear_text_caches


@lru_cache(maxsize=10)
def read(text):
    return text.upper()


@cache
def table(name):
    return name.upper()


def test_caches_with_a_limit_are_emptied_and_tables_stay():
    read("secret")
    table("words")
    assert clear_text_caches() > 0
    assert read.cache_info().currsize == 0
    assert table.cache_info().currsize == 1


class Erasures:
    """Says that something was erased once it was asked for the third time."""

    def __init__(self):
        self.asked = 0

    async def last(self):
        self.asked += 1
        return datetime(2026, 1, 1, tzinfo=UTC) if self.asked > 2 else None


def test_what_was_erased_since_lets_everything_be_forgotten_once():
    forgotten, ended, drained = [], threading.Event(), threading.Event()

    def end():
        forgotten.append("child")
        ended.set()

    async def drain():
        forgotten.append("connections")
        drained.set()

    async def run():
        queue = Erasures()
        cache = (lambda: forgotten.append("cache"),)
        forgetting = Forgetting(queue, cache, (drain,), (end,), look_seconds=0)
        task = asyncio.create_task(forgetting.run())
        await asyncio.to_thread(ended.wait)
        await asyncio.to_thread(drained.wait)
        task.cancel()
        return queue.asked

    assert asyncio.run(run()) > 2
    assert forgotten == ["cache", "child", "connections"]
