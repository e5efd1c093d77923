"""Of the summaries of the same messages, the most specific one is shown."""

from dataclasses import dataclass

from keepword.recall.rank import most_specific


@dataclass(frozen=True)
class One:
    name: str
    covers: tuple[int, int] | None = None
    conversation: str = "a"
    kind: str = "summary"


def names(*hits, most=10):
    return [hit.name for hit in most_specific(hits, most)]


def test_a_summary_above_another_that_was_found_is_left_out_wherever_it_stands():
    assert names(One("week", (1, 90)), One("thread", (1, 30)), One("other", (31, 60))) == ["thread", "other"]
    assert names(One("thread", (1, 30)), One("week", (1, 90))) == ["thread"]


def test_of_two_that_cover_the_same_the_first_stays():
    assert names(One("session", (1, 30)), One("thread", (1, 30))) == ["session"]


def test_what_covers_nothing_in_common_stays():
    assert names(One("first", (1, 30)), One("second", (31, 60)), One("other talk", (1, 90), "b")) == [
        "first", "second", "other talk",
    ]  # fmt: skip


def test_what_an_agent_wrote_and_what_was_said_stay():
    assert names(One("stored"), One("week", (1, 90)), One("said", kind="message")) == ["stored", "week", "said"]


def test_only_so_many_summaries_stay():
    found = names(One("week", (1, 90)), One("a", (1, 30)), One("said", kind="message"), One("b", (31, 60)), most=1)
    assert found == ["a", "said"]
