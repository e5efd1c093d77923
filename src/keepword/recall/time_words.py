"""Reads the words for time in a question: a window of days, or an order. Pure; the clock is handed in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from keepword import patterns
from keepword.embedding.words import surfaces
from keepword.language import calendar
from keepword.language.detect import languages_of
from keepword.language.names import Language, fold
from keepword.language.time_phrases import AHEAD, PAST, Phrase, phrases_from
from keepword.recall.time_spans import Days, moment, span_of

Order = Literal["first", "last"]

# only the beginning of a longer text is read: its question rarely stands later
MAX_CHARS = 1_000
_DAY = patterns.at_start(r"(\d{1,2})(?:st|nd|rd|th|er|e)?\Z")
_YEAR = patterns.at_start(r"(?:19|20)\d\d\Z")
# a date by its name counts by the day, month and year of a message, not by how near it is
_BY_NAME = frozenset({"date"})
_ORDERS: Mapping[str, Order] = {"first": "first", "last": "last"}
_PAIRED = {"segunda": "feira", "terca": "feira", "quarta": "feira", "quinta": "feira", "sexta": "feira"}
# forms that are also other words: these count only beside a day or a year
_SHORT = frozenset("mar set mag out ago gen dic dez ene dec sep jan jun".split())
# and these not alone
_OTHER_WORDS = frozenset("may march marco mai mon wed sat sun fri".split())


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A date as a question names it: any of its parts may be missing."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The time that a question names. `since` and `before` are a window, in UTC; `used` are the folded words for it.

    `is_near`: times near to the window count, too; else it is a date by name.
    """

    text: str
    used: frozenset[str]
    since: datetime | None = None
    before: datetime | None = None
    is_near: bool = False
    order: Order | None = None
    date: NamedDate | None = None


@dataclass(frozen=True, slots=True)
class _Match:
    phrase: Phrase
    language: Language
    first: int
    end: int
    slots: Mapping[str, int] = field(default_factory=dict)


def understand(question: str, now: datetime, zone: ZoneInfo) -> TimeWords | None:
    """Return the time that a question names, None if it names none. `zone` decides where its days begin."""
    words = surfaces(fold(question[:MAX_CHARS]))
    matches = _in_its_language(words, question[:MAX_CHARS])
    window = _window(words, matches, now.astimezone(zone).replace(tzinfo=None))
    taken = set() if window is None else set(range(window[0].first, window[0].end))
    orders = (one for one in matches if one.phrase.rule in _ORDERS)
    order = next((one for one in orders if not taken & set(range(one.first, one.end))), None)
    if window is None and order is None:
        return None
    spans = [words[one.first : one.end] for one in (window and window[0], order) if one]
    found = TimeWords(
        " … ".join(" ".join(span) for span in spans), frozenset(word for span in spans for word in span),
        order=_ORDERS[order.phrase.rule] if order else None,
    )  # fmt: skip
    return found if window is None else _with_window(found, *window, zone)


def _in_its_language(words: Sequence[str], text: str) -> list[_Match]:
    """Match the phrases of the text's languages; of all, where those have none."""
    matches = list(_matches(words))
    if not matches:
        return []
    languages = languages_of(words, text) or ("en",)
    # Rio de Janeiro is no January: the name of a month alone tells no language
    return [one for one in matches if one.language in languages] or [
        one for one in matches if one.phrase.rule not in _BY_NAME or one.slots.keys() & {"day", "year"}
    ]


def _with_window(found: TimeWords, match: _Match, days: Days, zone: ZoneInfo) -> TimeWords:
    by_name = match.phrase.rule in _BY_NAME
    # English dates are read with the question, as the weights were chosen
    is_foreign = by_name and match.language != "en"
    named = NamedDate(*(match.slots.get(part) for part in ("year", "month", "day"))) if is_foreign else None
    return TimeWords(
        found.text, found.used, moment(days.since, zone), moment(days.before, zone), not by_name, found.order, named
    )


def _window(words: Sequence[str], matches: Sequence[_Match], now: datetime) -> tuple[_Match, Days] | None:
    """Return the best phrase with its days: rather a date with its year, then how long ago; then the longest."""
    ranked = sorted(matches, key=lambda one: (_vagueness(one), one.first - one.end, one.first))
    for match in ranked:
        if match.phrase.rule in _ORDERS or _looks_ahead(words, match):
            continue
        days = span_of(match.phrase.rule, match.phrase.back, match.slots, now)
        if days is not None and days.since < now:
            return match, days
    return None


def _vagueness(match: _Match) -> int:
    if match.phrase.rule not in _BY_NAME:
        return 1
    return 0 if "year" in match.slots else 2


def _looks_ahead(words: Sequence[str], match: _Match) -> bool:
    """Tell whether a phrase may mean the future, and the question has more signs of the future than of the past."""
    others = {*words[: match.first], *words[match.end :]}
    is_past = bool(others & PAST[match.language])
    if match.phrase.back == 0 and match.phrase.rule != "day":
        return match.language == "en" and not is_past
    if match.phrase.rule == "weekday" or (match.phrase.rule in _BY_NAME and "year" not in match.slots):
        return bool(others & AHEAD[match.language]) and not is_past
    return False


def _matches(words: Sequence[str]) -> Iterator[_Match]:
    for first, word in enumerate(words):
        for language, phrase in phrases_from(word):
            found = _match(words, first, phrase, language)
            if found is not None:
                yield found


def _match(words: Sequence[str], first: int, phrase: Phrase, language: Language) -> _Match | None:
    place, slots = first, dict[str, int]()
    for piece in phrase.pieces:
        word = words[place] if place < len(words) else ""
        value = _slot(piece.slot, word, language) if piece.slot else None
        if value is not None and piece.slot:
            slots[piece.slot] = value
            place += 1 + (piece.slot == "weekday" and words[place + 1 : place + 2] == [_PAIRED.get(word)])
        elif word and word in piece.words:
            place += 1
        elif not piece.optional:
            return None
    if slots.keys() & {"month", "weekday"} and not slots.keys() & {"day", "year"} and _is_doubtful(words[first:place]):
        return None
    return _Match(phrase, language, first, place, slots)


def _is_doubtful(words: Sequence[str]) -> bool:
    return not _SHORT.isdisjoint(words) or (len(words) == 1 and words[0] in _OTHER_WORDS)


def _slot(name: str, word: str, language: Language) -> int | None:
    if name == "x":
        return 0 if word else None
    if name == "n":
        return calendar.number_of(word, language)
    if name == "weekday":
        return calendar.weekday_of(word, language)
    if name == "month":
        return calendar.month_of(word, language)
    found = (_DAY if name == "day" else _YEAR).match(word)
    return int(found[1] if name == "day" else word) if found else None
