"""Extractive summaries: the most informative sentences, word for word, with speaker and time."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from keepword import patterns, tokens
from keepword.compaction.plan import Tier
from keepword.compaction.render import BUDGET_TOKENS, cut, message_text
from keepword.compaction.sources import LEVELS, SummarySource, minute
from keepword.faithfulness import named_items
from keepword.model import Message

NAME = "extractive"

# of the messages' tokens; a day keeps less than a tenth
SHARES: dict[Tier, float] = {"thread": 0.30, "session": 0.18, "day": 0.099, "week": 0.05}
LEAST_TOKENS = 40
MAX_DECISIONS = 20
MAX_ENTITIES = 50
_DECISION_CHARS = 500
# a shortened quote keeps at least so many words
_LEAST_QUOTE_TOKENS = 10
# text without an end of a sentence is quoted in pieces of this length
_SENTENCE_CHARS = 16_000
_SENTENCE = patterns.anywhere(r"(?<=[.!?])[\"'”’)]*+\s++(?=[^\sa-z])|\n")
_HAS_WORD = patterns.anywhere(r"\w")
_NOT_IN_NAMES = patterns.anywhere(r"[\s:]+")
# where a long sentence may be quoted in part
_CLAUSE = patterns.in_short(
    r"(?<!\s)(?:(?<=;)\s++|"
    r"(?<=,)\s++(?=(?:and|but|so|because|which|who|where|when|while|then|as|since)\b)|\s++(?=[-\u2013\u2014]++\s)|"
    r"\s++(?=(?:and|but|because|so|since) (?:i|i'm|we|he|she|they|it|my|our|the|that|there)\b))",
    _SENTENCE_CHARS,
    patterns.IGNORECASE,
)
_LEAST_CLAUSE_WORDS = 4
_LINE = patterns.at_start(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ) ([^:\s]+(?: [^:\s]+)?): (.*)\Z", patterns.DOTALL)
_DECIDED = patterns.in_short(
    r"\b(?:decision|decided?|decides|agreed?|agrees|approved?|chosen?|chose|settled on|go(?:ing)? with|we(?:'ll| will)|"
    r"let's|must|shall|switch(?:ed)? to|deadline|action item|todo|resolved|rejected|cancell?ed|scheduled)\b",
    _SENTENCE_CHARS,
    patterns.IGNORECASE,
)
_STRONGLY = patterns.in_short(
    r"\b(?:decision|decided|agreed|approved|chose|settled on|go(?:ing)? with|resolved|rejected)\b",
    _SENTENCE_CHARS,
    patterns.IGNORECASE,
)
_WEIGHTS = {"identifier": 1.5, "number": 1.5, "date": 1.5, "name": 1.0}
_DECISION_WEIGHT = 1.0
_STRONG_WEIGHT = 3.0
_TOPIC_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or clause with its place: `line` numbers the message or line that it comes from, `number` it there.

    `follows` and `goes_on` say that the same sentence has a clause before it and after it.
    """

    line: int
    number: int
    at: str
    who: str
    text: str
    follows: bool = False
    goes_on: bool = False

    @property
    def prefix(self) -> str:
        return f"- {self.at} {self.who}: "


def summarize(source: SummarySource, message_tokens: int) -> str:
    """Quote the most informative sentences, deterministically, within the tier's share of tokens; at least one."""
    units = list(read_units(source))
    return "\n".join(_lines(_choose(units, budget(source.tier, message_tokens))))


def budget(tier: Tier, message_tokens: int) -> int:
    return max(LEAST_TOKENS, min(BUDGET_TOKENS[LEVELS[tier]], int(message_tokens * SHARES[tier])))


def read_units(source: SummarySource) -> Iterator[Unit]:
    if source.children:
        yield from _from_children(source)
        return
    for number, message in enumerate(_ordered(source)):
        yield from _split(number, minute(message.created_at), who(message), message_text(message, source, brief=True))


def _ordered(source: SummarySource) -> list[Message]:
    return sorted(source.messages, key=lambda message: (message.created_at, message.seq))


def sentences(text: str) -> list[str]:
    parts = (piece for part in _SENTENCE.split(text) for piece in patterns.pieces(part, _SENTENCE_CHARS))
    return [sentence for part in parts if (sentence := part.strip()) and _HAS_WORD.search(sentence)]


def who(message: Message) -> str:
    """Return a short name of the speaker, without blank and colon, so that the line can be parsed again."""
    name = {"user": message.user or "user", "assistant": message.agent or "assistant"}.get(message.role, message.role)
    return _NOT_IN_NAMES.sub("_", name)


def _from_children(source: SummarySource) -> Iterator[Unit]:
    number = 0
    for child in source.children:
        for line in child.text.split("\n"):
            match = _LINE.match(line)
            # a model's line may have another form; then the time of its summary is used
            at, name, text = match.groups() if match else (minute(child.earliest_at), "notes", line.lstrip("- "))
            number += 1
            yield from _split(number, at, name, text)


def _split(line: int, at: str, name: str, text: str) -> Iterator[Unit]:
    number = 0
    for sentence in sentences(text):
        parts = _clauses(sentence)
        for place, part in enumerate(parts, 1):
            yield Unit(line, number, at, name, part, place > 1, place < len(parts))
            number += 1


def _clauses(sentence: str) -> list[str]:
    """Split a sentence into clauses that can be quoted alone; joined by blanks they are the sentence again."""
    parts: list[list[str]] = []
    words = 0  # of the last part
    for part in _CLAUSE.split(sentence):
        more = len(part.split())
        if parts and min(words, more) < _LEAST_CLAUSE_WORDS:
            parts[-1].append(part)
            words += more
        else:
            parts.append([part])
            words = more
    return [" ".join(part) for part in parts]


