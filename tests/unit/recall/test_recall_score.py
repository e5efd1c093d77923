"""Scoring: what a score depends on, and what it does not."""

import warnings
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword.errors import InvalidInput
from keepword.recall import RECIPES
from keepword.recall.question import NamedDate, ask
from keepword.recall.rank import is_near
from keepword.recall.recipe import Recipe, recipe
from keepword.recall.score import date_fit, length_share, score, similarity, weight
from unit.recall.made import READER, candidates

WORDS = ("harbour", "pilot", "boat", "ferry", "tuesday", "sister", "piano", "garden", "invoice", "ticket", "river")
FILLERS = ("blue", "seven", "window", "paper", "orange", "kettle", "marble")
QUESTION = "When does the harbour pilot bring the invoice to my sister?"
EXACT = Recipe("exact", instant=0, soft=0, reach=MappingProxyType({}), person=0)


def scored(rows, question=QUESTION, chosen=EXACT, **known):
    return score(candidates(rows, question, **known), ask(question, READER.table), chosen, READER.table)


TEXTS = st.lists(st.sampled_from(WORDS + FILLERS), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), TEXTS, st.sampled_from(["fast", "best"]), st.floats(-1, 1))
def test_a_score_does_not_depend_on_who_else_is_there(others, text, name, deep):
    alone = scored([text], chosen=recipe(name), deeps=[deep])
    among = scored([*others, text], chosen=recipe(name), deeps=[0.3] * len(others) + [deep])
    assert among.total[-1] == pytest.approx(alone.total[0], abs=1e-5)


def test_rows_of_any_length_are_weighed_without_a_warning():
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for terms in range(1, 30):
            # doubles stay in the buffers of the library, and short rows are read past their end
            doubles = rng.standard_normal((40, 60))
            assert (doubles @ doubles.T).shape == (40, 40)
            has, idfs = rng.random((400, terms)) < 0.1, rng.random(terms, np.float32)
            summed = [float(idfs[row].sum()) for row in has]
            assert weight(has, idfs).tolist() == pytest.approx(summed, abs=1e-5)
        weight(np.zeros((3, 2), np.float32), np.full(2, np.inf, np.float32))


def test_with_the_seeds_recipe_it_does():
    alone = scored(["the harbour"], chosen=recipe("seed"))
    among = scored(["the harbour", "the harbour pilot has an invoice"], chosen=recipe("seed"))
    assert alone.shares["words"][0] == pytest.approx(0.3)
    assert among.shares["words"][0] < 0.3
    assert among.shares["words"][1] == pytest.approx(0.3)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.sampled_from(["harbour", "pilot", "invoice", "sister"]), st.sampled_from(["fast", "best", "exact"]))
def test_one_more_word_of_the_question_never_lowers_the_score_of_words(text, word, name):
    chosen = EXACT if name == "exact" else recipe(name)
    less, more = scored([text, f"{text} {word}"], chosen=chosen).shares["words"]
    assert more >= less - 1e-6
    if name == "exact":
        assert (more > less + 1e-6) == (word not in text)


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_of_longer_texts_a_word_is_worth_less_but_not_nothing(length, more):
    shorter, longer = length_share(np.array([length, length + more]), EXACT)
    assert 0 < longer <= shorter <= 1
    if length + more <= EXACT.short:
        assert longer == 1


def test_rare_words_weigh_more():
    found = candidates(["harbour", "pilot"], "harbour pilot")
    rare_first = replace(found, frequencies=np.array([5, 500], np.float32))
    total = score(rare_first, ask("harbour pilot", READER.table), EXACT, READER.table).total
    assert total[0] > total[1] > 0


@pytest.mark.parametrize("distance", [-3, -2, -1, 1, 2, 3])
def test_turns_beside_a_message_lend_it_their_words_by_distance(distance):
    chosen = replace(EXACT, reach=recipe("fast").reach)
    rows = [
        {"text": "yes of course", "talk": 7, "seq": 10},
        {"text": "harbour pilot", "talk": 7, "seq": 10 + distance},
        {"text": "yes of course", "talk": 8, "seq": 10},
    ]
    shares = scored(rows, "harbour pilot", chosen).shares["words"]
    lent = chosen.reach.get(distance, 0) * chosen.people
    assert shares[0] == pytest.approx(shares[1] * lent)
    assert shares[2] == 0


def test_people_lend_one_another_more_than_an_agent_lends_them():
    chosen = replace(EXACT, reach=MappingProxyType({-1: 0.5}), to_agent=0.9)
    speakers = [("user", "user"), ("assistant", "user"), ("user", "assistant"), ("assistant", "assistant")]
    rows = [
        {"text": text, "talk": talk, "seq": seq, "role": role}
        for talk, pair in enumerate(speakers)
        for seq, (text, role) in enumerate(zip(("harbour pilot", "yes of course"), pair, strict=True))
    ]
    shares = scored(rows, "harbour pilot", chosen).shares["words"]
    lent = (shares[1::2] / shares[0]).tolist()
    assert lent == pytest.approx([0.5 * chosen.people, 0.5 * chosen.from_agent, 0.5 * 0.9, 0.5])


