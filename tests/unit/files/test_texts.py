"""What the commands write and answer, beside what Anthropic's own tests show."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.answers import TreeFile
from keepword.errors import InvalidInput, NotFound
from keepword.files import texts

AT = datetime(2026, 1, 31, tzinfo=UTC)


def files(**sizes):
    return [TreeFile(f"/memories/{path}", 1, size, "", "agent:ada", AT) for path, size in sizes.items()]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0B"), (1, "1B"), (1023, "1023B"), (1024, "1K"), (1536, "1.5K"), (2 << 20, "2M"), (3 << 40, "3072G")],
)
def test_sizes_are_written_as_anthropics_tool_does(size, text):
    assert texts.file_size(size) == text


def test_a_folder_shows_two_levels_with_the_sizes_of_all_below_and_nothing_hidden():
    held = files(**{"b.md": 1, "a/x.md": 1024, "a/deep/y.md": 512, "a/deep/er/z.md": 512, ".git/c": 9, "a/.d": 7})
    assert texts.listed("/memories", "/memories", held).splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "2.0K\t/memories",
        "2.0K\t/memories/a/",
        "1K\t/memories/a/deep/",
        "1K\t/memories/a/x.md",
        "1B\t/memories/b.md",
    ]


def test_an_empty_tree_is_shown_as_such():
    assert texts.listed("/memories", "/memories", []).endswith(":\n0B\t/memories")


def test_of_very_many_entries_the_first_are_shown():
    held = files(**{f"{number:05}.md": 1 for number in range(1500)})
    lines = texts.listed("/memories", "/memories", held).splitlines()
    assert lines[-1] == "... and 500 more; view a folder by itself"
    assert len(lines) == 2 + texts.MAX_ENTRIES + 1


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [(None, "123"), ([1, -1], "123"), ([2, 2], "2"), ([0, 1], "1"), ([3, 99], "3"), ([5, 9], ""), ([2, 1], "")],
)
def test_a_range_shows_what_there_is_of_it(view_range, shown):
    lines = texts.numbered("/memories/a", "l1\nl2\nl3", view_range).split("\n")[1:]
    assert [line for line in lines if line] == [f"{number:>6}\tl{number}" for number in shown]


def test_each_place_of_a_text_that_is_not_unique_is_named_and_of_many_the_first():
    with pytest.raises(InvalidInput, match=r"in lines: 1, 1, 3\. Please ensure it is unique"):
        texts.replaced("/memories/a", "aXaX\nb\nX", "X", "y")
    with pytest.raises(InvalidInput) as refused:
        texts.replaced("/memories/a", "a" * 1_000_000, "a", "b")
    assert str(refused.value).count("1, ") == texts.MAX_PLACES
    assert len(str(refused.value)) < 1000


def test_an_empty_old_str_is_nowhere():
    with pytest.raises(NotFound, match="old_str `` did not appear verbatim"):
        texts.replaced("/memories/a", "", "", "x")


@given(st.text(alphabet="ab\r\n", max_size=30), st.text(alphabet="xy\n", max_size=8), st.integers(-2, 12))
def test_an_insert_keeps_every_line_that_was_there(content, text, line):
    lines = content.split("\n")[:-1] if content.endswith("\n") or not content else content.split("\n")
    if not 0 <= line <= len(lines):
        with pytest.raises(InvalidInput, match="Invalid `insert_line` parameter"):
            texts.inserted(content, line, text)
        return
    changed = texts.inserted(content, line, text)
    assert changed.endswith("\n")
    after = changed.split("\n")[:-1] if changed != "\n" else [""]
    added = len(text.rstrip("\n").split("\n"))
    if changed != "\n" and (lines or text.rstrip("\n")):
        assert after[:line] + after[line + added :] in (lines, lines[:-1], [*lines, ""][: len(lines)])
