"""A score is a chance: it rises with the sum of shares, and can be turned back into one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.recall import RECIPES
from keepword.recall.calibration import FITTED_ENTRIES

CURVES = [one.calibration for one in RECIPES.values() if one.calibration]
totals, weights, sizes = st.floats(0, 3), st.floats(0, 200), st.integers(0, 10**7)


def test_the_recipes_of_our_own_have_one():
    assert {name for name, one in RECIPES.items() if one.calibration} == {"best", "fast"}


@pytest.mark.parametrize("curve", CURVES)
@given(totals, totals, weights, sizes)
def test_of_two_entries_the_one_with_more_has_the_better_chance(curve, one, other, weight, entries):
    low, high = sorted((one, other))
    assert 0 < curve.chance(low, weight, entries) <= curve.chance(high, weight, entries) <= 1


@pytest.mark.parametrize("curve", CURVES)
@given(totals, st.floats(0, 50), sizes)
def test_a_chance_leads_back_to_the_sum(curve, total, weight, entries):
    chance = curve.chance(total, weight, entries)
    assert curve.least_total(chance, weight, entries) == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("curve", CURVES)
def test_every_chance_is_at_least_none_and_none_is_certain(curve):
    assert curve.least_total(0, 10, 500) == -math.inf
    assert curve.least_total(1, 10, 500) == math.inf


@pytest.mark.parametrize("curve", CURVES)
def test_in_a_small_scope_the_same_match_says_more(curve):
    """With ten entries there is less to match by chance than with hundreds, where the curves were fitted."""
    chances = [curve.chance(1.0, 10, entries) for entries in (1, 10, 100, FITTED_ENTRIES, 10_000)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9
    assert chances[-2] == chances[-1]
