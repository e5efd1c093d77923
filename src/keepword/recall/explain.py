"""Explains a result: its signals, arms and matched words."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from keepword.answers import Reason, Signal, Term
from keepword.recall.question import Question
from keepword.recall.recipe import Recipe
from keepword.recall.score import Bools, Floats, ScoredCandidates

ARM_DEPTH = 100
ARMS = ("words", "instant", "deep", "literal")
# signals of an entry itself, whose weight does not depend on its kind
_OF_EVERY_KIND = frozenset({"temporal", "importance"})


def reason(scored: ScoredCandidates, chosen: Recipe, question: Question, row: int) -> Reason:
    signals = {name: _signal(name, scored, chosen, row) for name in scored.shares}
    arms = tuple(name for name in ARMS if _found_it(signals.get(name)))
    terms = {term: _term(scored, place, row) for place, term in enumerate(question.terms)}
    return Reason(round(float(scored.total[row]), 4), arms or ("beside",), signals, terms)


def by_arms(scored: ScoredCandidates, rows: Sequence[int]) -> list[Reason]:
    """Tell of each row by which arms it was found and no more: for many rows at once, that costs next to nothing."""
    rows_by_arm = {name: _is_found(name, scored, rows) for name in ARMS if name in scored.shares}
    arms = [tuple(name for name, is_found in rows_by_arm.items() if is_found[place]) for place in range(len(rows))]
    totals = scored.total[np.asarray(rows, np.intp)].round(4).tolist()
    return [Reason(total, some or ("beside",), {}, {}) for total, some in zip(totals, arms, strict=True)]


def _is_found(name: str, scored: ScoredCandidates, rows: Sequence[int]) -> Bools:
    raw = scored.signals.get(name, scored.shares[name])
    deepest = np.partition(raw, -ARM_DEPTH)[-ARM_DEPTH] if len(raw) > ARM_DEPTH else -np.inf
    return np.asarray((raw[rows] >= deepest) & (scored.shares[name][rows].round(4) > 0))


def _signal(name: str, scored: ScoredCandidates, chosen: Recipe, row: int) -> Signal:
    raw: Floats = scored.signals.get(name, scored.shares[name])
    value = float(raw[row])
    weight = float(getattr(chosen, name, chosen.words))
    if name not in _OF_EVERY_KIND:
        weight *= float(scored.counts[row])
    return Signal(
        round(value, 4), round(weight, 4), round(float(scored.shares[name][row]), 4), int((raw > value).sum()) + 1
    )


def _found_it(signal: Signal | None) -> bool:
    return signal is not None and signal.share > 0 and signal.rank <= ARM_DEPTH


def _term(scored: ScoredCandidates, place: int, row: int) -> Term:
    ways: tuple[tuple[Literal["own", "similar", "beside"], Floats], ...] = (
        ("own", scored.matches.own), ("similar", scored.matches.near), ("beside", scored.matches.beside),
    )  # fmt: skip
    values = [float(match[row, place]) for _, match in ways]
    best = int(np.argmax(values))
    by = ways[best][0] if values[best] > 0 else None
    # rounded: how often a word occurs elsewhere is nobody's business to the last digit
    return Term(round(float(scored.idfs[place]), 1), round(values[best], 3), by)


def literal(mode: Literal["trigram", "regex"], value: float, rank: int) -> Reason:
    return Reason(round(value, 4), (mode,), {mode: Signal(round(value, 4), 1.0, round(value, 4), rank)}, {})