@pytest.mark.parametrize(("between", "factor"), [("user", 1.2), ("assistant", 0.8)])
def test_a_person_lends_less_across_an_agents_turn(between, factor):
    chosen = replace(EXACT, reach=MappingProxyType({-2: 0.5, 2: 0.25}), people=1.2, across_agent=0.8)
    roles = [("harbour", "user"), ("well", between), ("pilot", "user")]
    rows = [{"text": text, "talk": 7, "seq": seq, "role": role} for seq, (text, role) in enumerate(roles)]
    beside = scored(rows, "harbour pilot", chosen).matches.beside
    assert beside[2].tolist() == pytest.approx([0.5 * factor, 0])
    assert beside[0].tolist() == pytest.approx([0, 0.25 * factor])


def test_what_is_lent_does_not_add_to_what_is_there():
    chosen = replace(EXACT, reach=recipe("fast").reach)
    rows = [{"text": "harbour", "talk": 7, "seq": seq} for seq in (1, 2, 3)]
    shares = scored(rows, "harbour", chosen).shares["words"]
    assert shares[0] == shares[1] == shares[2] == scored(["harbour"], "harbour", chosen).shares["words"][0]


def test_similar_words_count_less_than_the_word_itself():
    same, similar, other = scored(["the boat", "the ship", "the invoice"], "boat", recipe("fast")).shares["words"]
    assert same > similar > other


DAYS = np.array(["2023-05-07", "2023-05-20", "2022-05-07", "2023-06-07"], "datetime64[D]")


def test_a_date_fits_by_year_then_month_then_day():
    chosen = recipe("fast")
    fits = date_fit(DAYS, (NamedDate(2023, 5, 7),), chosen)
    assert fits.tolist() == [chosen.year + chosen.month + chosen.day, chosen.year + chosen.month, 0, chosen.year]
    assert date_fit(DAYS, (NamedDate(None, 5, None),), chosen).tolist() == [4, 4, 4, 0]
    assert date_fit(DAYS, (NamedDate(2022, None, None),), chosen).tolist() == [0, 0, 1, 0]
    assert not date_fit(DAYS, (), chosen).any()
    # of two dates, the better one counts
    both = date_fit(DAYS, (NamedDate(2022, None, None), NamedDate(2023, 6, None)), chosen)
    assert both.tolist() == [1, 1, 1, 5]


def test_who_is_asked_for_is_lifted():
    chosen = replace(EXACT, person=2)
    rows = [{"text": "harbour", "mine": True}, {"text": "harbour"}, {"text": "harbour", "role": "assistant"}]

    def speaker(question):
        return (scored(rows, question, chosen).shares["speaker"] > 0).tolist()

    assert speaker("my harbour") == [True, False, False]
    assert speaker("your harbour") == [False, False, True]
    assert speaker("the harbour") == [False, False, False]


def test_what_the_named_person_said_is_lifted():
    rows = [{"text": "Bob: harbour", "named": True}, {"text": "Ann: harbour"}]
    result = scored(rows, "What did Bob say about the harbour?", recipe("fast"))
    assert result.shares["named"].tolist() == pytest.approx([recipe("fast").named, 0])


def test_what_does_not_pass_the_filter_changes_nothing_for_what_does():
    texts, question, chosen = ["Bob: kettle", "Ann: harbour"], "What did Bob say of the harbour?", recipe("fast")
    named = [{"text": text, "named": text.startswith("Bob")} for text in texts]
    found = candidates(named, question)
    lifts = [
        score(replace(found, fits=np.array(fits)), ask(question, READER.table), chosen, READER.table).lift
        for fits in ([True, True], [False, True])
    ]
    assert lifts == pytest.approx([chosen.named, 0])


def test_a_named_speaker_alone_shows_nothing():
    rows = [{"text": "blue kettle", "named": True}, {"text": "the harbour", "named": True}]
    near = is_near(scored(rows, "What did Bob say about the harbour?"), floor=0.05)
    assert near.tolist() == [False, True]


def test_what_is_not_embedded_yet_is_not_behind():
    late, low = scored(["harbour pilot"] * 2, "harbour pilot", recipe("best"), deeps=[np.nan, 0.0]).shares["deep"]
    assert late == pytest.approx(recipe("best").deep * recipe("best").stand_in, abs=1e-3)
    assert low == 0


def test_similarity_is_the_mean_of_the_spaces_that_know_the_entry():
    found = candidates(["harbour pilot", "orange kettle", "blue window"], QUESTION, deeps=[0.9, np.nan, -0.4])
    near = np.maximum(found.instants, 0)
    assert similarity(found) == pytest.approx([(near[0] + 0.9) / 2, near[1], near[2] / 2])
    assert similarity(replace(found, deeps=None)) == pytest.approx(near)


def test_shares_add_up_to_the_score_and_nothing_is_no_number():
    found = scored(["", "harbour", "東京"], chosen=recipe("best"), deeps=[np.nan, 0.2, -1])
    assert np.isfinite(found.total).all()
    assert found.total == pytest.approx(sum(found.shares.values()))
    assert len(scored([]).total) == 0
    assert scored(["harbour"], "the of and").total.tolist() == [0]


def test_an_unknown_recipe_is_told_which_there_are():
    with pytest.raises(InvalidInput, match="best, fast, seed"):
        recipe("worst")
    assert set(RECIPES) == {"best", "fast", "seed"}
