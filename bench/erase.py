"""How long the erasure of a user takes, and what a search of another user costs meanwhile.

    KEEPWORD_URL=http://127.0.0.1:8002 MESSAGES=100000 python bench/erase.py

It needs a running service that asks for no key, and erases the user that it makes.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import httpx

URL = os.environ.get("KEEPWORD_URL", "http://127.0.0.1:8002")
MESSAGES = int(os.environ.get("MESSAGES", "100000"))
BATCH = 1000
A_CONVERSATION = 5000
LEAST_SEARCHES = 50
SETTLE_SECONDS = int(os.environ.get("SETTLE_SECONDS", "120"))


def fill(client: httpx.Client, user: str, amount: int) -> None:
    client.put(f"/v1/users/{user}", json={}).raise_for_status()
    for start in range(0, amount, BATCH):
        name = f"{user}-{start // A_CONVERSATION}"
        client.put(f"/v1/conversations/{name}", json={"user": user}).raise_for_status()
        said = [
            {"role": "user", "content": f"Pump P-{n} of hall {n % 97} runs at {n % 31} bar since {n % 23} days."}
            for n in range(start, min(start + BATCH, amount))
        ]
        client.post(f"/v1/conversations/{name}/messages", json=said).raise_for_status()


def waiting_in(queues: Mapping[str, Any]) -> int:
    """Add up what waits or runs in all queues, which lie in each other."""
    own = sum(queues[name] for name in ("waiting", "running") if isinstance(queues.get(name), int))
    return own + sum(waiting_in(inner) for inner in queues.values() if isinstance(inner, Mapping))


def settle(client: httpx.Client) -> None:
    """Wait until no queue of the background has anything left, so that idle is idle."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        if not waiting_in(client.get("/v1/stats").json()["queues"]):
            return
        time.sleep(1)
    print(f"after {SETTLE_SECONDS} s the background still works: idle is not quite idle")


def search_while(client: httpx.Client, conversation: str, goes_on: Callable[[int], bool]) -> list[float]:
    """Search again and again; return how many milliseconds each took."""
    took: list[float] = []
    while goes_on(len(took)):
        started = time.perf_counter()
        body = {"query": f"pump of hall {len(took) % 97}", "conversation": conversation}
        client.post("/v1/search", json=body).raise_for_status()
        took.append((time.perf_counter() - started) * 1000)
    return took


def main() -> None:
    run = uuid4().hex[:6]
    gone, stays = f"gone-{run}", f"stays-{run}"
    with httpx.Client(base_url=URL, timeout=300) as client:
        fill(client, stays, 2000)
        fill(client, gone, MESSAGES)
        settle(client)
        idle = search_while(client, f"{stays}-0", lambda done: done < LEAST_SEARCHES)
        started = time.perf_counter()
        erasure = client.delete(f"/v1/users/{gone}").json()
        seen = {"erased": 0.0, "done": 0.0}

        def goes_on(done: int) -> bool:
            state = client.get(f"/v1/erasures/{erasure['id']}").json()["state"]
            for name, at in seen.items():
                if not at and state in {name, "done"}:
                    seen[name] = time.perf_counter() - started
            return state != "done" or done < LEAST_SEARCHES

        busy = search_while(client, f"{stays}-0", goes_on)
    before, meanwhile = statistics.median(idle), statistics.median(busy)
    print(f"{MESSAGES:,} messages: rows gone after {seen['erased']:.1f} s, files rewritten after {seen['done']:.1f} s")
    print(f"search: median {before:.1f} ms idle, {meanwhile:.1f} ms meanwhile ({meanwhile / before:.2f} times)")
    print(f"slowest search meanwhile: {max(busy):.0f} ms")


if __name__ == "__main__":
    main()
