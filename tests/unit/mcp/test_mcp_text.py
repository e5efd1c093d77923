"""What a model reads: nothing that was said can pass for another line, and every argument is one of REST's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.http.queries import BrowseQuery, StatsQuery
from keepword.http.schemas import SearchBody
from keepword.mcp import text
from keepword.mcp.arguments import Browse, Search, Stats, schema

NASTY = st.text(st.one_of(st.characters(), st.sampled_from('\n\r\v\f\x1c\x85\u2028\u2029\u202e"\\|0')))

EMPTY = {"searched": {}, "results": [], "degraded": [], "hint": None, "answer": None}


@given(NASTY)
def test_a_quoted_text_is_one_line_and_tells_the_text(said):
    shown = text.quoted(said)
    assert shown.splitlines() == [shown]
    assert shown.isprintable()
    assert json.loads(shown) == said


def hit(**values):
    made = {
        "kind": "message", "score": 0.5, "text": "hello", "role": "user", "user": "ann", "agent": "ada",
        "created_at": "2026-01-31T12:00:00.123Z", "run_id": "session:c", "conversation": "c", "seq": 3, "context": [],
        "inside": [],
    }  # fmt: skip
    return made | values


@given(NASTY, NASTY, NASTY)
def test_no_text_or_name_adds_a_line(said, name, conversation):
    found = hit(text=said, user=name, conversation=conversation or None)
    shown = text.search(
        {"searched": {}, "results": [found, hit(context=[found])], "degraded": [], "hint": None, "answer": None}
    )
    first, *lines = shown.splitlines()
    assert first.startswith("2 found")
    assert [line.partition(" ")[0] for line in lines[:2]] == ["1.", "2."]
    assert lines[2].startswith("   beside: ")
    assert len(lines) == 3


def test_a_line_says_who_when_where_and_what():
    shown = text.search(EMPTY | {"results": [hit()], "degraded": ["deep: away"], "hint": None, "answer": None})
    assert shown.splitlines()[1:] == [
        '1. score 0.500 | user "ann" | 2026-01-31T12:00:00Z | in "c" #3 | "hello"',
        "Not used: deep: away",
    ]
    summary = hit(kind="summary", role=None, user=None, agent=None, conversation=None)
    shown = text.search(EMPTY | {"results": [summary]})
    assert shown.endswith('1. score 0.500 | summary | 2026-01-31T12:00:00Z | in "session:c" | summary | "hello"')

    summary |= {"conversation": "c", "seq": None, "inside": [hit(kind="summary", role=None, seq=None)]}
    shown = text.search(EMPTY | {"results": [summary]})
    assert shown.count('in "c" | summary') == 2
    assert "None" not in shown


def test_a_long_text_is_cut_and_says_so():
    shown = text.search(
        {"searched": {}, "results": [hit(text="é" * 1000)], "degraded": [], "hint": None, "answer": None}
    )
    assert shown.endswith('é" and 400 characters more')


def test_nothing_found_says_what_to_try():
    assert text.search(EMPTY | {"results": [], "degraded": [], "hint": "try this"}) == "Nothing found: try this."
    assert "filters" in text.browse({"messages": [], "next": None})


@pytest.mark.parametrize(("arguments", "route"), [(Search, SearchBody), (Browse, BrowseQuery), (Stats, StatsQuery)])
def test_a_tool_takes_what_its_route_takes(arguments, route):
    # an agent reads here: what was retracted is for people
    assert set(arguments.model_fields) == set(route.model_fields) - {"retracted"}
    made = schema(arguments)
    assert made["additionalProperties"] is False
    for field in made["properties"].values():
        assert field["description"]
        assert "anyOf" not in field
        assert "type" in field or "enum" in field


def test_an_answer_stands_first_with_what_it_rests_on_and_a_summary_shows_what_is_inside():
    sentence = {"text": "It is\n4 bar.", "cites": [{"id": "id-1"}]}
    inner = hit(text="P-7 runs at 4 bar.")
    shown = text.search(
        {
            **EMPTY,
            "results": [hit(kind="summary", inside=[inner])],
            "degraded": [],
            "hint": None,
            "answer": {"sentences": [sentence]},
        }
    )
    lines = shown.splitlines()
    assert lines[0] == 'Answer: "It is\\n4 bar." (from id-1)'
    assert lines[3].startswith("   inside: ")
    assert "4 bar" in lines[3]
