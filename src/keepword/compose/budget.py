"""Shares out tokens: best first, never over, and a section's unused tokens go to the next one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SectionNeed:
    """A section's share of the budget (0 to 1), and the tokens it could use at most."""

    share: float
    tokens: int


def fill(scores: Sequence[float], costs: Sequence[int], room: int, admit: Callable[[int], bool]) -> list[int]:
    """Return the items to take, in the order given: chosen by score, passing over those that no longer fit.

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
    """Return how much a section may take of the rest: all but the shares that later sections need."""
    kept = sum(min(int(need.share * budget), need.tokens) for need in later)
    return max(0, left - kept)
