"""Planning, as properties: whatever is said and whenever the planner looks, the windows tile the conversation."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from keepword.compaction.plan import (
    CompactionPolicy,
    MessageOutline,
    OrphanSummary,
    Segment,
    leaves_due,
    parents_due,
    week_end,
)

START = datetime(2026, 4, 18, 12, tzinfo=UTC)
PACE = CompactionPolicy(window_messages=5, tail_messages=2, silence=timedelta(hours=1), most_leaves=4)


def said(*minutes, role="user"):
    return [MessageOutline(seq, START + timedelta(minutes=at), role) for seq, at in enumerate(minutes, 1)]


@dataclass
class Talk:
    """A conversation as it grows, with the planner run on it at any time."""

    messages: list[MessageOutline] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    leaves: list[OrphanSummary] = field(default_factory=list)
    parents: dict = field(default_factory=dict)
    tiers: dict = field(default_factory=lambda: {"session": [], "day": [], "week": []})
    now: datetime = START

    def say(self, kind, gap_minutes):
        self.now += timedelta(minutes=gap_minutes)
        if kind == "calls":
            first = self._add("assistant", "a", is_call=True)
            second = self._add("assistant", "b", is_call=True)
            self.pairs += [(first, self._add("tool", "a")), (second, self._add("tool", "b"))]
        elif kind == "call":
            call = self._add("assistant", "a", is_call=True)
            self.now += timedelta(minutes=gap_minutes)
            self.pairs.append((call, self._add("tool", "a")))
        elif kind == "unanswered":
            self._add("assistant", "c", is_call=True)
        else:
            self._add(kind)

    def _add(self, role, tool=None, *, is_call=False):
        self.messages.append(MessageOutline(len(self.messages) + 1, self.now, role, tool, is_call))
        return len(self.messages)

    def compact(self, *, quiet):
        uncovered = self.messages[self.leaves[-1].last_seq if self.leaves else 0 :]
        windows = leaves_due(uncovered, PACE, quiet=quiet)
        self.leaves += [self._node(window.first_seq, window.last_seq) for window in windows]
        uncovered = self.messages[self.leaves[-1].last_seq if self.leaves else 0 :]
        while due := parents_due(self.orphans(), uncovered, PACE, self.now, quiet=quiet):
            self._take(due)
        return windows

    def orphans(self):
        tiers = {"thread": self.leaves, **{tier: self.tiers[tier] for tier in ("session", "day")}}
        return {tier: self._orphans(nodes) for tier, nodes in tiers.items()}

    def _orphans(self, nodes):
        return [node for node in nodes if node.id not in self.parents]

    def _take(self, families):
        for family in families:
            node = self._node(family.children[0].first_seq, family.children[-1].last_seq)
            for child in family.children:
                assert child.id not in self.parents
                self.parents[child.id] = node.id
            self.tiers[family.tier].append(node)

    def _node(self, first, last):
        inside = [message.at for message in self.messages[first - 1 : last]]
        return OrphanSummary(uuid4(), first, last, min(inside), max(inside))


steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["user", "assistant", "system", "call", "calls", "unanswered"]),
            st.sampled_from([0, 1, 5, 59, 60, 61, 600, 3000]),
        ),
        st.just("plan"),
    ),
    max_size=120,
)


def grow(script):
    talk = Talk()
    for step in script:
        if step == "plan":
            live = [message.seq for message in talk.messages][-PACE.tail_messages :]
            session_start = next(
                (m.seq for p, m in zip(reversed(talk.messages[:-1]), reversed(talk.messages), strict=False)
                 if m.at - p.at >= PACE.silence), 1,
            )  # fmt: skip
            for window in talk.compact(quiet=False):
                if window.last_seq >= session_start:
                    assert window.last_seq not in live
        else:
            talk.say(*step)
    return talk


def close(talk):
    talk.compact(quiet=True)
    talk.now += timedelta(days=15)
    talk.compact(quiet=True)


@settings(deadline=None)
@given(steps)
def test_in_the_end_every_message_is_in_exactly_one_leaf_and_no_result_is_cut_from_its_call(script):
    talk = grow(script)
    close(talk)
    covered = [seq for leaf in talk.leaves for seq in range(leaf.first_seq, leaf.last_seq + 1)]
    assert covered == [message.seq for message in talk.messages]
    for call, result in talk.pairs:
        assert any(leaf.first_seq <= call and result <= leaf.last_seq for leaf in talk.leaves)


@settings(deadline=None)
@given(steps)
def test_every_parent_joins_several_and_in_the_end_no_week_has_two_without_a_parent(script):
    talk = grow(script)
    close(talk)
    joined = Counter(talk.parents.values())
    assert joined.keys() == {node.id for nodes in talk.tiers.values() for node in nodes}
    assert all(count > 1 for count in joined.values())
    weeks = [week_end(node.earliest_at) for nodes in talk.orphans().values() for node in nodes]
    assert len(weeks) == len(set(weeks))


@settings(deadline=None)
@given(steps, st.booleans())
def test_looking_again_finds_nothing_more_to_do(script, quiet):
    talk = grow(script)
    talk.compact(quiet=quiet)
    before = (list(talk.leaves), dict(talk.parents))
    assert talk.compact(quiet=quiet) == []
    assert (talk.leaves, talk.parents) == before


@settings(deadline=None)
@given(st.lists(st.integers(0, 59), max_size=80))
def test_without_tool_calls_no_window_is_over_the_limit(gaps):
    at = [sum(gaps[: number + 1]) for number in range(len(gaps))]
    windows = leaves_due(said(*at), PACE, quiet=True)
    assert all(window.last_seq - window.first_seq < PACE.window_messages for window in windows)


def test_a_live_conversation_is_compacted_behind_its_tail():
    assert leaves_due(said(*range(6)), PACE, quiet=False) == []
    assert leaves_due(said(*range(7)), PACE, quiet=False) == [Segment(1, 5)]
    assert leaves_due(said(*range(12)), PACE, quiet=False) == [Segment(1, 5), Segment(6, 10)]


def test_a_silence_closes_what_is_before_it():
    assert leaves_due(said(0, 1, 62, 63), PACE, quiet=False) == [Segment(1, 2)]


def test_a_leap_back_in_time_by_an_import_closes_as_well():
    assert leaves_due(said(6000, 6001, 0, 1), PACE, quiet=False) == [Segment(1, 2)]


def test_a_closed_stretch_is_cut_evenly():
    assert leaves_due(said(*range(6)), PACE, quiet=True) == [Segment(1, 3), Segment(4, 6)]


def test_a_call_at_the_edge_waits_for_its_result_while_the_conversation_is_live():
    messages = said(*range(10))
    messages[4] = MessageOutline(5, messages[4].at, "assistant", "deploy", is_call=True)
    messages[5:] = [MessageOutline(m.seq, m.at, "assistant", "poll", is_call=True) for m in messages[5:]]
    assert leaves_due(messages, PACE, quiet=False) == []
    assert leaves_due(messages, PACE, quiet=True) == [Segment(1, 5), Segment(6, 10)]


def test_calls_that_never_get_a_result_do_not_block_for_ever():
    messages = [MessageOutline(m.seq, m.at, "assistant", "poll", is_call=True) for m in said(*range(25))]
    assert leaves_due(messages, PACE, quiet=False)[0] == Segment(1, 5)


def test_a_session_without_a_pause_closes_when_it_has_many_leaves():
    talk = Talk()
    for _ in range(PACE.window_messages * (PACE.most_leaves + 1)):
        talk.say("user", 1)
    talk.compact(quiet=False)
    assert [(node.first_seq, node.last_seq) for node in talk.tiers["session"]] == [(1, 20)]


def orphans(**tiers):
    return {tier: tiers.get(tier, ()) for tier in ("thread", "session", "day")}


def node(first, at):
    return OrphanSummary(uuid4(), first, first, at, at)


def due(orphans, now, uncovered=()):
    found = parents_due(orphans, uncovered, PACE, now, quiet=True)
    return [(family.tier, family.children) for family in found]


def test_one_leaf_has_nothing_above_it_however_late_it_is():
    assert due(orphans(thread=[node(1, START)]), START + timedelta(days=90)) == []


def test_two_leaves_of_one_session_are_joined_by_it_and_two_of_one_day_by_the_day():
    now = START + timedelta(days=1)
    together = [node(1, START), node(2, START + timedelta(minutes=5))]
    assert due(orphans(thread=together), now) == [("session", tuple(together))]
    apart = [node(1, START), node(2, START + timedelta(hours=5))]
    assert due(orphans(thread=apart), now) == [("day", tuple(apart))]


def test_a_leaf_that_is_alone_on_its_day_is_joined_by_its_week():
    friday, saturday = node(1, START - timedelta(days=1)), node(2, START)
    assert due(orphans(thread=[friday], session=[saturday]), START + timedelta(days=7)) == [
        ("week", (friday, saturday))
    ]


def test_a_day_waits_for_a_session_that_began_in_it():
    nodes = [node(1, START), node(2, START + timedelta(hours=2))]
    tomorrow = START + timedelta(hours=12)
    assert due(orphans(session=nodes), tomorrow - timedelta(seconds=1)) == []
    assert due(orphans(session=nodes), tomorrow, [MessageOutline(3, START + timedelta(hours=11), "user")]) == []
    assert due(orphans(session=nodes), tomorrow, [MessageOutline(3, tomorrow, "user")]) == [("day", tuple(nodes))]


def test_a_week_ends_on_sunday():
    nodes = [node(1, START - timedelta(days=1)), node(2, START)]  # a Friday, a Saturday
    monday = datetime(2026, 4, 20, tzinfo=UTC)
    assert due(orphans(day=nodes), monday - timedelta(seconds=1)) == []
    assert due(orphans(day=nodes), monday) == [("week", tuple(nodes))]


def test_short_stretches_of_one_day_become_one_leaf():
    pace = CompactionPolicy()
    hours = [MessageOutline(seq, START + timedelta(hours=2 * seq), "user") for seq in range(1, 6)]
    assert leaves_due(hours, pace, quiet=True) == [Segment(1, 5)]
    nights = [MessageOutline(seq, START + timedelta(days=seq), "user") for seq in range(1, 4)]
    assert leaves_due(nights, pace, quiet=True) == [Segment(1, 1), Segment(2, 2), Segment(3, 3)]


def test_a_long_stretch_stays_alone():
    pace = CompactionPolicy()
    minutes = [*range(10), *range(120, 130)]
    assert leaves_due(said(*minutes), pace, quiet=True) == [Segment(1, 10), Segment(11, 20)]
