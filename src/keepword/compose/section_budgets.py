"""How many tokens of the window each section may take. Pure."""

import sys
from dataclasses import dataclass, replace

from keepword.answers import LeftOutReason
from keepword.compose.parts import Limits

# no part of a small window may push the others out of it
MOST_OF_WINDOW = 0.25
# where not everything fits, landmarks and injected context leave half of the window to files and conversation
MOST_FOR_LANDMARKS = 0.125
CONVERSATION = 0.5
# of the summaries' budget; the newest and those that messages gave way to may take all of it
OLDER_SUMMARIES = 0.25


@dataclass(frozen=True, slots=True)
class SectionBudgets:
    """How many tokens each part may take, headings included; `older` is for summaries that replace nothing now."""

    workspace: int
    landmarks: int
    injected: int
    summary: int
    older: int
    transcript: int
    # the parts whose own budget is larger than the room that the window leaves them
    narrowed: frozenset[str] = frozenset()

    def reason(self, name: str) -> LeftOutReason:
        """Return why something did not fit into a part."""
        return "over the window" if name in self.narrowed else "over the budget"


@dataclass(frozen=True, slots=True)
class NeededTokens:
    """The tokens that each part could use, headings included."""

    workspace: int
    summary: int
    transcript: int


@dataclass(frozen=True, slots=True)
class UsedTokens:
    """The tokens that each part took, headings included."""

    workspace: int
    landmarks: int
    injected: int
    summary: int
    transcript: int

    @property
    def total(self) -> int:
        return self.workspace + self.landmarks + self.injected + self.summary + self.transcript


def uncut(limits: Limits, rest: int) -> SectionBudgets:
    """Return the parts' budgets, a quarter of a small window at most; the conversation itself is not cut."""
    part = int(rest * MOST_OF_WINDOW)
    budgets = SectionBudgets(
        min(limits.workspace, part), min(limits.landmarks, part), min(limits.injected, part),
        limits.summary, _older(limits, limits.summary, part), sys.maxsize,
    )  # fmt: skip
    return _marked(budgets, limits)


def cut(limits: Limits, rest: int, needs: NeededTokens) -> SectionBudgets:
    """Share out a window into which not everything fits: half of what the files leave is the conversation's at least.

    Summary and transcript are each sure of half of the conversation's room, if they need it.
    """
    part = int(rest * MOST_OF_WINDOW)
    workspace = min(limits.workspace, part)
    landmarks = min(limits.landmarks, int(rest * MOST_FOR_LANDMARKS))
    talked = min(needs.summary + needs.transcript, int(rest * CONVERSATION))
    others = min(workspace, needs.workspace) + landmarks
    injected = max(0, min(limits.injected, part, rest - others - talked))
    talk = rest - others - injected
    summary = min(limits.summary, needs.summary, max(talk // 2, talk - needs.transcript))
    older = _older(limits, summary, part)
    return _marked(SectionBudgets(workspace, landmarks, injected, summary, older, talk - summary), limits)


def refined(budgets: SectionBudgets, used: UsedTokens, rest: int, needs: NeededTokens) -> SectionBudgets:
    """Give the parts' unused tokens to the conversation, by halves where summary and transcript were both cut."""
    free = max(0, rest - used.total)
    lacking = max(0, needs.summary - used.summary)
    more = min(lacking, max(free // 2, free - max(0, needs.transcript - used.transcript)))
    return replace(
        budgets, landmarks=used.landmarks, injected=used.injected, summary=used.summary + more,
        transcript=used.transcript + free - more,
    )  # fmt: skip


def _older(limits: Limits, summary: int, part: int) -> int:
    return min(summary, part, int(limits.summary * OLDER_SUMMARIES))


def _marked(budgets: SectionBudgets, limits: Limits) -> SectionBudgets:
    names = ("workspace", "landmarks", "injected", "summary")
    return replace(
        budgets, narrowed=frozenset(name for name in names if getattr(budgets, name) < getattr(limits, name))
    )
