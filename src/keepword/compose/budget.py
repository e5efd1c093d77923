"""Sharing out tokens: best first, never over, and what one section can't use is the next one's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SectionNeed:
    """A section's share of the budget (0 to 1), and the tokens it could use at most."""

    share: float
    tokens: int


def fill(scores: Sequence[float], costs: Sequence[int], room: int, admit: Callable[[int], bool]) -> list[int]:
    """Return which to take, in the order given: by score, and what does not fit any more is passed over.

    `admit` is asked about each that would fit, best first, and may refuse it.
    """
    best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    taken: list[int] = []
    for number in best:
        if costs[number] <= room and admit(number):
            room -= costs[number]
            taken.append(number)
    return sorted(taken)


def allowance(left: int, budget: int, later: Sequence[SectionNeed]) -> int:
    """Return what a section may take of what is left: all but what later ones both need and have a share of."""
    kept = sum(min(int(need.share * budget), need.tokens) for need in later)
    return max(0, left - kept)
