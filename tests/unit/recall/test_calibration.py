"""A score is a chance: it rises with the sum of shares, and can be turned back into one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.recall import RECIPES

CURVES = [one.calibration for one in RECIPES.values() if one.calibration]
totals, weights = st.floats(0, 3), st.floats(0, 200)


def test_the_recipes_of_our_own_have_one():
    assert {name for name, one in RECIPES.items() if one.calibration} == {"best", "fast"}


@pytest.mark.parametrize("curve", CURVES)
@given(totals, totals, weights)
def test_of_two_entries_the_one_with_more_has_the_better_chance(curve, one, other, weight):
    low, high = sorted((one, other))
    assert 0 < curve.chance(low, weight) <= curve.chance(high, weight) < 1


@pytest.mark.parametrize("curve", CURVES)
@given(totals, weights)
def test_a_chance_leads_back_to_the_sum(curve, total, weight):
    assert curve.least_total(curve.chance(total, weight), weight) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("curve", CURVES)
def test_every_chance_is_at_least_none_and_none_is_certain(curve):
    assert curve.least_total(0, 10) == -math.inf
    assert curve.least_total(1, 10) == math.inf
