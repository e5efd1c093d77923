"""Tells the language of a text by its function words: linear, a few microseconds, and none where it can't tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from keepword.language.calendar import MONTHS, WEEKDAYS
from keepword.language.function_words import FUNCTION_WORDS
from keepword.language.names import LANGUAGES, Language

# the language of a text is told by its beginning
MAX_WORDS = 300
MAX_CHARS = 2_000
# so much of a text, by weight, are function words of its language; of chat, a third and more
MIN_SHARE = 0.12
MIN_WEIGHT = 0.75
# languages that come this near to the best are taken too: Portuguese beside Spanish, Dutch beside German
NEAR = 0.75
MAX_LANGUAGES = 2
# common in English as names, exclamations or content words
_ENGLISH_TOO = frozenset(
    """
ah ai al alle ante as au bald bin car chi come con contra da dame dans dear dei del den der des di die doe dos du el
em en er es est et eu fa fin fond for fui fur gaan ha hat he hem het hi hier hin ho in is la las le les li lo los ma
mal man marco mars mas me met mi mim mine mir mit na ne nos o om on onde ons op or para pas per plus pour pro pur que
quo re sa sans se sein sera si sin so sole solo son sono sta stare su sur ta tal tan te ten ti toe ton tot tra tu tua
uno uns us van vi via vis voor vos wan war was wat wen wer wie wo y ya zo zu zum
""".split()
)
_LESS = 0.4
# words such as `in` and `was`, which are function words of English and of others
_SHARED = 0.3
# letters and signs of one language alone, and those that English does without
_LETTERS: dict[str, Language] = {
    "ß": "de", "ä": "de", "ö": "de", "ü": "de", "œ": "fr", "û": "fr", "î": "fr", "è": "fr", "ñ": "es",
    "¿": "es", "¡": "es", "ã": "pt", "õ": "pt", "ì": "it", "ò": "it", "ï": "nl",
}  # fmt: skip
_ACCENTS = frozenset("áàâéèêëíóòôúùñçãõäöüßœ¿¡")
_LETTER_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What one word says: for English, against it, and for each of the other languages."""

    english: float
    foreign: float
    languages: tuple[tuple[Language, float], ...]


def _evidence() -> dict[str, _Evidence]:
    words: dict[str, list[Language]] = {}
    for language in LANGUAGES:
        for word in FUNCTION_WORDS[language]:
            if len(word) > 1 or word in _ENGLISH_TOO:
                words.setdefault(word, []).append(language)
        for forms in (*MONTHS[language], *WEEKDAYS[language]):
            words.setdefault(forms[0], []).append(language)
    return {word: _of_word(word, languages) for word, languages in words.items()}


def _of_word(word: str, languages: list[Language]) -> _Evidence:
    others = [one for one in languages if one != "en"]
    by_language = tuple((one, 1 / len(others)) for one in others)
    if "en" in languages:
        return _Evidence(_SHARED if others else 1.0, 0.0, by_language)
    return _Evidence(0.0, _LESS if word in _ENGLISH_TOO else 1.0, by_language)


_EVIDENCE = _evidence()


def languages_of(words: Sequence[str], text: str) -> tuple[Language, ...]:
    """Return the languages of a text, the likeliest first; none if its words do not tell. `words`: folded, in order."""
    distinct = set(islice(words, MAX_WORDS))
    english = 0.0
    # of each language, what is said against English, and what distinguishes it from the others
    foreign: dict[Language, float] = {}
    totals: dict[Language, float] = {}
    for word in distinct & _EVIDENCE.keys():
        evidence = _EVIDENCE[word]
        english += evidence.english
        for language, weight in evidence.languages:
            foreign[language] = foreign.get(language, 0.0) + evidence.foreign
            totals[language] = totals.get(language, 0.0) + weight
    accents = 0.0 if text.isascii() else _read_letters(text, totals)
    enough = max(MIN_WEIGHT, MIN_SHARE * len(distinct))
    sure = [one for one in totals if english < foreign.get(one, 0.0) + accents >= enough]
    if not sure:
        return ("en",) if english else ()
    sure.sort(key=lambda one: (-totals[one], one))
    return tuple(one for one in sure[:MAX_LANGUAGES] if totals[one] >= NEAR * totals[sure[0]])


def _read_letters(text: str, totals: dict[Language, float]) -> float:
    """Add what letters say to the totals, and return what they say against English."""
    letters = set(text[:MAX_CHARS].lower())
    for letter in letters & _LETTERS.keys():
        language = _LETTERS[letter]
        totals[language] = totals.get(language, 0.0) + _LETTER_WEIGHT
    return _LETTER_WEIGHT if letters & _ACCENTS else 0.0
