"""docs/benchmarks.md: each command writes its own section, between its own marks."""

import os
import platform
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
PLOTS = DOCS / "plots"
_HEAD = """# Benchmarks

Every section is written by the command that it names, with the date, the versions and the machine. Nothing here was
typed by hand.
"""


def put(section: str, text: str, at: Path | None = None) -> None:
    """Replace the section of a page, or add it at the end."""
    at = at or PAGE
    page = at.read_text() if at.exists() else _HEAD
    begin, end = f"<!-- {section} -->", f"<!-- /{section} -->"
    block = f"{begin}\n{text.strip()}\n{end}"
    if begin in page:
        before, _, rest = page.partition(begin)
        page = before + block + rest.partition(end)[2]
    else:
        page = f"{page.rstrip()}\n\n{block}\n"
    at.write_text(page)


def put_plot(name: str, svg: str) -> str:
    """Write a plot and return the line that shows it."""
    PLOTS.mkdir(exist_ok=True)
    (PLOTS / f"{name}.svg").write_text(svg)
    return f"![{name.replace('-', ' ')}](plots/{name}.svg)"


def machine() -> str:
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) / 1024**2
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )
