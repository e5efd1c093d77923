"""Runs a suite of other people in a process of its own, and reads what it says of each test."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree as ET

from compat import page

HERE = Path(__file__).parent


def run_suite(
    suite: page.Suite, tests: Path, left_out: dict[str, str], *, path: Collection[Path], url: str, plugin: str,
    folder: Path,
) -> None:  # fmt: skip
    """Run the tests of a file but for those left out, and write their section; fail if one of them fails."""
    report = folder / "report.xml"
    chosen = [f"--deselect={tests.name}::{name}" for name in left_out]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*path, HERE])), "KEEPWORD_URL": url}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", tests.parent, "-p", "no:cacheprovider",
         "-p", "no:anyio",
         "-W", "ignore::DeprecationWarning", "-p", plugin, "-o", "asyncio_mode=auto",
         "--timeout", "300", "--junit-xml", report, *chosen, tests],
        env=env, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    counts = _counts(report) if report.exists() else Counter()
    outcome = page.Outcome(suite, counts["run"], counts["run"] - counts["failed"], left_out)
    assert (outcome.run > 0, done.returncode) == (True, 0), done.stdout[-6000:] + done.stderr[-2000:]
    page.write(outcome)


def _counts(report: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            counts["run"] += 1
            counts["failed"] += case.find("failure") is not None or case.find("error") is not None
    return counts
