"""Tells which older memory a newer one ends where the words differ: by the old value it names, or by likeness."""

from functools import lru_cache
from typing import NamedTuple

from keepword import patterns
from keepword.answers import MemoryType
from keepword.embedding.text_indexer import text_indexer
from keepword.statements.categories import category
from keepword.statements.meaning import meaning, old_value
from keepword.statements.slots import SLOT_CHARS, slot

_FLAGS = patterns.IGNORECASE
_ALIKE_VALUES = 0.45
READ_AGAIN = 20_000
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
    r"(?P<who>.+?) (?:(?:have|has|'ve|just|finally|recently) )*(?:stopped|quit|gave up|gives up|given up|"
    r"resigned from|got rid of|phased out|(?P<parted>left|dropped|abandoned|sold)) "
    r"(?:(?:my|our|their|the|using) )*(?P<old>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_OWNED = patterns.at_start_of_short(r"(?P<whose>[\w.@-]+)'s ", SLOT_CHARS)
# what somebody who left or sold it does not do any more; Rome may be loved from afar
_HOLDS = frozenset(meaning("use uses go with switch run on work now moved at have has own owns drive drives").stems)
_VERBS = _HOLDS | frozenset(meaning("likes eats drinks smokes").stems)


def is_replaced(newer: str, older: str) -> bool:
    """Tell whether the newer text says that the older one is over: it names its value, or another of its category."""
    if len(newer) > SLOT_CHARS or len(older) > SLOT_CHARS or meaning(older).denies:
        return False
    return _names_old(newer, older) or _switches(newer, older) or _prefers_another(newer, older)


def _names_old(newer: str, older: str) -> bool:
    """Tell whether the older text says nothing but the value that the newer one ends, of the same subject."""
    gone = _ended(newer)
    if not gone:
        return False
    here, there = meaning(newer).stems, meaning(older).stems
    verbs = _HOLDS if _has_parted(newer) else _VERBS
    return here[:1] == there[:1] and gone <= set(there) and set(there) - gone <= {*here, *verbs}


@lru_cache(maxsize=READ_AGAIN)
def _has_parted(text: str) -> bool:
    match = _STOPPED.match(text)
    return match is not None and match["parted"] is not None


def _switches(newer: str, older: str) -> bool:
    """Tell whether "we switched to Postgres" ends "we use MySQL": another of a kind of which one is used."""
    switch, uses = _switched(newer), _used(older)
    if switch is None or uses is None or switch.who != uses.who:
        return False
    return _is_of_one_kind(switch.value, uses.value)


def _prefers_another(newer: str, older: str) -> bool:
    new, old = _preferred(newer), _preferred(older)
    if new is None or old is None or new.who != old.who or meaning(newer).denies:
        return False
    return _is_of_one_kind(new.value, old.value)


# a new text is compared with all that are stored: each is read once
@lru_cache(maxsize=READ_AGAIN)
def _ended(text: str) -> frozenset[str]:
    """Return the stems of the value that a text says is over; none where it names none."""
    match = _SWITCH.match(text) or _REPLACE.match(text) or _STOPPED.match(text)
    old = (match["old"] if match else None) or old_value(text)
    return frozenset() if old is None else frozenset(meaning(old).stems)


@lru_cache(maxsize=READ_AGAIN)
def _switched(text: str) -> "_Choice | None":
    """Return what a text switches to, unless it names what from."""
    match = _SWITCH.match(text)
    return None if match is None or match["old"] else _choice(match)


@lru_cache(maxsize=READ_AGAIN)
def _used(text: str) -> "_Choice | None":
    return _choice(_USES.match(text))


@lru_cache(maxsize=READ_AGAIN)
def _preferred(text: str) -> "_Choice | None":
    return _choice(_PREFERS.match(text))


class _Choice(NamedTuple):
    """Whose choice it is, by its stems, and for what."""

    who: tuple[str, ...]
    value: str


def _choice(match: patterns.Match | None) -> _Choice | None:
    return None if match is None else _Choice(meaning(match["who"]).stems, match["value"])


def _is_of_one_kind(one: str, other: str) -> bool:
    new, old = meaning(one).stems, meaning(other).stems
    if not new or not old or set(new) <= set(old) or set(old) <= set(new):
        return False
    kinds = category(one), category(other)
    return kinds[0] == kinds[1] if all(kinds) else not any(kinds) and _likeness(one, other) >= _ALIKE_VALUES


def likeness_of_subjects(type_: MemoryType, newer: str, older: str) -> float:
    """Return how alike the subjects of a correction or change and of an older memory are; 0 for other values."""
    here, there = slot(newer), slot(older)
    if not here or not there or not (here.changes or type_ == "correction"):
        return 0.0
    if not here.kind or here.kind != there.kind or here.value == there.value:
        return 0.0
    if _owner(here.about) != _owner(there.about) or _differ(here.about, there.about):
        return 0.0
    return _likeness(here.about, there.about)


def _owner(about: str) -> str:
    """Return whose the subject is; nobody's where it is the team's, or nobody is named."""
    match = _OWNED.match(about)
    return match["whose"].casefold() if match else ""


def _differ(one: str, other: str) -> bool:
    """Tell whether each subject has a word of its own: "port of staging" and "port of production" are two."""
    here, there = set(meaning(one).stems), set(meaning(other).stems)
    return bool(here - there and there - here)


@lru_cache(maxsize=10_000)
def _likeness(one: str, other: str) -> float:
    """Return the cosine in the instant space, rounded so that it is the same on every machine."""
    read = text_indexer().read
    return round(float(read(one).vector @ read(other).vector), 3)
