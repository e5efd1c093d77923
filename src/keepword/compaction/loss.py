"""The loss check: the share of its sources' identifiers, numbers, dates and decisions that a summary keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.compaction.attribution import stems_of
from keepword.compaction.quoted import read_units
from keepword.compaction.sentence_kinds import is_decision
from keepword.compaction.sources import SummarySource
from keepword.faithfulness import Sources, named_items

_WEIGHTS: Mapping[str, float] = {"identifier": 2.0, "number": 2.0, "date": 1.35}
_DECISION_WEIGHT = 4.0
# a line with so many of a decision's words tells it
_DECISION_WORDS = 0.6
_DECISION_CHARS = 500
_SHOWN = 20
_TIME = patterns.anywhere(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")


Keepsake = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LossVerdict:
    """`share` of the weight is kept; `missing` are the items that are lost, the weightiest first."""

    share: float
    missing: tuple[str, ...] = ()


class Keepsakes:
    """What a summary of a source should keep, each with its weight: its kind, and what it says."""

    def __init__(self, source: SummarySource) -> None:
        self.weights: dict[Keepsake, float] = {}
        self._decisions: dict[Keepsake, frozenset[str]] = {}
        for unit in read_units(source):
            items = named_items.find(unit.text).all()
            self.weights |= {(kind, item): _WEIGHTS[kind] for kind, item in sorted(items) if kind in _WEIGHTS}
            if len(unit.text) <= _DECISION_CHARS and is_decision(unit.text):
                self._decisions["decision", unit.text] = stems_of(unit.text)
        self.weights |= dict.fromkeys(self._decisions, _DECISION_WEIGHT)
        self._whole = sum(self.weights.values())

    def held(self, text: str) -> frozenset[Keepsake]:
        """Return what a text keeps. The times that lines begin with count as dates, not as numbers."""
        plain, timed = Sources([_TIME.sub(" ", text)]), Sources([text])
        lines = [stems_of(line) for line in text.split("\n")] if self._decisions else []
        return frozenset(
            key
            for key in self.weights
            if (
                self._is_told(self._decisions[key], lines)
                if key in self._decisions
                else (timed if key[0] == "date" else plain).contains(*key)
            )
        )

    def judge(self, text: str) -> LossVerdict:
        return self.verdict(self.held(text))

    def verdict(self, held: frozenset[Keepsake]) -> LossVerdict:
        lost = sorted((key for key in self.weights if key not in held), key=lambda key: -self.weights[key])
        weight = sum(self.weights[key] for key in lost)
        # rounded, so that the sum's order does not matter
        share = round(1 - weight / self._whole, 9) if self._whole else 1.0
        return LossVerdict(share, tuple(item for _, item in lost[:_SHOWN]))

    @staticmethod
    def _is_told(decision: frozenset[str], lines: Sequence[frozenset[str]]) -> bool:
        return any(len(decision & line) >= _DECISION_WORDS * len(decision) for line in lines)
