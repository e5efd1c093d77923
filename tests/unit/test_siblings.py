"""How many processes serve, and what each of them gets of the service's limits."""

import os

import pytest

from keepword import siblings
from keepword.config import Settings

DIVIDED = ("pool_size", "requests_at_once", "requests_waiting", "copies_mb", "connections", "bodies_mb")


def test_there_is_one_process_for_each_processor_unless_a_number_is_set():
    assert siblings.count(Settings()) == min(len(os.sched_getaffinity(0)), siblings.MOST_PROCESSES)
    assert siblings.count(Settings(processes=3)) == 3


def test_one_process_has_all_limits_to_itself():
    assert siblings.share(Settings(), 1) == Settings()


@pytest.mark.parametrize("processes", [2, 3, 8])
def test_several_processes_divide_what_is_limited(processes):
    whole, part = Settings(), siblings.share(Settings(), processes)
    for name in DIVIDED:
        limit, own = getattr(whole, name), getattr(part, name)
        assert limit <= own * processes
        assert own == max(-(-limit // processes), 4) or own == -(-limit // processes)


def test_no_limit_stays_none():
    part = siblings.share(Settings(copies_mb=0, requests_per_tenant=0), 4)
    assert (part.copies_mb, part.requests_per_tenant) == (0, 0)


def test_a_share_is_never_more_than_the_whole():
    part = siblings.share(Settings(pool_size=2, requests_at_once=1), 4)
    assert (part.pool_size, part.requests_at_once) == (2, 1)
