"""Bodies share memory: one tenant can't take all of it."""

from keepword.http.incoming import BodyBudget


def test_a_tenant_alone_gets_half_and_another_one_always_finds_some():
    budget = BodyBudget(1000)
    assert all(budget.take("one", 100) for _ in range(5))
    assert not budget.take("one", 1)
    assert budget.take("two", 250)
    assert not budget.take("two", 1)
    assert budget.take("three", 125)


def test_what_is_given_back_can_be_taken_again():
    budget = BodyBudget(1000)
    assert budget.take("one", 500)
    budget.give_back("one", 500)
    assert budget.take("two", 500)
    budget.give_back("two", 500)
    assert budget.take("one", 500)


def test_a_body_that_would_not_leave_as_much_is_refused_whole():
    budget = BodyBudget(1000)
    assert not budget.take("one", 501)
    assert budget.take("one", 500)
