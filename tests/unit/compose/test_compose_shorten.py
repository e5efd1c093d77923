"""A summary that is too long is shown by its key decisions and whole lines; what is cut says so."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword import tokens
from keepword.compose.shorten import cut, shorten

LINES = [f"- 2026-05-01T12:{n:02}Z ann: Boat {n} is at pier {n * 7}. The crew of boat {n} sleeps." for n in range(40)]
words = st.lists(st.sampled_from("boat pier crew rope. lamp! map? gate".split()), min_size=2, max_size=60).map(" ".join)


def measure(text):
    return tokens.count(text + "\n")


@settings(max_examples=60, deadline=None)
@given(st.lists(words, min_size=1, max_size=30), st.lists(words, max_size=4), st.integers(0, 600))
def test_what_is_shortened_fits_and_something_is_always_said(lines, decisions, room):
    made = shorten(lines, decisions, room, measure)
    assert made is None or measure(made.text) <= room
    assert made is not None or room < 60


def test_key_decisions_stay_first_and_the_newest_lines_after_them():
    decided = "- 2026-05-01T11:00Z bob: We decided to keep the blue boat."
    made = shorten([decided, *LINES], ["We decided to keep the blue boat."], 300, measure)
    shown = made.text.split("\n")
    assert shown[0] == decided
    assert shown[-1] == f"({made.lines_left_out} more lines of this summary do not fit here)"
    assert shown[1:-1] == LINES[-len(shown[1:-1]) :]
    assert made.lines_left_out + len(shown) - 1 == 41
    assert made.lines_cut == 0


def test_a_decision_inside_a_long_line_is_quoted_without_the_rest_of_it():
    long = "- 2026-05-01T11:00Z bob: " + "The rope is wet. " * 200 + "We decided to sail. " + "The map is old. " * 200
    made = shorten([long, *LINES], ["We decided to sail."], 200, measure)
    assert made.text.startswith("- 2026-05-01T11:00Z bob: … We decided to sail. …\n- ")
    assert made.lines_cut == 1


def test_a_decision_that_no_line_quotes_is_told_all_the_same():
    made = shorten(LINES, ["We agreed on Friday."], 200, measure)
    assert made.text.startswith("- decided: We agreed on Friday.\n- ")


def test_a_long_line_is_cut_at_a_sentence_end_and_says_so():
    made = shorten(["- ann: " + "The rope is wet. " * 500, *LINES], [], 400, measure)
    first = shorten(["- ann: " + "The rope is wet. " * 500], [], 400, measure).text.split("\n")[0]
    assert first.endswith("The rope is wet. … (cut)")
    assert tokens.count(first) <= 100
    assert made.lines_cut <= 1


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("One two. Three four. Five six.", 9, "One two. … (cut)"),
        ("one two three four five six seven eight", 9, "one two three four five … (cut)"),
        ("onlyoneword" * 30, 9, None),
    ],
)
def test_a_text_is_cut_where_a_sentence_or_else_a_word_ends(text, room, expected):
    assert cut(text, room) == expected
