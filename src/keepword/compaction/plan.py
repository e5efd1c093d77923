"""Plans compaction: which summaries are due. Pure functions of outlines and times.

Windows follow `seq`, the order of appending, so that they tile a conversation whatever times an import brought along.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Literal
from uuid import UUID

from keepword.model import Role

Tier = Literal["thread", "session", "day", "week"]
# a stretch of fewer messages than this part of a window is joined with others of its day
_SHORT_PART = 8


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """`tail_messages` of a live conversation are left alone; a session takes at most `most_leaves`."""

    window_messages: int = 50
    tail_messages: int = 10
    silence: timedelta = timedelta(hours=1)
    most_leaves: int = 20

    @property
    def short_messages(self) -> int:
        return self.window_messages // _SHORT_PART


@dataclass(frozen=True, slots=True)
class MessageOutline:
    """A message without its words. `is_call` tells a tool call whose result comes in a message of its own."""

    seq: int
    at: datetime
    role: Role
    tool_name: str | None = None
    is_call: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """The messages of one leaf, both ends included."""

    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class OrphanSummary:
    """A summary without a parent."""

    id: UUID
    first_seq: int
    last_seq: int
    earliest_at: datetime
    latest_at: datetime


@dataclass(frozen=True, slots=True)
class ParentPlan:
    """The children of one parent, in the order of `seq`."""

    tier: Tier
    children: tuple[OrphanSummary, ...]


def leaves_due(messages: Sequence[MessageOutline], policy: CompactionPolicy, *, quiet: bool) -> list[Segment]:
    """Cut the messages that no leaf covers, given in the order of `seq`, into the windows that are due.

    `quiet`: the conversation is closed or was silent long enough. Then the windows cover all messages.
    """
    bound = _bound(messages)
    starts = _joined([0, *_breaks(messages, bound, policy.silence), len(messages)], messages, policy)
    windows: list[Segment] = []
    for start, end in pairwise(starts):
        closed = quiet or end < len(messages)
        cuts = _closed_cuts(start, end, bound, policy) if closed else _live_cuts(messages, start, bound, policy)
        windows += (Segment(messages[a].seq, messages[b - 1].seq) for a, b in pairwise([start, *cuts]))
    return windows


def oldest(messages: Sequence[MessageOutline], policy: CompactionPolicy) -> Segment | None:
    """Return the first window of uncovered messages, due or not; None if it would take messages of the tail."""
    bound = _bound(messages)
    last = len(messages) - policy.tail_messages
    cut = _next_free(min(policy.window_messages, last), len(messages), bound) if last > 0 else 0
    return Segment(messages[0].seq, messages[cut - 1].seq) if 0 < cut <= last else None


def parents_due(
    orphans: Mapping[Tier, Sequence[OrphanSummary]],
    uncovered: Sequence[MessageOutline],
    policy: CompactionPolicy,
    now: datetime,
    *,
    quiet: bool,
) -> list[ParentPlan]:
    """Plan the parents that are due on the lowest tier that has any.

    A parent joins at least two children: one above a single child would say nothing new. A leaf that is alone in its
    session is joined by its day, what is alone on its day by its week.
    """
    sessions = list(_sessions(orphans["thread"], policy))
    running = sessions.pop() if sessions and not _is_over(sessions[-1], uncovered, policy, quiet=quiet) else []
    if due := [ParentPlan("session", tuple(session)) for session in sessions if len(session) > 1]:
        return due
    waiting = [leaf.earliest_at for leaf in running] + [message.at for message in uncovered]
    nodes = _in_order(orphans["session"], (session[0] for session in sessions))
    days = _Calendar(nodes, day_end, now, min(waiting, default=None))
    if days.groups:
        return [ParentPlan("day", children) for children in days.groups]
    waiting += [node.earliest_at for node in days.running]
    weeks = _Calendar(_in_order(orphans["day"], days.alone), week_end, now, min(waiting, default=None))
    return [ParentPlan("week", children) for children in weeks.groups]


def next_end(nodes: Iterable[OrphanSummary], now: datetime) -> datetime | None:
    """Return when the next day or week ends that may join some of these."""
    ends = [end(node.earliest_at) for node in nodes for end in (day_end, week_end)]
    return min((end for end in ends if end > now), default=None)


def day_end(at: datetime) -> datetime:
    return _midnight(_day(at), 1)


def week_end(at: datetime) -> datetime:
    return _midnight(_monday(at), 7)


def _bound(messages: Sequence[MessageOutline]) -> list[bool]:
    """Tell for each message whether a tool call before it and its result at or after it hold it to its predecessor."""
    bound = [False] * len(messages)
    calls: list[int] = []
    for number, message in enumerate(messages):
        if message.role == "user":
            calls.clear()  # a call without a result by now will get none
        if message.role == "tool" and (call := _answered(messages, calls, message)) is not None:
            calls.remove(call)
            bound[call + 1 : number + 1] = [True] * (number - call)
        if message.is_call:
            calls.append(number)
    return bound


def _answered(messages: Sequence[MessageOutline], calls: Sequence[int], result: MessageOutline) -> int | None:
    names = {None, result.tool_name}
    same = (call for call in calls if result.tool_name is None or messages[call].tool_name in names)
    return next(same, None)


def _breaks(messages: Sequence[MessageOutline], bound: Sequence[bool], silence: timedelta) -> list[int]:
    """Find where sessions end: at a long silence, or where an import goes back in time."""
    return [
        number
        for number, (before, after) in enumerate(pairwise(messages), 1)
        if abs(after.at - before.at) >= silence and not bound[number]
    ]


def _joined(starts: Sequence[int], messages: Sequence[MessageOutline], policy: CompactionPolicy) -> list[int]:
    """Leave out the starts between stretches of one day of which one is short and both fit into a window."""
    kept = [starts[0]]
    for number in range(1, len(starts) - 1):
        first, at, end = kept[-1], starts[number], starts[number + 1]
        is_short = min(at - first, end - at) < policy.short_messages and end - first <= policy.window_messages
        if not (is_short and _day(messages[first].at) == _day(messages[end - 1].at)):
            kept.append(at)
    return [*kept, starts[-1]]


def _closed_cuts(start: int, end: int, bound: Sequence[bool], policy: CompactionPolicy) -> list[int]:
    """Cut all of a closed run into segments of about equal size, none over the limit but for a bound result."""
    parts = -(-(end - start) // policy.window_messages)
    cuts: list[int] = []
    for part in range(1, parts):
        cut = _next_free(start + (end - start) * part // parts, end, bound)
        if cut < end and cut > (cuts[-1] if cuts else start):
            cuts.append(cut)
    return [*cuts, end] if end > start else []


def _live_cuts(
    messages: Sequence[MessageOutline], start: int, bound: Sequence[bool], policy: CompactionPolicy
) -> list[int]:
    """Cut whole segments off the front of a live run, as long as the tail stays."""
    cuts: list[int] = []
    last = _open_end(messages, start, len(messages) - policy.tail_messages, policy)
    at = start + policy.window_messages
    while (cut := _next_free(at, len(messages), bound)) <= last:
        cuts.append(cut)
        at = cut + policy.window_messages
    return cuts


def _open_end(messages: Sequence[MessageOutline], start: int, last: int, policy: CompactionPolicy) -> int:
    """Stop before a call whose result may still come, unless several windows have passed since the call."""
    waiting: int | None = None
    for number in range(start, len(messages)):
        message = messages[number]
        if message.is_call and waiting is None:
            waiting = number
        elif message.role in {"user", "tool"} or (message.role == "assistant" and not message.is_call):
            waiting = None
    if waiting is None or len(messages) - waiting > 4 * policy.window_messages:
        return last
    return min(last, waiting)


def _next_free(at: int, end: int, bound: Sequence[bool]) -> int:
    while at < end and bound[at]:
        at += 1
    return at


def _sessions(leaves: Sequence[OrphanSummary], policy: CompactionPolicy) -> Iterator[list[OrphanSummary]]:
    session: list[OrphanSummary] = []
    for leaf in leaves:
        if session and (len(session) >= policy.most_leaves or _is_apart(session[-1], leaf, policy.silence)):
            yield session
            session = []
        session.append(leaf)
    if session:
        yield session


def _is_apart(before: OrphanSummary, after: OrphanSummary, silence: timedelta) -> bool:
    return after.earliest_at - before.latest_at >= silence or before.earliest_at - after.latest_at >= silence


def _is_over(
    session: Sequence[OrphanSummary], uncovered: Sequence[MessageOutline], policy: CompactionPolicy, *, quiet: bool
) -> bool:
    if len(session) >= policy.most_leaves:
        return True
    if not uncovered:
        return quiet
    last, at = session[-1], uncovered[0].at
    return at - last.latest_at >= policy.silence or last.earliest_at - at >= policy.silence


class _Calendar:
    """Nodes by the day or week (UTC) that they began in: `groups` of those that are over, `alone`, or still `running`.

    `pending_from` is the earliest time of what may still become a node: its day has to wait.
    """

    def __init__(
        self,
        nodes: Sequence[OrphanSummary],
        end: Callable[[datetime], datetime],
        now: datetime,
        pending_from: datetime | None,
    ) -> None:
        by_end: dict[datetime, list[OrphanSummary]] = {}
        for node in nodes:
            by_end.setdefault(end(node.earliest_at), []).append(node)
        over = [at for at in by_end if now >= at and (pending_from is None or pending_from >= at)]
        self.groups = [tuple(by_end[at]) for at in over if len(by_end[at]) > 1]
        self.alone = [by_end[at][0] for at in over if len(by_end[at]) == 1]
        self.running = [node for at, group in by_end.items() if at not in over for node in group]


def _in_order(*several: Iterable[OrphanSummary]) -> list[OrphanSummary]:
    return sorted((node for nodes in several for node in nodes), key=lambda node: node.first_seq)


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _monday(at: datetime) -> date:
    day = _day(at)
    # the calendar's first days have no Monday before them
    return date.fromordinal(max(1, day.toordinal() - day.weekday()))


def _midnight(day: date, days_later: int) -> datetime:
    # the calendar's last day has none after it
    later = date.fromordinal(min(date.max.toordinal(), day.toordinal() + days_later))
    return datetime(later.year, later.month, later.day, tzinfo=UTC)
