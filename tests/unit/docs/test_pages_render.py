"""Tables of the pages are tables: a row without a header above it would be shown as a paragraph of pipes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
_RULE = re.compile(r"\|( *:?-+:? *\|)+")


def tables(page) -> list[list[str]]:
    """Return each run of lines that begin with a pipe."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [block.splitlines() for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)]


def cells(line) -> int:
    return _CODE.sub("", line).replace("\\|", "").count("|") - 1


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_table_has_a_header_and_rows_of_its_width(page):
    for lines in tables(page):
        assert len(lines) > 1, lines
        assert _RULE.fullmatch(lines[1]), lines[:2]
        assert {cells(line) for line in lines} == {cells(lines[0])}, lines[0]


def test_no_decision_stands_twice():
    decisions = [line.split("|")[1] for table in tables(ROOT / "docs" / "decisions.md") for line in table[2:]]
    assert len(decisions) == len(set(decisions))
