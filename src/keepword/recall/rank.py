"""Chooses what a search shows: the best candidates, one row for each message, and one summary of the same messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from keepword.recall.score import MEMORY, SUMMARY, Bools, Candidates, Floats, Ints, ScoredCandidates, weight

# scores that differ by no more are the same
SCORE_TIE_EPSILON = 1e-6


class _Covering(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def conversation(self) -> str | None: ...

    @property
    def covers(self) -> tuple[int, int] | None: ...


_Hit = TypeVar("_Hit", bound=_Covering)


@dataclass(frozen=True, slots=True)
class Cut:
    """How many are shown, of them how many summaries, and the sum of shares below which nothing is.

    `floor` lets pass what holds half of the question's words, `least` does not.
    """

    limit: int
    floor: float
    summaries: int
    least: float = -np.inf


def is_near(scored: ScoredCandidates, floor: float) -> Bools:
    """Tell which rows are shown: by their score, or because they hold half of the weight of the question's words.

    In a young tenant no word is known to be rare, and in a long text each is worth little: who asks for a word that is
    there must find it all the same.
    """
    matched_weight = weight(scored.matches.own > 0, scored.idfs)
    # a matching date or speaker alone shows nothing, unless the question asks for nothing else
    alone = scored.shares.get("window", 0) + scored.shares.get("named", 0)
    total = scored.total - alone if len(scored.idfs) else scored.total
    return np.asarray(
        (total > floor) | ((matched_weight > 0) & (matched_weight >= scored.idfs.sum() / 2) & (scored.total > 0))
    )


def choose_best(candidates: Candidates, total: Floats, near: Bools, cut: Cut) -> list[int]:
    """Return the rows of the best, of each message or summary only its best part; of equals, the first said.

    A memory and the message that it comes from say the same: the better stands for both.
    """
    rows = np.flatnonzero(candidates.fits & near & (total >= cut.least))
    order = _ordered(rows, total[rows], candidates.ids[rows])
    best: list[int] = []
    seen: set[tuple[int, int, int]] = set()
    remembered: set[tuple[int, int, int]] = set()
    summaries = 0
    for row in order.tolist():
        first, second = candidates.conversations[row].tolist()
        key = (first, second, int(candidates.seqs[row]))
        is_memory = candidates.kinds[row] == MEMORY
        if key in seen or (candidates.kinds[row] == SUMMARY and summaries == cut.summaries):
            continue
        if key in remembered and not is_memory:
            continue
        (remembered if is_memory else seen).add(key)
        best.append(row)
        summaries += int(candidates.kinds[row] == SUMMARY)
        if len(best) == cut.limit:
            break
    return best


def _ordered(rows: Ints, values: Floats, ids: Ints) -> Ints:
    """Order rows by their values, equals by their ids.

    Equal vectors may be nearer or farther by the last digit, as the processor groups the rows of a product.
    """
    falling = np.argsort(-values, kind="stable")
    steps = np.cumsum(np.diff(values[falling], prepend=values[falling][:1]) < -SCORE_TIE_EPSILON)
    return np.asarray(rows[falling[np.lexsort((ids[falling], steps))]])


def most_specific(hits: Sequence[_Hit], most_summaries: int) -> list[_Hit]:
    """Leave out each summary that stands above another one here, and of equal ones all but the first.

    At most `most_summaries` stay, the first ones.
    """
    summaries = [hit for hit in hits if hit.kind == "summary"]
    kept = [
        hit
        for place, hit in enumerate(summaries)
        if not any(_is_above(hit, other, is_later=number < place) for number, other in enumerate(summaries))
    ]
    shown = {id(hit) for hit in kept[:most_summaries]}
    return [hit for hit in hits if hit.kind != "summary" or id(hit) in shown]


def _is_above(hit: _Covering, other: _Covering, *, is_later: bool) -> bool:
    """Tell whether a summary covers all that the other covers, and more; of two that cover the same, the later."""
    if hit is other or hit.covers is None or other.covers is None or hit.conversation != other.conversation:
        return False
    holds = hit.covers[0] <= other.covers[0] and other.covers[1] <= hit.covers[1]
    return holds and (hit.covers != other.covers or is_later)
