"""Imports a generated ChatGPT export over HTTP: time, peak memory, rows, and searches meanwhile beside idle.

    make bench-import MB=1000 SECONDS=420 EXPORT=conversations.json

It ends after that time, whatever has been imported by then, and says how much that was. `EXPORT` keeps the generated
file for the next run: a gigabyte takes minutes to write. Writes docs/benchmarks.md.
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import _page
from _service import Served, served
from keepword import Client
from keepword.answers import HistoryImport
from keepword.client.imports import ENDED
from keepword.errors import Unavailable

MEGABYTES = float(os.environ.get("MB", "100"))
SECONDS = float(os.environ.get("SECONDS", "600"))
PAUSE_SECONDS = 0.5
# until the first turns' background work is done
SETTLE_SECONDS = 5
IDLE_SEARCHES = 60
# a conversation beside the import, in which somebody goes on talking
LIVE_MESSAGES = 300
# the importing process' memory is told each time that so much of the time is over
MARKS = 4
_SEED = 20261119
_LETTERS = "abcdefghijklmnoprstuvwz"


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Return words, and weights as words of a language have them: the second half as often as the first, and so on."""
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(3, 10))) for _ in range(30_000)]
    return words, list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))


def conversations(chance: random.Random, words: list[str], weights: list[float]) -> Iterator[dict[str, object]]:
    """Yield talks of 2 to 26 messages; a question has 5 to 40 words, an answer 60 to 420."""
    numbers, ends = np.random.default_rng(_SEED), np.array(weights)

    def say(length: int) -> str:
        drawn = np.searchsorted(ends, numbers.random(length) * ends[-1])
        return " ".join(map(words.__getitem__, drawn.tolist()))

    for number in itertools.count():
        turns = chance.randint(2, 26)
        began = 1.6e9 + number * 3000
        mapping: dict[str, object] = {"r": {"id": "r", "parent": None, "children": ["m0"], "message": None}}
        for turn in range(turns):
            length = chance.randint(60, 420) if turn % 2 else chance.randint(5, 40)
            text = say(length)
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
            "id": f"c{number}", "title": say(4),
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


async def search(kw: Client, words: list[str], chance: random.Random, place: str | None) -> float:
    began = time.perf_counter()
    await kw.search(" ".join(chance.sample(words[:2000], 3)), conversation=place)
    return time.perf_counter() - began


async def live_talk(kw: Client, words: list[str], chance: random.Random) -> None:
    await kw.users.put("mira")
    await kw.conversations.put("live", agent="bench", user="mira")
    said = [" ".join(chance.choices(words[:2000], k=20)) for _ in range(LIVE_MESSAGES)]
    for start in range(0, LIVE_MESSAGES, 100):
        await kw.append_all("live", [{"role": "user", "content": text} for text in said[start : start + 100]])


@dataclass
class Times:
    """Seconds of searches in the live conversation, and in the whole tenant; how many of the latter were refused."""

    live: list[float] = field(default_factory=list)
    tenant: list[float] = field(default_factory=list)
    refused: int = 0

    async def add(self, kw: Client, words: list[str], chance: random.Random) -> None:
        self.live.append(await search(kw, words, chance, "live"))
        try:
            self.tenant.append(await search(kw, words, chance, None))
        except Unavailable as exc:
            self.refused += 1
            print(f"a search of the whole tenant was refused: {exc}", flush=True)


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


@dataclass
class Measured:
    one: HistoryImport
    seconds: float
    upload: float
    idle: Times
    busy: Times
    # megabytes read, and the peak memory until then
    peaks: list[tuple[float, float]]


async def measure(service: Served, path: Path, words: list[str]) -> Measured:
    chance = random.Random(1)
    async with Client(service.url, timeout_seconds=120) as kw:
        await live_talk(kw, words, chance)
        await asyncio.sleep(SETTLE_SECONDS)
        idle, busy, peaks = Times(), Times(), [(0.0, 0.0)]
        for _ in range(IDLE_SEARCHES):
            await idle.add(kw, words, chance)
        uploaded = time.monotonic()
        one = await kw.imports.create("chatgpt", path, user="tom")
        began = time.monotonic()
        while (one := await kw.imports.get(one.id)).state not in ENDED and time.monotonic() - began < SECONDS:
            await busy.add(kw, words, chance)
            peaks.append((one.read_bytes / 1e6, max(importer_memory(service), peaks[-1][1])))
            await asyncio.sleep(PAUSE_SECONDS)
        seconds = time.monotonic() - began
        if one.state not in ENDED:
            one = await kw.imports.cancel(one.id)
    return Measured(one, seconds, began - uploaded, idle, busy, peaks)


async def idle_at_size(service: Served, words: list[str]) -> Times:
    """Search what has been imported, while nothing else goes on."""
    chance, times = random.Random(2), Times()
    async with Client(service.url, timeout_seconds=120) as kw:
        await kw.search("warm", conversation="live")
        for _ in range(IDLE_SEARCHES):
            await times.add(kw, words, chance)
    return times


def report(got: Measured, after: Times) -> str:
    one, stored = got.one, got.one.report["stored"]
    part = "all of it" if one.state == "done" else f"{one.read_bytes / 1e6:,.0f} MB of it, when it was ended"
    every = max(1, len(got.peaks) // MARKS)
    marks = ", ".join(f"{peak:.0f} MB at {read:,.0f} MB" for read, peak in got.peaks[every::every])
    rows = [
        ("file", f"{one.uploaded_bytes / 1e6:,.0f} MB; imported: {part}"),
        ("upload", f"{got.upload:.1f} s"),
        ("time", f"{got.seconds:,.0f} s"),
        ("rows", f"{stored:,} messages in {one.report['conversations']:,} conversations"),
        ("messages a second", f"{stored / got.seconds:,.0f}"),
        ("peak memory of the importing process, by what was read", marks),
        (f"search of {LIVE_MESSAGES} messages beside it, median (95th percentile), idle", _times(got.idle.live)),
        ("the same meanwhile", _times(got.busy.live)),
        ("search of the whole tenant, growing, meanwhile", f"{_times(got.busy.tenant)}; {got.busy.refused} refused"),
        ("the same afterwards, of all that was imported, idle", _times(after.tenant)),
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
        Path(folder).chmod(0o711)
        path = Path(os.environ.get("EXPORT") or f"{folder}/conversations.json")
        words = vocabulary(random.Random(_SEED))[0] if path.exists() else write_export(path, MEGABYTES * 1e6)
        home = Path(folder, "service")
        with served(home, processes="1") as service:
            got = asyncio.run(measure(service, path, words))
        with served(home, processes="1", worker="false") as service:
            after = asyncio.run(idle_at_size(service, words))
    text = report(got, after)
    print(text)
    _page.put("import", text)


if __name__ == "__main__":
    main()
