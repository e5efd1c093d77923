"""Ranks entries for a question without reading what they say: whoever shows more of them reads it under the grant."""

import numpy as np

from keepword.access import Grant
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import ask
from keepword.recall.rank import Cut, choose_best, is_near
from keepword.recall.recipe import DEFAULT, MIN_EMBEDDED, for_space, recipe
from keepword.recall.score import Candidates, Floats, ScoredCandidates, score
from keepword.recall.search import Recall


async def nearest(
    recall: Recall, grant: Grant, query: str, filter_: Filter, limit: int, asker: str | None = None
) -> list[tuple[int, float]]:
    """Return entries by their numbers, with scores: first what a search finds, then what else is near in meaning.

    A score is the chance that an entry answers, or its nearness in meaning where that is higher. Up to `limit` of each.
    """
    question, chosen = ask(query, recall.table), recipe(DEFAULT)
    candidates, deep, _ = await recall.find(grant, Query(question, filter_, asker=asker), query, chosen)
    embedded = candidates.embedded if deep else 0.0
    chosen = for_space(chosen, is_tuned=deep is not None and deep.is_tuned, embedded=embedded)
    scored = score(candidates, question, chosen, recall.table)
    near = _nearness(candidates, scored, deep)
    found = choose_best(candidates, scored.total, is_near(scored, chosen.floor), Cut(limit, chosen.floor, 0))
    others = choose_best(candidates, near, near > 0, Cut(limit, 0.0, 0))
    scores = {row: float(near[row]) for row in dict.fromkeys([*found, *others])}
    weight = float(scored.idfs.sum())
    if chosen.calibration is not None:
        chances = {row: chosen.calibration.chance(float(scored.total[row]), weight, scored.entries) for row in found}
        scores |= {row: max(chance, scores[row]) for row, chance in chances.items()}
    return [(int(candidates.ids[row]), min(1.0, value)) for row, value in scores.items()]


def _nearness(candidates: Candidates, scored: ScoredCandidates, deep: DeepQuery | None) -> Floats:
    """Return the mean nearness in both spaces; where little is embedded, that of the instant one."""
    instant = np.maximum(scored.signals["instant"], 0)
    if deep is None or candidates.embedded < MIN_EMBEDDED:
        return np.asarray(instant, np.float32)
    return np.asarray((instant + np.maximum(scored.signals["deep"], 0)) / 2, np.float32)
