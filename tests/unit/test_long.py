"""What `make test` leaves out is named, and is there."""

from pathlib import Path

from long import LONG

TESTS = Path(__file__).parents[1]


def test_every_file_that_takes_long_is_there():
    assert {name for name in LONG if not (TESTS / name).is_file()} == set()


def test_every_folder_has_tests_in_the_short_run():
    in_short = {path.parent.name for path in TESTS.glob("*/test_*.py") if f"{path.parent.name}/{path.name}" not in LONG}
    assert {"acceptance", "integration", "leaks", "migration", "unit"} <= in_short
