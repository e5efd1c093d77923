"""A process that serves looks for unreachable cycles seldom, and does find them."""

import subprocess
import sys

SERVE = """
import asyncio, gc
from keepword.serving import _give_back_memory

class Cycle:
    def __init__(self):
        self.own = self

async def main():
    loaded = asyncio.Event()
    task = asyncio.create_task(_give_back_memory(loaded))
    await asyncio.sleep(0)
    looks = []
    gc.callbacks.append(lambda phase, info: looks.append(info["collected"]) if phase == "stop" else None)
    for number in (2_000, 30_000):
        for _ in range(number):
            Cycle()
        print(len(looks), sum(looks))
    task.cancel()

asyncio.run(main())
"""


def test_a_request_s_garbage_is_looked_through_seldom_and_does_not_grow():
    run = subprocess.run([sys.executable, "-c", SERVE], check=True, capture_output=True, text=True, timeout=60)
    first, second = (tuple(map(int, line.split())) for line in run.stdout.splitlines())
    assert first == (0, 0)
    looks, found = second
    assert 1 <= looks <= 4
    assert found > 15_000
