import time
from datetime import UTC, datetime

import pytest

from keepword.wording import instead, nearest, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("human", "'human'"),
        (None, "null"),
        (True, "true"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (datetime(2026, 11, 1, tzinfo=UTC), '"2026-11-01 00:00:00+00:00"'),
        ("x" * 100, "'" + "x" * 79 + "..."),
    ],
)
def test_a_value_is_shown_as_its_sender_wrote_it(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("name", "found"),
    [("prot", "port"), ("PORT", "port"), ("home_dir", "home"), ("zzz", None), ("", None)],
)
def test_the_name_that_was_probably_meant_is_found(name, found):
    assert nearest(name, ["host", "port", "home", "log_level"]) == found


def test_what_is_there_is_listed_with_or_without_a_guess():
    assert instead(["limit", "query"], "limit") == "did you mean limit? There are: limit, query"
    assert instead(["limit", "query"], None) == "there are: limit, query"


def test_a_name_of_a_megabyte_is_compared_at_once():
    started = time.process_time()
    assert nearest("ab" * 500_000, [f"name_{number}" for number in range(50)]) is None
    assert time.process_time() - started < 0.5
