"""The order of items for a query: recall's score of their best part."""

from collections.abc import Mapping
from uuid import UUID

from keepword.embedding.instant import InstantTable
from keepword.items.ports import ItemParts
from keepword.recall.question import Question
from keepword.recall.recipe import DEFAULT, for_space, recipe
from keepword.recall.score import score


def rank(parts: ItemParts, question: Question, table: InstantTable, *, is_tuned: bool) -> Mapping[UUID, float]:
    """Return the items, best first, with their scores from 0 to 1."""
    candidates = parts.candidates
    chosen = for_space(recipe(DEFAULT), is_tuned=is_tuned, embedded=candidates.embedded)
    scored = score(candidates, question, chosen, table)
    weight = float(scored.idfs.sum())
    best: dict[UUID, float] = {}
    for item, total in zip(parts.items, scored.total.tolist(), strict=True):
        best[item] = max(best.get(item, total), total)
    ordered = sorted(best.items(), key=lambda pair: -pair[1])
    if chosen.calibration is None:
        return dict(ordered)
    return {item: chosen.calibration.chance(total, weight, scored.entries) for item, total in ordered}
