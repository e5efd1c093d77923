"""Applies the words for time in a question to a search: the terms, the extra candidates and the order of the hits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from keepword.answers import Hit
from keepword.recall.ports import Filter
from keepword.recall.question import Question
from keepword.recall.score import Candidates, utc
from keepword.recall.time_words import TimeWords

# so many of the best are put in order where the first or the last is asked for, of those that score this share of the
# best: the others only resemble what is asked for
ORDERED = 10
ORDERED_SHARE = 0.75

AnyHit = TypeVar("AnyHit", bound=Hit)


@dataclass(frozen=True, slots=True)
class When:
    """The words for time of a question, and whether their window is used."""

    words: TimeWords | None = None
    has_window: bool = False

    def unused(self) -> "When":
        return replace(self, has_window=False)

    def narrowed(self, question: Question) -> Question:
        """Drop the words for the window from the search terms: they name the time, not the subject."""
        if self.words is None or not self.has_window:
            return question
        if not self.words.is_near:
            # a date by name: messages say dates, too
            return question if question.dates or not self.words.date else replace(question, dates=(self.words.date,))
        if self.words.since and self.words.before:
            return replace(question.without(self.words.used), window=(self.words.since, self.words.before))
        return question

    def filter(self, filter_: Filter) -> Filter:
        return replace(filter_, since=self.words.since, before=self.words.before) if self.words else filter_

    def has_any(self, candidates: Candidates) -> bool:
        """Tell whether anything was said in the window that may be shown."""
        if self.words is None or self.words.since is None or self.words.before is None:
            return False
        since, before = utc(self.words.since), utc(self.words.before)
        return bool((candidates.fits & (candidates.times >= since) & (candidates.times < before)).any())

    def pool(self, limit: int) -> int:
        """Return how many of the best candidates are needed for `limit` hits."""
        return max(limit, ORDERED) if self.words and self.words.order else limit

    def in_order(self, hits: Sequence[AnyHit], totals: Sequence[float]) -> list[AnyHit]:
        """Put those that match well in the order of time that was asked for, before the others.

        `totals`: the sum of shares of each.
        """
        if not hits or self.words is None or self.words.order is None:
            return list(hits)
        least = ORDERED_SHARE * max(totals)
        is_good = [total >= least and place < ORDERED for place, total in enumerate(totals)]
        good = [hit for hit, is_in in zip(hits, is_good, strict=True) if is_in]
        good.sort(key=lambda hit: hit.created_at, reverse=self.words.order == "last")
        return [*good, *(hit for hit, is_in in zip(hits, is_good, strict=True) if not is_in)]

    def shown(self) -> dict[str, object]:
        """Return the part of the answer that tells how the words for time were read."""
        if self.words is None:
            return {}
        window = {"since": self.words.since, "before": self.words.before} if self.words.since else {}
        order = {"order": self.words.order} if self.words.order else {}
        return {"time": {"words": self.words.text, **window, **order, "used": self.has_window or bool(order)}}


def joined(first: Candidates, more: Candidates) -> Candidates:
    """Merge the candidates of two searches; a candidate of both keeps the values of the first."""
    is_new = ~np.isin(more.ids, first.ids)
    deeps = None
    if first.deeps is not None:
        others = more.deeps if more.deeps is not None else np.full(len(more.ids), np.nan, np.float32)
        deeps = np.concatenate((first.deeps, others[is_new]))
    return replace(
        first,
        ids=np.concatenate((first.ids, more.ids[is_new])),
        conversations=np.concatenate((first.conversations, more.conversations[is_new])),
        seqs=np.concatenate((first.seqs, more.seqs[is_new])),
        roles=np.concatenate((first.roles, more.roles[is_new])),
        fits=np.concatenate((first.fits, more.fits[is_new])),
        mine=np.concatenate((first.mine, more.mine[is_new])),
        named=np.concatenate((first.named, more.named[is_new])),
        kinds=np.concatenate((first.kinds, more.kinds[is_new])),
        times=np.concatenate((first.times, more.times[is_new])),
        words=np.concatenate((first.words, more.words[np.repeat(is_new, more.word_counts)])),
        word_counts=np.concatenate((first.word_counts, more.word_counts[is_new])),
        pieces=np.concatenate((first.pieces, more.pieces[np.repeat(is_new, more.piece_counts)])),
        piece_counts=np.concatenate((first.piece_counts, more.piece_counts[is_new])),
        instants=np.concatenate((first.instants, more.instants[is_new])),
        deeps=deeps,
        literals={**more.literals, **first.literals},
    )
