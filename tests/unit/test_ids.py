"""Ids sort by time, and the gaps between them tell nothing."""

import time
from itertools import islice, pairwise

from keepword.ids import new_id, series


def test_ids_are_of_version_7_and_of_now():
    made = new_id()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert abs((made.int >> 80) / 1000 - time.time()) < 60


def test_a_series_rises_and_repeats_nothing():
    made = list(islice(series(), 10_000))
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {id_.version for id_ in made} == {7}


def test_ids_that_others_make_meanwhile_leave_no_gap():
    """A counter for all would step on by as many as were made meanwhile."""
    mine = series()
    gaps = []
    for others in [0, 1000] * 50:
        first = next(mine)
        for _ in range(others):
            new_id()
        gaps.append(next(mine).int - first.int)
    assert max(gaps) <= 1 << 32


def test_ids_of_one_millisecond_are_not_neighbours():
    made = sorted(new_id().int for _ in range(1000))
    near = [one for one, other in pairwise(made) if other - one < 1 << 40]
    assert not near
