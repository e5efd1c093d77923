"""What a question asks for beside its words."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keepword.embedding.instant import InstantTable
from keepword.recall.question import MAX_LITERALS, MAX_TERMS, ask, first_name, literals, named_dates, speaker_asked_for
from keepword.recall.time_words import NamedDate

TABLE = InstantTable()


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What did we do on 5 March 2023?", [(2023, 3, 5)]),
        ("What did we do on March 5th, 2023?", [(2023, 3, 5)]),
        ("the 21st of Sept.", [(None, 9, 21)]),
        ("Who came in July?", [(None, 7, None)]),
        ("between June 2022 and Aug", [(2022, 6, None), (2022, 8, None)]),
        ("What happened in 2021?", [(2021, None, None)]),
        ("May I ask something?", []),
        ("What did I do in May?", [(None, 5, None)]),
        ("it may rain in march", []),
        ("room 1204", []),
        ("nothing of the kind", []),
    ],
)
def test_the_dates_that_it_names(question, wanted):
    assert named_dates(question) == tuple(NamedDate(*date) for date in wanted)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What did you recommend?", "agent"),
        ("Your advice to me?", "agent"),
        ("Can you remind me of the hotel?", "agent"),
        ("Do you remember which one it was?", "agent"),
        ("Could you repeat that?", "agent"),
        ("Can you find the hotel that you named?", "agent"),
        ("Can you suggest a hotel for my trip?", "user"),
        ("I'm tired. Do you have any tips?", "user"),
        ("Would you please tell me where I parked?", "user"),
        ("What do you think of Ann?", None),
        ("What is my sister's name?", "user"),
        ("Where did I park?", "user"),
        ("Where did Ann park?", None),
        ("in i.e. Italy", None),
    ],
)
def test_who_it_says_spoke(question, wanted):
    assert speaker_asked_for(question) == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("where is src/main.py used?", ["src/main.py"]),
        ("what about KW-1204, and v2.3.1?", ["KW-1204", "v2.3.1"]),
        ("set user_id on ~/notes/a.md", ["user_id", "~/notes/a.md"]),
        ("COVID-19 on 2024-05-01 in a-1", ["COVID-19", "2024-05-01"]),
        ("a dairy-free, week-long 5-day state-of-the-art über-cool plan", []),
        ("the 21st at 10am in the 1990s", []),
        ("plain words. Two sentences.", []),
        ("a1", []),
        ("ann@example.org 10.0.0.1 C:\\temp\\x", ["ann@example.org", "10.0.0.1", "C:\\temp\\x"]),
    ],
)
def test_what_is_meant_to_the_letter(question, wanted):
    assert list(literals(question)) == wanted


@pytest.mark.parametrize(
    ("question", "user", "is_named"),
    [
        ("What did Caroline say?", "Caroline", True),
        ("what is caroline's plan", "caroline.weber@example.org", True),
        ("What did Weber say?", "caroline.weber", False),
        ("What did Jos\u00e9 cook?", "Jos\u00e9 Ortiz", True),
        ("What did Jos\u00e9 cook?", "jose", True),
        ("Which user has the invoice?", "user-42", False),
        ("What will it cost?", "Will", False),
        ("Who paid?", "", False),
    ],
)
def test_whom_it_names(question, user, is_named):
    assert (first_name(user) in ask(question, TABLE).names) == is_named


@given(st.text(max_size=400))
@example("\u0621\u0621\u0621\u0646")
def test_any_text_is_a_question(text):
    asked = ask(text, TABLE)
    assert len(asked.terms) == len(asked.pieces) == len(asked.directions) <= MAX_TERMS
    assert len(asked.hashes) == len(asked.owners) == len(asked.rates)
    assert sorted(set(asked.owners.tolist())) == list(range(len(asked.terms)))
    assert not asked.without(asked.surfaces.values()).hashes.size
    assert len(set(asked.terms)) == len(asked.terms)
    assert len(asked.literals) <= MAX_LITERALS
    assert all(literal in text for literal in asked.literals)
    assert asked.vector.shape == (256,)


def test_forms_of_a_word_are_one_term_and_stop_words_none():
    assert ask("the running runs, Run!", TABLE).terms == ("run",)
    assert ask("who is it that we were with", TABLE).terms == ()
    assert ask("Ärger ARGER", TABLE).terms == ask("arger", TABLE).terms


def test_signs_without_blanks_between_words_are_terms_one_by_one_and_in_pairs():
    assert set(ask("東京都", TABLE).terms) == {"東", "京", "都", "東京", "京都"}
