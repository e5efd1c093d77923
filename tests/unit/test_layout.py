"""How tests are laid out: `make test` leaves out files that are there, folders have packages' names."""

from pathlib import Path

import keepword
from long import LONG
from scheduling import group

TESTS = Path(__file__).parents[1]
PACKAGES = {path.parent.name for path in Path(keepword.__file__).parent.glob("*/__init__.py")}


def test_every_file_that_takes_long_is_there():
    assert {name for name in LONG if not (TESTS / name).is_file()} == set()


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
