"""Finding what matters in everything that may be read, and saying why."""

from keepword.recall.period import PERIODS
from keepword.recall.recipe import RECIPES, Recipe
from keepword.recall.search import MAX_LIMIT, Hit, Recall, RecallRequest, SearchResults
from keepword.recall.stats import Stats
from keepword.recall.uses import Uses

__all__ = [
    "MAX_LIMIT",
    "PERIODS",
    "RECIPES",
    "Hit",
    "Recall",
    "RecallRequest",
    "Recipe",
    "SearchResults",
    "Stats",
    "Uses",
]
