"""Imports a generated ChatGPT export over HTTP: time, peak memory, rows, and searches meanwhile beside idle.

    make bench-import MB=100 SECONDS=600

It ends after that time, whatever has been imported by then, and says how much that was. Writes docs/benchmarks.md.
"""

import asyncio
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import _page
from _service import Served, served
from keepword import Client
from keepword.answers import HistoryImport
from keepword.client.imports import ENDED

MEGABYTES = float(os.environ.get("MB", "100"))
SECONDS = float(os.environ.get("SECONDS", "600"))
PAUSE_SECONDS = 0.5
IDLE_SEARCHES = 60
_SEED = 20261119
_LETTERS = "abcdefghijklmnoprstuvwz"


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Return words, and weights as words of a language have them: the second half as often as the first, and so on."""
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(3, 10))) for _ in range(30_000)]
    return words, list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))


def conversations(chance: random.Random, words: list[str], weights: list[float]) -> Iterator[dict[str, object]]:
    """Yield talks of 2 to 26 messages; a question has 5 to 40 words, an answer 60 to 420."""
    for number in itertools.count():
        turns = chance.randint(2, 26)
        began = 1.6e9 + number * 3000
        mapping: dict[str, object] = {"r": {"id": "r", "parent": None, "children": ["m0"], "message": None}}
        for turn in range(turns):
            length = chance.randint(60, 420) if turn % 2 else chance.randint(5, 40)
            text = " ".join(chance.choices(words, cum_weights=weights, k=length))
            mapping[f"m{turn}"] = {
                "id": f"m{turn}", "parent": f"m{turn - 1}" if turn else "r",
                "children": [f"m{turn + 1}"] if turn < turns - 1 else [],
                "message": {
                    "id": f"{number}-{turn}", "author": {"role": ("user", "assistant")[turn % 2], "metadata": {}},
                    "create_time": began + turn * 40, "status": "finished_successfully", "recipient": "all",
                    "content": {"content_type": "text", "parts": [text]},
                },
            }  # fmt: skip
        yield {
            "id": f"c{number}", "title": " ".join(chance.choices(words, cum_weights=weights, k=4)),
            "create_time": began, "mapping": mapping, "current_node": f"m{turns - 1}",
        }  # fmt: skip


def write_export(path: Path, size: float) -> list[str]:
    """Write an export of that size, and return its words."""
    chance = random.Random(_SEED)
    words, weights = vocabulary(chance)
    written = 0
    with path.open("w") as out:
        for talk in conversations(chance, words, weights):
            written += out.write(("[" if not written else ",") + json.dumps(talk))
            if written >= size:
                break
        out.write("]")
    return words


async def search(kw: Client, words: list[str], chance: random.Random) -> float:
    began = time.perf_counter()
    await kw.search(" ".join(chance.sample(words[:2000], 3)))
    return time.perf_counter() - began


def importer_memory(service: Served) -> float:
    """Return the peak of the importing process so far in MB, 0 where there is none."""
    found = subprocess.run(
        ["pgrep", "-P", str(service.process.pid), "-f", "keepword.importer"],
        capture_output=True,
        text=True,
        check=False,
    )
    peaks = [0.0]
    for pid in found.stdout.split():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        peaks += [int(match) / 1024 for match in re.findall(r"VmHWM:\s+(\d+)", status)]
    return max(peaks)


async def measure(service: Served, path: Path, words: list[str]) -> str:
    chance = random.Random(1)
    async with Client(service.url, timeout_seconds=120) as kw:
        await kw.conversations.put("idle", agent="bench")
        await kw.append("idle", " ".join(words[:50]))
        idle = [await search(kw, words, chance) for _ in range(IDLE_SEARCHES)]
        uploaded = time.monotonic()
        one = await kw.imports.create("chatgpt", path, user="tom")
        began = time.monotonic()
        busy, peak = [], 0.0
        while (one := await kw.imports.get(one.id)).state not in ENDED and time.monotonic() - began < SECONDS:
            busy.append(await search(kw, words, chance))
            peak = max(peak, importer_memory(service))
            await asyncio.sleep(PAUSE_SECONDS)
        seconds = time.monotonic() - began
        if one.state not in ENDED:
            one = await kw.imports.cancel(one.id)
    return report(one, seconds, began - uploaded, peak, idle, busy)


def report(one: HistoryImport, seconds: float, upload: float, peak: float, idle: list[float], busy: list[float]) -> str:
    part = "all of it" if one.state == "done" else f"{one.read_bytes / 1e6:,.0f} MB of it, when it was ended"
    stored = one.report["stored"]
    rows = [
        ("file", f"{one.uploaded_bytes / 1e6:,.0f} MB; imported: {part}"),
        ("upload", f"{upload:.1f} s"),
        ("time", f"{seconds:,.0f} s"),
        (
            "rows",
            f"{stored:,} messages in {one.report['conversations']:,} conversations, {stored / seconds:,.0f} a second",
        ),
        ("peak memory of the importing process", f"{peak:.0f} MB"),
        ("search, median (95th percentile), idle", _times(idle)),
        ("search meanwhile, whole tenant, growing", _times(busy)),
    ]
    head = f"`make bench-import MB={MEGABYTES:g}`, {time.strftime('%Y-%m-%d')}, {_page.machine()}, "
    load = f"load before {os.getloadavg()[2]:.1f} (15 minutes)"
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"## Importing a history\n\n{head}{load}.\n\n| what | |\n| --- | --- |\n{table}"


def _times(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    late = ordered[int(len(ordered) * 0.95)]
    return f"{statistics.median(ordered) * 1000:.1f} ms ({late * 1000:.1f}), {len(ordered)} searches"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        path = Path(folder, "conversations.json")
        words = write_export(path, MEGABYTES * 1e6)
        with served(processes="1") as service:
            text = asyncio.run(measure(service, path, words))
    print(text)
    _page.put("import", text)


if __name__ == "__main__":
    main()
