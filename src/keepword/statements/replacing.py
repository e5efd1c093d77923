"""Tells which older memory a newer one ends where the words differ: by the old value it names, or by likeness."""

from functools import lru_cache

from keepword import patterns
from keepword.answers import MemoryType
from keepword.embedding.text_indexer import text_indexer
from keepword.statements.categories import category
from keepword.statements.meaning import meaning, old_value
from keepword.statements.slots import SLOT_CHARS, slot

_FLAGS = patterns.IGNORECASE
_ALIKE_VALUES = 0.45
_SWITCH = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:have|has|'ve|are|is|'re|now|just|finally|decided to) )*"
    r"(?:switch(?:ed|es|ing)?|mov(?:ed?|es|ing)|migrat(?:ed?|es|ing)|chang(?:ed?|es|ing)|go(?:es|ing)?)"
    r"(?: from (?P<old>.+?))? (?:to|with) (?P<value>[^,]+)",
    SLOT_CHARS,
    _FLAGS,
)
_REPLACE = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:have|has|'ve|are|is|now|will|'ll|decided to) )*replac(?:ed?|es|ing) (?P<old>.+?) (?:by|with) "
    r"(?P<value>[^,]+)",
    SLOT_CHARS,
    _FLAGS,
)
_USES = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:have|has|are|is|now|will|'ll|always|currently|still|mostly|decided to|going to) )*"
    r"(?:use|uses|using|used|go with|going with|run on|runs on|work with|works with|switched to|moved to|migrated to|"
    r"chose|picked) "
    r"(?P<value>[^,]+)",
    SLOT_CHARS,
    _FLAGS,
)
_PREFERS = patterns.at_start_of_short(r"(?P<who>.+?) prefers? (?P<value>[^,]+)", SLOT_CHARS, _FLAGS)
_STOPPED = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:have|has|'ve|just|finally|recently) )*(?:stopped|quit|gave up|gives up|given up) (?P<old>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_VERBS = frozenset(meaning("use uses go with switch run on work likes eats drinks smokes now moved").stems)


def is_replaced(newer: str, older: str) -> bool:
    """Tell whether the newer text says that the older one is over: it names its value, or another of its category."""
    if len(newer) > SLOT_CHARS or len(older) > SLOT_CHARS or meaning(older).denies:
        return False
    return _names_old(newer, older) or _switches(newer, older) or _prefers_another(newer, older)


def _names_old(newer: str, older: str) -> bool:
    """Tell whether the older text says nothing but the value that the newer one ends, of the same subject."""
    match = _SWITCH.match(newer) or _REPLACE.match(newer) or _STOPPED.match(newer)
    old = (match["old"] if match else None) or old_value(newer)
    if old is None:
        return False
    gone, here, there = set(meaning(old).stems), meaning(newer).stems, meaning(older).stems
    return bool(gone) and here[:1] == there[:1] and gone <= set(there) and set(there) - gone <= {*here, *_VERBS}


def _switches(newer: str, older: str) -> bool:
    """Tell whether "we switched to Postgres" ends "we use MySQL": another of a kind of which one is used."""
    switch, uses = _SWITCH.match(newer), _USES.match(older)
    if not switch or not uses or switch["old"] or _who(switch["who"]) != _who(uses["who"]):
        return False
    return _is_of_one_kind(switch["value"], uses["value"])


def _prefers_another(newer: str, older: str) -> bool:
    new, old = _PREFERS.match(newer), _PREFERS.match(older)
    if not new or not old or _who(new["who"]) != _who(old["who"]) or meaning(newer).denies:
        return False
    return _is_of_one_kind(new["value"], old["value"])


def _is_of_one_kind(one: str, other: str) -> bool:
    new, old = meaning(one).stems, meaning(other).stems
    if not new or not old or set(new) <= set(old) or set(old) <= set(new):
        return False
    kinds = category(one), category(other)
    return kinds[0] == kinds[1] if all(kinds) else not any(kinds) and _likeness(one, other) >= _ALIKE_VALUES


def _who(text: str) -> tuple[str, ...]:
    return meaning(text).stems


def likeness_of_subjects(type_: MemoryType, newer: str, older: str) -> float:
    """Return how alike the subjects of a correction or change and of an older memory are; 0 for other values."""
    here, there = slot(newer), slot(older)
    if not here or not there or not (here.changes or type_ == "correction"):
        return 0.0
    if not here.kind or here.kind != there.kind or here.value == there.value:
        return 0.0
    return _likeness(here.about, there.about)


@lru_cache(maxsize=10_000)
def _likeness(one: str, other: str) -> float:
    """Return the cosine in the instant space, rounded so that it is the same on every machine."""
    read = text_indexer().read
    return round(float(read(one).vector @ read(other).vector), 3)
