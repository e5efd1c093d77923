"""Extractive summaries: whole sentences, word for word, with speaker and time.

What was decided, promised, corrected, asked and named comes first; then the sentences nearest to what all are about.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from keepword import patterns, tokens
from keepword.compaction.plan import Tier
from keepword.compaction.quoted import Unit, read_units
from keepword.compaction.render import BUDGET_TOKENS, message_text
from keepword.compaction.segment import sentences
from keepword.compaction.sentence_kinds import is_commitment, is_correction, is_decision, is_question, is_small_talk
from keepword.compaction.sources import LEVELS, SummarySource
from keepword.embedding.text_indexer import text_indexer
from keepword.faithfulness import named_items
from keepword.model import Message
from keepword.statements.slots import SLOT_CHARS, slot

NAME = "extractive"

# of the messages' tokens; a day keeps less than a tenth
SHARES: dict[Tier, float] = {"thread": 0.30, "session": 0.18, "day": 0.104, "week": 0.052}
# below that nothing can be told; of a short talk a reader wants more than the share, but not the talk again
LEAST_TOKENS: dict[Tier, int] = {"thread": 200, "session": 200, "day": 200, "week": 240}
_LINE_TOKENS = 44
_MOST_SHARE = 0.65
# what was decided, promised or corrected may take so many tokens, however short the talk was
ACT_TOKENS = 360
# of a sentence that is quoted though it does not fit: a longer one ends after a word
MOST_QUOTE_TOKENS = 120
MAX_DECISIONS = 20
MAX_ENTITIES = 50
_DECISION_CHARS = 500
# of a sentence, to tell what it is about
_READ_CHARS = 2_000
_STRONG_CHARS = 16_000
_STRONGLY = patterns.in_short(
    r"\b(?:decision|decided|agreed|approved|chose|settled on|go(?:ing)? with|resolved|rejected)\b",
    _STRONG_CHARS,
    patterns.IGNORECASE,
)
_OF_ME = patterns.anywhere(r"\b(?:I|I'm|my|My|me|mine)\b")
_WEIGHTS = {"identifier": 2.0, "number": 2.0, "date": 1.35, "name": 1.0}
# what a sentence does, in the order of what a reader misses most
_DECISION_WEIGHT = 4.0
_COMMITMENT_WEIGHT = 3.0
_CORRECTION_WEIGHT = 3.0
_LEAST_ACT_WEIGHT = 3.0
_QUESTION_WEIGHT = 0.5
# of a leaf; above it, what is central and names nothing waits in the children
_CENTRAL_WEIGHT = 0.2


def summarize(source: SummarySource, message_tokens: int) -> str:
    """Quote within the tier's share of tokens, deterministically; of each child at least one sentence.

    Empty where nothing is said but greetings and thanks.
    """
    said = (unit.shortened(MOST_QUOTE_TOKENS) for unit in read_units(source) if not is_small_talk(unit.text))
    units = without_outdated([unit for unit in said if unit is not None])
    weight = 0.0 if source.children else _CENTRAL_WEIGHT
    acts = [unit for unit in units if _act_weight(unit) >= _LEAST_ACT_WEIGHT]
    # what a sentence costs is counted alone, a little above what it takes among others
    room = budget(source.tier, message_tokens, _count(acts) + 3 * len(acts), _count(units))
    return "\n".join(_lines(_choose(units, room, weight)))


def _count(units: Sequence[Unit]) -> int:
    return tokens.count("\n".join(_lines(units)))


def budget(tier: Tier, message_tokens: int, act_tokens: int, whole_tokens: int) -> int:
    """Return how many tokens a summary may have.

    `act_tokens` are those of the decisions and the like, `whole_tokens` of all that could be quoted.
    """
    share = int(message_tokens * SHARES[tier])
    least = min(LEAST_TOKENS[tier], int(whole_tokens * _MOST_SHARE))
    acts = min(act_tokens, ACT_TOKENS)
    return max(_LINE_TOKENS, min(BUDGET_TOKENS[LEVELS[tier]], max(share, least, acts)))


def without_outdated(units: Sequence[Unit]) -> list[Unit]:
    """Leave out each sentence that gives an older value of an attribute than a later one does."""
    latest: dict[tuple[str, str], int] = {}
    keys = [_attribute(unit) for unit in units]
    for number, (unit, key) in enumerate(zip(units, keys, strict=True)):
        if key is not None and not _adds(unit):
            latest[key[0]] = number
    return [
        unit
        for number, (unit, key) in enumerate(zip(units, keys, strict=True))
        if key is None or latest.get(key[0], number) <= number or _is_same_value(keys, latest[key[0]], key)
    ]


def _is_same_value(keys: Sequence[tuple[tuple[str, str], str] | None], number: int, key: tuple[object, str]) -> bool:
    later = keys[number]
    return later is not None and later[1] == key[1]


def _attribute(unit: Unit) -> tuple[tuple[str, str], str] | None:
    """Return whose attribute the sentence is about, and its value."""
    if len(unit.text) > SLOT_CHARS or is_question(unit.text) or (known := slot(unit.text)) is None:
        return None
    return (unit.who if _OF_ME.search(unit.text) else "", known.key), known.value


def _adds(unit: Unit) -> bool:
    """Tell whether the sentence gives a further value of an attribute, beside those before."""
    known = slot(unit.text)
    return known is not None and known.adds


def _choose(units: Sequence[Unit], budget_tokens: int, central_weight: float) -> list[Unit]:
    choice = _GreedySelection(units, central_weight)
    choice.take_one_of_each_child(budget_tokens)
    choice.fill(budget_tokens - choice.tokens)
    # the estimate is a little above the tokens written: one more sentence may fit
    choice.fill(budget_tokens - _count(choice.made))
    return choice.made


class _GreedySelection:
    """Greedy: takes the unit that adds most for its length, again and again."""

    def __init__(self, units: Sequence[Unit], central_weight: float) -> None:
        self._units = units
        self._nearness = _nearness(units)
        self._weighed = [
            _weighed(unit, central_weight * near) for unit, near in zip(units, self._nearness, strict=True)
        ]
        self._costs = [tokens.count(unit.text) + 1 for unit in self._units]
        self._prefixes = [tokens.count(unit.prefix) + 1 for unit in units]
        # each line begins with its speaker
        self._held = {("name", word) for unit in units for word in named_items.words(unit.who)}
        self._lines: dict[int, list[int]] = {}
        for number, unit in enumerate(units):
            self._lines.setdefault(unit.line, []).append(number)
        self._begun: set[int] = set()
        self._chosen: set[int] = set()
        self.tokens = 0

    @property
    def made(self) -> list[Unit]:
        return [self._units[number] for number in sorted(self._chosen)]

    def take_one_of_each_child(self, room_tokens: int) -> None:
        """Take the best of each child that fits in its share of the room, else the shortest that says something."""
        children: dict[int, list[int]] = {}
        for number, unit in enumerate(self._units):
            children.setdefault(unit.child, []).append(number)
        for numbers in children.values():
            share = room_tokens // len(children)
            telling = [number for number in numbers if self._worth(number) > 0] or numbers
            fit = [number for number in telling if self._cost(number) <= share]
            best = max(fit, key=lambda number: (self._worth(number), self._nearness[number], -number), default=None)
            self._take(min(telling, key=self._cost) if best is None else best)

    def fill(self, room_tokens: int) -> None:
        left = [number for number in range(len(self._units)) if number not in self._chosen]
        queue = [(-self._worth(number), number) for number in left]
        heapq.heapify(queue)
        while queue:
            worth, number = heapq.heappop(queue)
            if number in self._chosen or not worth or self._cost(number) > room_tokens:
                continue
            now = -self._worth(number)
            if queue and now > queue[0][0] and now > worth:
                heapq.heappush(queue, (now, number))
                continue
            room_tokens -= self._cost(number)
            for other in self._take(number):
                heapq.heappush(queue, (-self._worth(other), other))

    def _take(self, number: int) -> list[int]:
        """Return the units that became cheaper: the others of a line of which nothing was quoted before."""
        self.tokens += self._cost(number)
        self._chosen.add(number)
        self._held |= self._weighed[number].items
        line = self._units[number].line
        if line in self._begun:
            return []
        self._begun.add(line)
        return [other for other in self._lines[line] if other not in self._chosen]

    def _cost(self, number: int) -> int:
        return self._costs[number] + (0 if self._units[number].line in self._begun else self._prefixes[number])

    def _worth(self, number: int) -> float:
        unit = self._weighed[number]
        fresh = sum(_WEIGHTS[kind] for kind, item in unit.items if (kind, item) not in self._held)
        # rounded, so that the order is the same on every machine
        return float(round((unit.own + fresh) / self._cost(number), 9))


@dataclass(frozen=True, slots=True)
class _WeightedUnit:
    items: frozenset[tuple[str, str]]
    own: float


def _weighed(unit: Unit, central: float) -> _WeightedUnit:
    named = named_items.find(unit.text).all() | {("date", date) for date in named_items.spoken_dates(unit.text)}
    return _WeightedUnit(named, _act_weight(unit) + central)


def _act_weight(unit: Unit) -> float:
    if is_decision(unit.text):
        return _DECISION_WEIGHT
    if is_commitment(unit.text):
        return _COMMITMENT_WEIGHT
    if is_correction(unit.text):
        return _CORRECTION_WEIGHT
    return _QUESTION_WEIGHT if unit.is_open and is_question(unit.text) else 0.0


def _nearness(units: Sequence[Unit]) -> list[float]:
    """Return for each sentence, from 0 to 1, how near it is to the middle of all in the instant space."""
    read = text_indexer().read
    vectors = [read(unit.text[:_READ_CHARS]).vector for unit in units]
    near = [max(0.0, float(near)) for near in np.array(vectors) @ np.sum(vectors, axis=0)] if vectors else []
    most = max(near, default=0) or 1
    # rounded, so that the order is the same on every machine
    return [round(value / most, 4) for value in near]


def _lines(units: Sequence[Unit]) -> Iterator[str]:
    for _, same in groupby(units, key=lambda unit: unit.line):
        line_units = list(same)
        yield line_units[0].prefix + " ".join(unit.text for unit in line_units)


def key_decisions(source: SummarySource) -> list[str]:
    if source.children:
        return _distinct((one for child in source.children for one in child.key_decisions), 2 * MAX_DECISIONS)
    said = (
        sentence for message in _ordered(source) for sentence in sentences(message_text(message, source, brief=True))
    )
    decided = (one for one in said if is_decision(one) or (_STRONGLY.search(one) and not is_question(one)))
    return _distinct((one for one in decided if len(one) <= _DECISION_CHARS), MAX_DECISIONS)


def entities_mentioned(source: SummarySource) -> list[str]:
    """Return names and identifiers, the most frequent first."""
    if source.children:
        return _distinct((one for child in source.children for one in child.entities_mentioned), MAX_ENTITIES)
    often: Counter[str] = Counter()
    for unit in read_units(source):
        item_names = named_items.find(unit.text)
        often.update(sorted(item_names.names | item_names.identifiers))
    return [item for item, _ in often.most_common(MAX_ENTITIES)]


def tools_called(source: SummarySource) -> list[str]:
    if source.children:
        return _distinct((one for child in source.children for one in child.tools_called), MAX_ENTITIES)
    return _distinct((message.tool_name for message in source.messages if message.tool_name), MAX_ENTITIES)


def _ordered(source: SummarySource) -> list[Message]:
    return sorted(source.messages, key=lambda message: (message.created_at, message.seq))


def _distinct(values: Iterator[str], most: int) -> list[str]:
    return list(dict.fromkeys(values))[:most]
