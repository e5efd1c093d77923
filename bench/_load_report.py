"""What bench/load.py found: tables for the terminal and docs/benchmarks.md, a plot, and whether the aims are met."""

import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from keepword import __version__

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
PLOT = DOCS / "load.svg"
BEGIN, END = "<!-- load -->", "<!-- /load -->"
SHED_MS = 250
FLAT = 1.25
BLUE, RED, GREEN = "#2a6f97", "#c1121f", "#6a994e"
WIDTH, HEIGHT, LEFT, BOTTOM = 860, 180, 60, 30


class Sample(NamedTuple):
    at: float
    first_mb: float
    further_mb: float  # of the largest
    postgres_mb: float


def report(measured: dict[str, Any], seconds: float) -> int:
    """Print and write all; return 1 if an aim was missed."""
    aims = list(judged(measured))
    section = "\n".join([*heading(measured, seconds), *overview(measured), "", *latencies(measured), "", *aims])
    print(section)
    PLOT.write_text(plot(measured), encoding="utf-8")
    write(f"{section}\n\n![served and refused requests a second, and memory, over time](load.svg)\n")
    return int(any("MISSED" in aim for aim in aims))


def write(section: str) -> None:
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmarks\n"
    if BEGIN not in page:
        page = f"{page.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{section}{END}{after}", encoding="utf-8")


def heading(measured: dict[str, Any], seconds: float) -> list[str]:
    settings = os.environ.get("SETTINGS", "")
    command = f"SECONDS={seconds:.0f} {f'SETTINGS={settings!r} ' if settings else ''}make bench-load"
    about = (
        f"`{command}`, Keepword {__version__}, {datetime.now(UTC):%d %B %Y}, {machine()}. 200 agents with keys of "
        "their own in 50 rooms; of 20 requests 8 append, 4 search, 4 compose, 4 read or write working memory. The "
        "agents run on the same machine, and so does the background work."
    )
    held = (
        f"What the machine holds: **{measured['capacity']:.0f} requests a second**, measured with 32 callers that send "
        "one request after the other. The load below is open-loop: requests start at random times at the given rate, "
        "whether or not earlier ones have finished. Latency is measured from the scheduled start."
    )
    idle, (service_ms, postgres_ms) = measured["idle"], measured["cost_ms"]
    costs = (
        f"With those callers a request costs {service_ms:.1f} ms of processor time in the service, background work "
        f"included, and {postgres_ms:.1f} ms in PostgreSQL. Before them the service took {idle.first_mb:.0f} MB in its "
        f"first process and {idle.further_mb:.0f} MB in each further one (proportional share)."
    )
    return ["## Under load", "", about, "", held, "", costs, ""]


def machine() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return (
        f"{os.cpu_count()} processors ({found[1] if found else platform.machine()}), Python {platform.python_version()}"
    )


def overview(measured: dict[str, Any]) -> Iterator[str]:
    yield (
        "| load | begun/s | served/s | 503/s | other errors | a 503 takes, median · p99 | health and readiness, p99 | "
        "agents' own CPU | memory: first process · each further · PostgreSQL |"
    )
    yield f"|{' --- |' * 9}"
    for phase in measured["phases"]:
        seconds, last = phase["seconds"], memory_at(measured["memory"], phase["began"] + phase["seconds"])
        refusal = f"{phase['refusal'][0]:.0f} · {phase['refusal'][2]:.0f} ms" if phase["refused"] else ""
        taken = f"{last.first_mb:.0f} · {last.further_mb:.0f} · {last.postgres_mb:.0f} MB"
        yield (
            f"| {phase['name']} | {phase['rate']:.0f} | {phase['served'] / seconds:.0f} | "
            f"{phase['refused'] / seconds:.1f} | {others(phase)} | {refusal} | {phase['watch'][2]:.0f} ms | "
            f"{100 * phase['own_cpu']:.0f} % | {taken} |"
        )


def others(phase: dict[str, Any]) -> str:
    """Name every status but success and 503, of those who watch as well; 0 is no answer at all."""
    found = Counter({status: count for status, count in phase["statuses"].items() if not fine(status, "503")})
    found.update({f"{status} (watch)": count for status, count in phase["watch"][3].items() if not fine(status)})
    if phase["held_back"]:
        found["not begun"] = phase["held_back"]
    return ", ".join(f"{count} of {status}" for status, count in sorted(found.items())) or "none"


def fine(status: str, *also: str) -> bool:
    return status.startswith("2") or status in also


def latencies(measured: dict[str, Any]) -> Iterator[str]:
    names = [phase["name"] for phase in measured["phases"]]
    yield f"| median · p95 · p99, ms | {' | '.join(names)} |"
    yield f"| --- |{' --- |' * len(names)}"
    for operation in measured["phases"][0]["latency"]:
        cells = [phase["latency"].get(operation, [0, 0, 0, 0]) for phase in measured["phases"]]
        shown = (" · ".join(f"{figure:.0f}" for figure in cell[:3]) for cell in cells)
        yield f"| {operation} | {' | '.join(shown)} |"


