"""How tests are laid out, and how make installs what they need."""

import subprocess
import sys
from pathlib import Path

import keepword
from long import LONG
from scheduling import group

TESTS = Path(__file__).parents[1]
PACKAGES = {path.parent.name for path in Path(keepword.__file__).parent.glob("*/__init__.py")}


def test_every_file_that_takes_long_is_there():
    assert {name for name in LONG if not (TESTS / name).is_file()} == set()


def test_the_readme_counts_the_files_that_take_long():
    readme = (TESTS.parent / "README.md").read_text(encoding="utf-8")
    assert f"the {len(LONG)} files that take longest" in " ".join(readme.split())


def test_every_folder_has_tests_in_the_short_run():
    names = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert {"acceptance", "integration", "leaks", "migration", "unit"} <= {name.split("/")[0] for name in names - LONG}


def test_folders_are_named_after_packages():
    folders = {path.parent.name for kind in ("unit", "integration") for path in (TESTS / kind).glob("*/test_*.py")}
    assert folders - PACKAGES == {"docs"}


def test_what_shares_a_fixture_runs_in_one_process():
    file = "tests/integration/access/test_quotas.py"
    assert group(file) == file
    assert group("tests/integration/transcript/test_aliases.py") == "redis"
    assert group("tests/unit/access/test_grant.py") is None


def test_make_installs_what_is_pinned_and_lets_pip_resolve_nothing():
    """For a package that is asked for with an extra, pip 23 takes the newest release and refuses its hash."""
    installs = [line for line in (TESTS.parent / "Makefile").read_text().splitlines() if " -r requirements/" in line]
    assert len(installs) == 3
    assert all(" --no-deps --require-hashes " in line for line in installs)


def test_what_is_pinned_is_all_that_the_pinned_packages_ask_for():
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout
