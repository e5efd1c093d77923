"""Finding what matters in everything that may be read, and saying why."""

from keepword.recall.recipe import RECIPES, Recipe
from keepword.recall.search import MAX_LIMIT, Hit, Recall, Request, Results
from keepword.recall.stats import Stats
from keepword.recall.uses import Uses
from keepword.recall.window import WINDOWS

__all__ = ["MAX_LIMIT", "RECIPES", "WINDOWS", "Hit", "Recall", "Recipe", "Request", "Results", "Stats", "Uses"]
