"""A summary without a model: the sentences that carry the most, word for word, with who said them and when."""

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from keepword import tokens
from keepword.compaction import items
from keepword.compaction.plan import Tier
from keepword.compaction.render import BUDGET_TOKENS, cut, told
from keepword.compaction.sources import LEVELS, Stretch, minute
from keepword.model import Message

NAME = "extractive"

# of the messages' tokens; a day keeps less than a tenth
SHARES: dict[Tier, float] = {"thread": 0.30, "session": 0.18, "day": 0.099, "week": 0.05}
LEAST_TOKENS = 40
MAX_DECISIONS = 20
MAX_ENTITIES = 50
_DECISION_CHARS = 500
# a cut quote needs some words to say anything
_LEAST_QUOTE_TOKENS = 10
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[^\sa-z])|\n")
_LINE = re.compile(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ) ([^:\s]+(?: [^:\s]+)?): (.*)\Z", re.DOTALL)
_DECIDED = re.compile(
    r"\b(?:decision|decided?|decides|agreed?|agrees|approved?|chosen?|chose|settled on|go(?:ing)? with|we(?:'ll| will)|"
    r"let's|must|shall|switch(?:ed)? to|deadline|action item|todo|resolved|rejected|cancell?ed|scheduled)\b",
    re.IGNORECASE,
)
_STRONGLY = re.compile(
    r"\b(?:decision|decided|agreed|approved|chose|settled on|go(?:ing)? with|resolved|rejected)\b", re.IGNORECASE
)
_WEIGHTS = {"identifier": 1.5, "number": 1.0, "date": 1.0, "name": 1.0}
_DECISION_WEIGHT = 3.0
_TOPIC_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence with its place: `line` numbers the message or line that it comes from."""

    line: int
    at: str
    who: str
    text: str

    @property
    def prefix(self) -> str:
        return f"- {self.at} {self.who}: "


def summarize(stretch: Stretch, message_tokens: int) -> str:
    """Deterministic. Keeps to the share of its tier, but always says at least one thing."""
    units = list(read_units(stretch))
    return "\n".join(_lines(_choose(units, budget(stretch.tier, message_tokens))))


def budget(tier: Tier, message_tokens: int) -> int:
    return max(LEAST_TOKENS, min(BUDGET_TOKENS[LEVELS[tier]], int(message_tokens * SHARES[tier])))


def read_units(stretch: Stretch) -> Iterator[Unit]:
    if stretch.children:
        yield from _from_children(stretch)
        return
    ordered = sorted(stretch.messages, key=lambda message: (message.created_at, message.seq))
    for number, message in enumerate(ordered):
        for sentence in sentences(told(message, stretch, brief=True)):
            yield Unit(number, minute(message.created_at), who(message), sentence)


def sentences(text: str) -> list[str]:
    return [found for part in _SENTENCE.split(text) if (found := part.strip()) and re.search(r"\w", found)]


def who(message: Message) -> str:
    """Name the speaker shortly; no blank or colon, so that the line can be read back."""
    name = {"user": message.user or "user", "assistant": message.agent or "assistant"}.get(message.role, message.role)
    return re.sub(r"[\s:]+", "_", name)


def _from_children(stretch: Stretch) -> Iterator[Unit]:
    number = 0
    for child in stretch.children:
        for line in child.text.split("\n"):
            found = _LINE.match(line)
            # a model's line may have another form: its summary's time stands for it then
            at, name, text = found.groups() if found else (minute(child.earliest_at), "notes", line.lstrip("- "))
            number += 1
            for sentence in sentences(text):
                yield Unit(number, at, name, sentence)


def _choose(units: Sequence[Unit], budget_tokens: int) -> list[Unit]:
    """Take what adds most for its length, again and again: what is said already adds nothing any more."""
    found = [_weighed(unit, topic) for unit, topic in zip(units, _topics(units), strict=True)]
    costs = [tokens.count(unit.text) + 1 for unit in units]
    prefixes = [tokens.count(unit.prefix) + 1 for unit in units]
    held: set[tuple[str, str]] = set()
    lines: set[int] = set()
    chosen: list[int] = []
    left = budget_tokens
    queue = [(-_worth(found[n], held, costs[n] + prefixes[n]), n) for n in range(len(units))]
    heapq.heapify(queue)
    while queue:
        worth, n = heapq.heappop(queue)
        cost = costs[n] + (0 if units[n].line in lines else prefixes[n])
        if cost > left or not worth:
            continue
        now = -_worth(found[n], held, cost)
        if queue and now > queue[0][0] and now > worth:
            heapq.heappush(queue, (now, n))
            continue
        chosen.append(n)
        held |= found[n].items
        lines.add(units[n].line)
        left -= cost
    if not chosen and units:
        best = max(range(len(units)), key=lambda n: (_worth(found[n], held, costs[n]), -n))
        return [_shortened(units[best], budget_tokens)]
    return [units[n] for n in sorted(chosen)]


@dataclass(frozen=True, slots=True)
class _Weighed:
    items: frozenset[tuple[str, str]]
    own: float


def _weighed(unit: Unit, topic: float) -> _Weighed:
    decision = _DECISION_WEIGHT if _DECIDED.search(unit.text) else 0.0
    return _Weighed(items.find(unit.text).all(), decision + _TOPIC_WEIGHT * topic)


def _worth(weighed: _Weighed, held: set[tuple[str, str]], cost: int) -> float:
    fresh = sum(_WEIGHTS[kind] for kind, item in weighed.items if (kind, item) not in held)
    # a round figure keeps the order the same on every machine
    return float(round((weighed.own + fresh) / cost, 9))


def _topics(units: Sequence[Unit]) -> list[float]:
    """Tell for each sentence, from 0 to 1, how much of what is spoken of often it is about."""
    spoken = [frozenset(word for word in items.words(unit.text) if len(word) > 3) for unit in units]  # noqa: PLR2004
    often = Counter(word for said in spoken for word in said)
    raw = [sum(often[word] - 1 for word in said) / (len(said) + 3) for said in spoken]
    most = max(raw, default=0) or 1
    return [value / most for value in raw]


def _shortened(unit: Unit, budget_tokens: int) -> Unit:
    # nothing fits: a quote may end early, if it says so
    room = max(_LEAST_QUOTE_TOKENS, budget_tokens - tokens.count(unit.prefix) - 2)
    text = next(cut(unit.text, room))
    return unit if text == unit.text else Unit(unit.line, unit.at, unit.who, text.rstrip() + "…")


def _lines(units: Sequence[Unit]) -> Iterator[str]:
    for _, same in groupby(units, key=lambda unit: unit.line):
        said = list(same)
        yield said[0].prefix + " ".join(unit.text for unit in said)


def key_decisions(stretch: Stretch) -> list[str]:
    if stretch.children:
        return _distinct((one for child in stretch.children for one in child.key_decisions), 2 * MAX_DECISIONS)
    told_ = (unit.text[:_DECISION_CHARS] for unit in read_units(stretch) if _STRONGLY.search(unit.text))
    return _distinct(told_, MAX_DECISIONS)


def entities_mentioned(stretch: Stretch) -> list[str]:
    """Return names and identifiers, those that are spoken of most first."""
    if stretch.children:
        return _distinct((one for child in stretch.children for one in child.entities_mentioned), MAX_ENTITIES)
    often: Counter[str] = Counter()
    for unit in read_units(stretch):
        found = items.find(unit.text)
        often.update(sorted(found.names | found.identifiers))
    return [item for item, _ in often.most_common(MAX_ENTITIES)]


def tools_called(stretch: Stretch) -> list[str]:
    if stretch.children:
        return _distinct((one for child in stretch.children for one in child.tools_called), MAX_ENTITIES)
    return _distinct((message.tool_name for message in stretch.messages if message.tool_name), MAX_ENTITIES)


def _distinct(given: Iterator[str], most: int) -> list[str]:
    return list(dict.fromkeys(given))[:most]
