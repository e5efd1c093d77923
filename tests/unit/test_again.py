"""CI runs a few failed tests again: a test that keeps failing still fails it, and so does a leak that is seen once."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

AGAIN = Path(__file__).parents[2] / ".ci" / "again"
ONCE = """
from pathlib import Path
def test_of_once():
    flag = Path(__file__).with_suffix(".flag")
    was_there = flag.exists()
    flag.touch()
    assert was_there
"""
ALWAYS = "def test_of_always():\n    assert False\n"
MANY = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range(6))
def test_of_many(number):
    flag = Path(__file__).with_suffix(f".{number}.flag")
    was_there = flag.exists()
    flag.touch()
    assert was_there
"""


@pytest.fixture
def checkout(tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return tmp_path


def again(checkout: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    file = checkout / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist"}  # the others load for seconds
    command = [sys.executable, str(AGAIN), ".venv/bin/python", "-m", "pytest", "-q", "-n", "0", name]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def test_a_test_that_fails_once_is_named_as_flaky(checkout):
    ran = again(checkout, "tests/test_some.py", ONCE)
    assert ran.returncode == 0
    assert "FLAKY: failed beside others, passed 2 times alone: tests/test_some.py::test_of_once" in ran.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/test_some.py", ALWAYS),
        ("tests/test_some.py", ONCE + ALWAYS),
        ("tests/test_some.py", MANY),
        ("tests/leaks/test_some.py", ONCE),
        ("tests/test_some.py", "import nothing_of_this_name\n"),
    ],
    ids=["fails again", "one of two fails again", "six of them", "a leak", "not collected"],
)
def test_what_is_no_flake_fails(checkout, name, text):
    ran = again(checkout, name, text)
    assert ran.returncode
    assert "FLAKY" not in ran.stdout


def test_a_green_run_stays_green_and_runs_once(checkout):
    ran = again(checkout, "tests/test_some.py", "def test_of_it():\n    pass\n")
    assert ran.returncode == 0
    assert ran.stdout.count("passed") == 1
