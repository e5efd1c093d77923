"""One rule: a type of memory, and the words with which a clause of that type begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.answers import MemoryType

MAX_CHARS = 400
# "Actually " may come before what a sentence says
CLAUSE_CHARS = MAX_CHARS + 20
_FLAGS = patterns.IGNORECASE

# words that refer to something outside the sentence: alone it says nothing
_VAGUE = patterns.at_start(
    r"(?:it|its|it's|that|this|these|those|them|him|her|his|he|she|they|their|such|so|you|your|how|what|"
    r"when you|the way|"
    r"here|there|back|one|something|anything|everything|nothing|someone|stuff|things|thing|none|all|both|"
    r"the (?:idea|answer|explanation|first|second|third|last|next|same|other|one|result|above|following))\b",
    _FLAGS,
)
_PASSING = frozenset(
    "fine ok okay good great bad bored tired sick ill busy back here there ready done late early lost stuck sure "
    "sorry happy sad glad afraid hungry curious confused excited well better worse wrong right broken down slow "
    "gone nice away online offline open closed full empty new old big small funny weird strange interested "
    "impressed awesome amazing beautiful cute fun perfect incredible solid fantastic lovely wonderful excellent "
    "cool special always like such super important inspiring encouraging supportive proud grateful thankful lucky "
    "nervous worried scared stressed overwhelmed".split()
)
# what follows such a state, where a noun would say what is new, old or big: a time, thanks, or a new clause
_AFTER_A_STATE = frozenset(
    "today now thank thanks with right about the to that and but or because since when while if as".split()
)
_ASIDE = frozenset(
    "question idea problem minute moment second look doubt feeling headache cold chat talk go break try point guess "
    "hunch suggestion thought issue request favor favour bug error time plan".split()
)
_ARTICLES = frozenset({"a", "an", "the", "no", "very", "so", "too", "really", "been"})
_WORD_OR_SHORT = patterns.anywhere(r"[\w'-]+")
# "…, Ann!": the person addressed, not a part of the statement
_ADDRESSED = patterns.in_short(r", [A-ZÀ-Þ]\w+[.!]*$", CLAUSE_CHARS)


@dataclass(frozen=True, slots=True)
class Rule:
    """The pattern's group `rest` must have content of its own; `needs` is a pattern that must match as well."""

    type: MemoryType
    pattern: patterns.ShortStart
    confidence: float = 0.8
    needs: patterns.Short | None = None
    asks: bool = False

    def fits(self, sentence: str) -> bool:
        match = self.pattern.match(sentence)
        if not match or (self.needs and not self.needs.search(_ADDRESSED.sub("", match["rest"]))):
            return False
        return says_something(match["rest"])


def rule(type_: MemoryType, pattern: str, confidence: float = 0.8, **more: object) -> Rule:
    begins = patterns.at_start_of_short(pattern + r"(?P<rest>.+)", CLAUSE_CHARS, _FLAGS)
    return Rule(type_, begins, confidence, **more)  # type: ignore[arg-type]


def says_something(rest: str) -> bool:
    plain = rest.strip(" .!,;:")
    if not plain or _VAGUE.match(plain):
        return False
    words = [word for word in _WORD_OR_SHORT.findall(plain.lower()) if word not in _ARTICLES]
    first = words[0] if words else ""
    return bool(words) and first not in _ASIDE and not (first in _PASSING and _is_passing(words))


def _is_passing(words: Sequence[str]) -> bool:
    """Tell whether a state is temporary: "sick", "fine, thank you", "tired today"."""
    return len(words) == 1 or words[1] in _PASSING or words[1] in _AFTER_A_STATE
