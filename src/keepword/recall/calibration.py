"""From the sum of an entry's shares to the chance that the entry answers the question."""

import math
from dataclasses import dataclass

# a question of one common word says no less than this
MIN_WEIGHT = 4.0
# the curves were fitted in scopes of 369 entries and more. In a smaller one fewer entries are there to match by chance
FITTED_ENTRIES = 300


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve over the sum of shares and the logarithm of what the question's words weigh together.

    The more a question says, the less often does an entry match so much of it by chance. Of the entries of one search
    none changes its place. bench/calibration.py fits the three numbers and shows how far they hold. In a scope of fewer
    entries than FITTED_ENTRIES the odds rise by the share that is missing.
    """

    total: float
    weight: float
    offset: float

    def chance(self, total: float, weight: float, entries: int) -> float:
        return 1 / (1 + math.exp(-self.total * total - self._rest(weight, entries)))

    def least_total(self, chance: float, weight: float, entries: int) -> float:
        """Return the sum of shares that has this chance."""
        if not 0 < chance < 1:
            return -math.inf if chance <= 0 else math.inf
        return (math.log(chance / (1 - chance)) - self._rest(weight, entries)) / self.total

    def _rest(self, weight: float, entries: int) -> float:
        odds = math.log(max(1.0, FITTED_ENTRIES / max(entries, 1)))
        return self.weight * math.log(max(weight, MIN_WEIGHT)) + self.offset + odds