def memory_at(samples: Sequence[Sample], at: float) -> Sample:
    return min(samples, key=lambda sample: abs(sample.at - at))


def judged(measured: dict[str, Any]) -> Iterator[str]:
    half, full, double, again = measured["phases"]
    yield "| aim | found | |"
    yield "| --- | --- | --- |"
    served = double["served"] / double["seconds"] / measured["capacity"]
    yield row("at 200 %, served beside what the machine holds", f"{served:.2f}, aim ≥ 0.8", served >= 0.8)
    yield row(
        f"a 503 comes within {SHED_MS} ms (median) and says when to come back",
        f"{double['refusal'][0]:.0f} ms, {double['without_retry_after']} without Retry-After",
        double["refusal"][0] <= SHED_MS and not double["without_retry_after"],
    )
    strange = [others(phase) for phase in (half, full, double, again) if others(phase) != "none"]
    yield row("no other error, health and readiness included", "; ".join(strange) or "none", not strange)
    yield row(
        "nothing is refused at 50 %, before or after",
        f"{half['refused']}, {again['refused']}",
        not half["refused"] + again["refused"],
    )
    recovered = worst(again) / worst(half)
    yield row("after 200 %, medians beside those before", f"{recovered:.2f} at worst, aim ≤ 1.5", recovered <= 1.5)
    grown = growth(measured)
    yield row("the service's memory over 200 % beside before it", f"{grown:.2f}, aim ≤ {FLAT}", grown <= FLAT)
    appended = sum(
        phase["latency"].get("append", [0] * 4)[3]
        for phase in (measured["warm"], measured["held"], half, full, double, again)
    )
    yield row(
        "appends that were acknowledged are stored",
        f"{appended:,} acknowledged, {measured['stored']:,} stored",
        appended <= measured["stored"],
    )


def row(aim: str, found: str, met: bool) -> str:
    return f"| {aim} | {found} | {'met' if met else 'MISSED'} |"


def worst(phase: dict[str, Any]) -> float:
    return max(cell[0] for cell in phase["latency"].values())


def growth(measured: dict[str, Any]) -> float:
    double = measured["phases"][2]
    before = memory_at(measured["memory"], double["began"])
    after = memory_at(measured["memory"], double["began"] + double["seconds"])
    return (after.first_mb + after.further_mb) / (before.first_mb + before.further_mb)


def plot(measured: dict[str, Any]) -> str:
    """Draw requests a second above and memory below, over the same time."""
    first, last = measured["phases"][0], measured["phases"][-1]
    began, ended = first["began"], last["began"] + last["seconds"]
    lines: dict[str, list[tuple[float, float]]] = {"served": [], "refused": []}
    for phase in measured["phases"]:
        for name, points in lines.items():
            found = phase["timeline"][name]
            seconds = range(int(phase["began"]) + 1, int(phase["began"] + phase["seconds"]))
            points += [(second - began, found.get(str(second), 0)) for second in seconds]
    memory = [sample for sample in measured["memory"] if began <= sample.at <= ended]
    requests = [("served", BLUE, lines["served"]), ("refused with 503", RED, lines["refused"])]
    taken = [
        ("first process", BLUE, [(sample.at - began, sample.first_mb) for sample in memory]),
        ("PostgreSQL", GREEN, [(sample.at - began, sample.postgres_mb) for sample in memory]),
    ]
    span = ended - began
    names = [(scale(phase["began"] - began, span) + 4, phase["name"]) for phase in measured["phases"]]
    parts = [
        panel(0, "requests a second", span, requests),
        panel(HEIGHT + 40, "memory, MB", span, taken),
        *(f'<text x="{x:.0f}" y="14">{name}</text>' for x, name in names),
    ]
    size = f'width="{WIDTH + LEFT + 20}" height="{2 * HEIGHT + 40 + BOTTOM}"'
    style = 'font-family="sans-serif" font-size="12" fill="#333"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n"


def scale(at: float, span: float) -> float:
    return LEFT + WIDTH * at / span


def panel(top: int, title: str, span: float, lines: list[tuple[str, str, list[tuple[float, float]]]]) -> str:
    most = max((value for _, _, points in lines for _, value in points), default=1) * 1.1 or 1
    floor = top + HEIGHT
    parts = [
        f'<text x="4" y="{top + 32}">{most / 1.1:.0f}</text><text x="4" y="{floor}">0</text>',
        f'<path d="M{LEFT} {top + 20}V{floor}H{LEFT + WIDTH}" fill="none" stroke="#999"/>',
        f'<text x="{LEFT + 4}" y="{top + 32}" font-weight="bold">{title}</text>',
    ]
    for number, (name, colour, points) in enumerate(lines):
        path = " ".join(f"{scale(at, span):.1f},{floor - (HEIGHT - 20) * value / most:.1f}" for at, value in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{LEFT + 160 + 130 * number}" y="{top + 32}" fill="{colour}">{name}</text>')
    return "\n".join(parts)
