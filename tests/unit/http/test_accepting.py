"""Processes that share a socket see how many connections each of them has open."""

from keepword.http.accepting import SLACK, OpenConnections


def test_a_process_is_ahead_of_one_that_serves_and_has_fewer(tmp_path):
    first, second = (OpenConnections(tmp_path, number, 2) for number in range(2))
    first.show(0)
    assert not first.is_ahead()  # the other does not serve yet
    second.show(0)
    assert not first.is_ahead()
    first.show(SLACK)
    assert first.is_ahead()
    assert not second.is_ahead()
    for _ in range(SLACK):
        second.expect()
    assert not first.is_ahead()


def test_a_process_that_died_is_not_waited_for(tmp_path):
    first, second = (OpenConnections(tmp_path, number, 2) for number in range(2))
    first.show(40)
    second.show(0)
    assert first.is_ahead()
    first.leave(1)
    assert not first.is_ahead()
    second.show(0)  # started again
    assert first.is_ahead()


def test_the_first_process_alone_is_never_ahead(tmp_path):
    only = OpenConnections(tmp_path, 0, 1)
    only.show(1_000)
    assert not only.is_ahead()
