"""A profile's text is made of its lines: what was written by hand as it was, then what was remembered since."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from keepword.profiles import ProfileLine, distinct_lines, render

PROFILE, AT = uuid4(), datetime(2026, 5, 1, tzinfo=UTC)


def written(position, text, *, is_filler=False, repeats=()):
    return ProfileLine(PROFILE, "ann", text, position, AT, is_filler, repeats)


def said(text, *, position=None, type_="fact", id_=None):
    return ProfileLine(PROFILE, "ann", text, position, AT, memory=id_ or uuid4(), type=type_)


@given(st.text())
def test_what_was_written_by_hand_comes_out_as_it_was(text):
    lines = [written(number, line) for number, line in enumerate(text.split("\n"))]
    assert render(lines, whole=True) == text


def test_what_was_remembered_stands_under_headings_each_thing_once():
    lines = [said("ann likes tea.", type_="preference"), said("ann sails."), said("ann  sails."), said("ann rows.")]
    assert render(lines, whole=False) == "Preferences\n- ann likes tea.\nFacts\n- ann sails.\n- ann rows."


def test_what_was_remembered_since_stands_after_what_was_written_and_does_not_repeat_it():
    lines = [written(0, "* ann sails."), said("ann sails."), said("ann rows.")]
    assert render(lines, whole=True) == "* ann sails.\nFacts\n- ann rows."
    assert render([written(0, "Ann."), written(1, ""), said("ann rows.")], whole=True) == "Ann.\nFacts\n- ann rows."


def test_a_repeated_line_is_shown_as_far_as_its_memory_is():
    id_ = uuid4()
    text = [written(0, "Facts", is_filler=True), written(1, "-  ann sails.", repeats=[id_]), written(2, "Mine.")]
    memory = said("ann sails.", position=1, id_=id_)
    assert render([*text, memory], whole=True) == "Facts\n-  ann sails.\nMine."
    # the memory is gone, or says something else now
    assert render(text, whole=True) == "Facts\nMine."
    assert render([*text, said("ann rows.", position=1, id_=id_)], whole=True) == "Facts\n- ann rows.\nMine."
    # others are not told that there is a line which they may not see
    others = [line for line in text if not line.repeats]
    assert render([*others, memory], whole=False) == "Facts\n- ann sails.\nMine."
    assert render(others[:1], whole=False) == ""


def test_headings_without_anything_below_them_are_left_out():
    fillers = [written(0, "Facts", is_filler=True), written(1, "", is_filler=True), written(2, "Tasks", is_filler=True)]
    assert render([*fillers, written(3, "call mum")], whole=False) == "Tasks\ncall mum"


def test_compose_gets_each_thing_once_and_nothing_that_says_nothing():
    other = ProfileLine(UUID(int=1), "bob", "ann sails.", None, AT, memory=uuid4(), type="fact")
    lines = [written(0, ""), written(1, "Facts", is_filler=True), written(2, "- ann sails."), said("ann sails."), other]
    assert distinct_lines(lines) == [lines[2], other]
