"""The sections of one turn while they are filled, and the items that are left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from keepword import tokens
from keepword.answers import LeftOut, LeftOutReason, Line, LineKind, Section, SectionName
from keepword.compose.dedupe import ShownWords
from keepword.compose.parts import ORDER, Item, TranscriptMessage
from keepword.compose.template import Template

Pair = tuple[Item, Line]
LeftOutKind = LineKind | Literal["line"]


class Draft:
    def __init__(self, template: Template) -> None:
        self._template = template
        self._pairs: dict[SectionName, list[Pair]] = {}
        self._counts: Counter[tuple[SectionName, LeftOutKind, LeftOutReason]] = Counter()
        self._ranges: list[LeftOut] = []
        self.shown_words = ShownWords()

    def pair(self, name: SectionName, item: Item) -> Pair:
        text = self._template.line(name, item)
        cost = tokens.count(text + "\n") + item.extra_tokens
        return item, Line(item.kind, item.id, text, cost, round(item.score, 4), item.reason, item.links)

    def heading_tokens(self, name: SectionName) -> int:
        # with the blank line that ends a section; a section that has lines has paid for it
        return 0 if self._pairs.get(name) else tokens.count(self._template.heading(name) + "\n") + 1

    def put(self, name: SectionName, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self._pairs.setdefault(name, []).append(pair)
            self.shown_words.add(pair[0].text, stands_alone=pair[0].kind == "landmark")

    def put_first(self, name: SectionName, pair: Pair) -> None:
        self._pairs.setdefault(name, []).insert(0, pair)

    def leave_out(self, name: SectionName, kind: LeftOutKind, reason: LeftOutReason, count: int = 1) -> None:
        self._counts[name, kind, reason] += count

    def leave_out_turns(self, turns: Sequence[TranscriptMessage], reason: LeftOutReason) -> list[LeftOut]:
        """Note messages by their ranges, given in the order of each conversation; also return the ranges."""
        ranges: list[LeftOut] = []
        for talk in dict.fromkeys(turn.conversation for turn in turns):
            seqs = [turn.seq for turn in turns if turn.conversation == talk]
            # numbers that follow each other are equally far from their places
            for _, run in groupby(enumerate(seqs), key=lambda numbered: numbered[1] - numbered[0]):
                together = [seq for _, seq in run]
                left_out = LeftOut("transcript", "message", len(together), reason, talk, together[0], together[-1])
                ranges.append(left_out)
        self._ranges += ranges
        return ranges

    def left_out(self) -> list[LeftOut]:
        counts = self._counts.items()
        counted = [LeftOut(name, kind, count, reason) for (name, kind, reason), count in counts if count]
        return sorted([*counted, *self._ranges], key=lambda one: ORDER.index(one.section))

    def cost(self, name: SectionName) -> int:
        lines = self._pairs.get(name, ())
        heading = tokens.count(self._template.heading(name) + "\n") + 1
        return sum(line.tokens for _, line in lines) + heading if lines else 0

    @property
    def total(self) -> int:
        return sum(self.cost(name) for name in self._pairs)

    def sections(self) -> list[Section]:
        return [
            Section(name, self._template.heading(name), self.cost(name), tuple(line for _, line in self._pairs[name]))
            for name in ORDER
            if name in self._pairs
        ]

    def used(self, names: Iterable[SectionName]) -> list[Item]:
        return [item for name in names for item, _ in self._pairs.get(name, ())]
