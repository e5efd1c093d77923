"""How common words are: a table of public talk smooths what a scope itself tells."""

import numpy as np

from keepword.embedding.words import hashed, stem
from keepword.recall.rates import FADING_TURNS, PRIOR_TURNS, smoothed, word_rates
from keepword.recall.score import idf


def rates(*words):
    return word_rates().of(np.array([hashed(stem(word)) for word in words], np.int32))


def test_common_words_have_higher_rates_than_rare_ones_and_unknown_ones_have_none():
    work, garden, unknown = rates("work", "gardening", "xyzzyplugh")
    assert work > garden > unknown == 0
    assert work < 0.2


def test_a_word_of_every_turn_here_weighs_less_than_one_of_a_single_turn():
    known = rates("keepwordish", "zorblax")
    frequencies, turns = smoothed(np.array([100, 1], np.float32), 100, known)
    often, once = idf(frequencies, turns)
    assert PRIOR_TURNS < turns < 100 + PRIOR_TURNS
    assert once > often > 0


def test_in_an_empty_scope_public_talk_alone_tells_the_rare_from_the_common():
    common, rare = idf(*smoothed(np.zeros(2, np.float32), 0, rates("time", "telescope")))
    assert rare > common


def test_no_word_has_no_rate():
    assert len(word_rates().of(np.zeros(0, np.int32))) == 0


def test_the_more_a_scope_holds_the_less_public_talk_counts_in_it():
    def added(turns: int) -> int:
        return smoothed(np.zeros(1, np.float32), turns, rates("time"))[1] - turns

    assert added(0) == PRIOR_TURNS
    assert added(FADING_TURNS) == PRIOR_TURNS // 2
    assert added(600) > 0.95 * PRIOR_TURNS
    assert added(60_000) < 0.01 * PRIOR_TURNS
