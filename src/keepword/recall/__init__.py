"""Search: finds the relevant entries among those that may be read, and explains each hit."""

from keepword.recall.nearest import nearest
from keepword.recall.recipe import RECIPES, Recipe
from keepword.recall.search import MAX_LIMIT, RankedHit, RankedResults, Recall, RecallRequest
from keepword.recall.uses import Uses

__all__ = [
    "MAX_LIMIT",
    "RECIPES",
    "RankedHit",
    "RankedResults",
    "Recall",
    "RecallRequest",
    "Recipe",
    "Uses",
    "nearest",
]