def _choose(units: Sequence[Unit], budget_tokens: int) -> list[Unit]:
    choice = _GreedySelection(units)
    choice.fill(budget_tokens)
    # the estimate is a little above the tokens written: one more sentence may fit
    choice.fill(budget_tokens - tokens.count("\n".join(_lines(choice.made))))
    room = budget_tokens - tokens.count("\n".join(_lines(choice.made)))
    if units:
        choice.cut(room)
    return choice.made


class _GreedySelection:
    """Greedy: takes the unit that adds most new words for its length, again and again."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._weighed = [_weighed(unit, topic) for unit, topic in zip(units, _topics(units), strict=True)]
        # a blank before the quote, and dots where text before it is left out
        self._costs = [tokens.count(unit.text) + 1 + unit.follows + unit.goes_on for unit in units]
        self._prefixes = [tokens.count(unit.prefix) + 1 for unit in units]
        # each line begins with its speaker
        self._held = {("name", word) for unit in units for word in named_items.words(unit.who)}
        self._lines: dict[int, list[int]] = {}
        for number, unit in enumerate(units):
            self._lines.setdefault(unit.line, []).append(number)
        self._begun: set[int] = set()
        self._chosen: dict[int, Unit] = {}

    @property
    def made(self) -> list[Unit]:
        return [self._chosen[number] for number in sorted(self._chosen)]

    def cut(self, room_tokens: int) -> None:
        """Quote the beginning of the best unit if no whole one fits any more, so that the summary is never empty."""
        rooms = {number: room_tokens - self._prefix(number) - 3 for number in self._left()}
        fit = [number for number, room in rooms.items() if room >= _LEAST_QUOTE_TOKENS and self._worth(number)]
        if fit or not self._chosen:
            best = max(fit or rooms, key=lambda number: (self._worth(number), -number))
            self._take(best, _shortened(self._units[best], max(_LEAST_QUOTE_TOKENS, rooms[best])))

    def _left(self) -> list[int]:
        return [number for number in range(len(self._units)) if number not in self._chosen]

    def fill(self, room_tokens: int) -> None:
        queue = [(-self._worth(number), number) for number in self._left()]
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
            for other in self._take(number, self._units[number]):
                heapq.heappush(queue, (-self._worth(other), other))

    def _take(self, number: int, unit: Unit) -> list[int]:
        """Return the units that became cheaper: the others of a line of which nothing was quoted before."""
        self._chosen[number] = unit
        self._held |= self._weighed[number].items
        line = self._units[number].line
        if line in self._begun:
            return []
        self._begun.add(line)
        return [other for other in self._lines[line] if other not in self._chosen]

    def _cost(self, number: int) -> int:
        return self._costs[number] + self._prefix(number)

    def _prefix(self, number: int) -> int:
        return 0 if self._units[number].line in self._begun else self._prefixes[number]

    def _worth(self, number: int) -> float:
        items_of_unit = self._weighed[number]
        fresh = sum(_WEIGHTS[kind] for kind, item in items_of_unit.items if (kind, item) not in self._held)
        # rounded, so that the order is the same on every machine
        return float(round((items_of_unit.own + fresh) / self._cost(number), 9))


@dataclass(frozen=True, slots=True)
class _WeightedUnit:
    items: frozenset[tuple[str, str]]
    own: float


def _weighed(unit: Unit, topic: float) -> _WeightedUnit:
    decision = (
        _STRONG_WEIGHT if _STRONGLY.search(unit.text) else _DECISION_WEIGHT if _DECIDED.search(unit.text) else 0.0
    )
    named = named_items.find(unit.text).all() | {("date", date) for date in named_items.spoken_dates(unit.text)}
    return _WeightedUnit(named, decision + _TOPIC_WEIGHT * topic)


def _topics(units: Sequence[Unit]) -> list[float]:
    """Return for each sentence, from 0 to 1, how many of the frequent topics it mentions."""
    spoken = [frozenset(word for word in named_items.words(unit.text) if len(word) > 3) for unit in units]  # noqa: PLR2004
    often = Counter(word for said in spoken for word in said)
    # "sounds great" mentions no topic
    raw = [sum(often[word] - 1 for word in said) / (len(said) + 3) if len(said) > 2 else 0 for said in spoken]  # noqa: PLR2004
    most = max(raw, default=0) or 1
    return [value / most for value in raw]


def _shortened(unit: Unit, room_tokens: int) -> Unit:
    text = next(cut(unit.text, room_tokens))
    return unit if text == unit.text else replace(unit, text=text.rstrip(), goes_on=True)


def _lines(units: Sequence[Unit]) -> Iterator[str]:
    for _, same in groupby(units, key=lambda unit: unit.line):
        yield _joined(list(same))


def _joined(said: Sequence[Unit]) -> str:
    """Join the quotes of one line; dots stand for clauses that are left out."""
    text = f"… {said[0].text}" if said[0].follows else said[0].text
    for before, after in pairwise(said):
        torn = after.number > before.number + 1 and (before.goes_on or after.follows)
        text += f" … {after.text}" if torn else f" {after.text}"
    return said[0].prefix + (f"{text} …" if said[-1].goes_on else text)


def key_decisions(source: SummarySource) -> list[str]:
    if source.children:
        return _distinct((one for child in source.children for one in child.key_decisions), 2 * MAX_DECISIONS)
    said = (
        sentence for message in _ordered(source) for sentence in sentences(message_text(message, source, brief=True))
    )
    return _distinct((one[:_DECISION_CHARS] for one in said if _STRONGLY.search(one)), MAX_DECISIONS)


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


def _distinct(given: Iterator[str], most: int) -> list[str]:
    return list(dict.fromkeys(given))[:most]
