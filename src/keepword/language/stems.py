"""Stems of one word in the languages of its text. Scripts without blanks have no stems: see embedding/words.py."""

from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from keepword import patterns
from keepword.language.function_words import ARABIC, FUNCTION_WORDS, RUSSIAN, UNSPACED
from keepword.language.names import Language, fold

# of each of the caches of words: the commonest are nearly all of what is said, and one takes up to 400 bytes
WORDS_REMEMBERED = 16_384

_SNOWBALL: dict[Language, str] = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "pt": "portuguese", "it": "italian",
    "nl": "dutch",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Script:
    """A script as its most spoken language, which Snowball has under this name."""

    letters: patterns.Start
    stemmer: str
    function_words: frozenset[str] = frozenset()


_SCRIPTS = (
    _Script(patterns.at_start(r"[\u0621-\u064a]++\Z"), "arabic", ARABIC),
    _Script(patterns.at_start(r"[\u0400-\u045f\u0300-\u036f]++\Z"), "russian", RUSSIAN),
    _Script(patterns.at_start(r"[\u0370-\u03ff\u1f00-\u1fff\u0300-\u036f]++\Z"), "greek"),
    _Script(patterns.at_start(r"[\u0900-\u097f]++\Z"), "hindi"),
)
_stemmers = {name: Stemmer.Stemmer(name) for name in (*_SNOWBALL.values(), *(one.stemmer for one in _SCRIPTS))}
# "and", "with", "like", "so" and "for" stick to the article, which the stemmer then leaves
_ARABIC_ARTICLE = patterns.at_start("(?:[وبكف]ال|لل)(?=...)")
# long vowels, by which most Arabic plurals differ from their singular: mafatih, miftah
_ARABIC_VOWELS = str.maketrans("", "", "اوي")
_LEAST_CONSONANTS = 3
_ENGLISH = FUNCTION_WORDS["en"]


@lru_cache(maxsize=WORDS_REMEMBERED)
def stems_of(word: str, languages: tuple[Language, ...]) -> tuple[str, ...]:
    """Return the folded stems of a word in lower case, with its accents; none for a function word.

    The first is that of the text's likeliest language; the last is the English one, which every word of a Latin script
    has: a text whose language could not be told was read as English.
    """
    folded = fold(word)
    if not word.isascii() and (script := _script_of(word)) is not None:
        return () if folded in script.function_words else _in_script(word, folded, script)
    if folded in UNSPACED or folded in _ENGLISH or any(folded in FUNCTION_WORDS[language] for language in languages):
        return ()
    foreign = (fold(_stemmers[_SNOWBALL[language]].stemWord(word)) for language in languages if language != "en")
    return _distinct(*foreign, _stemmers["english"].stemWord(folded))


def _script_of(word: str) -> _Script | None:
    return next((script for script in _SCRIPTS if script.letters.match(word)), None)


def _in_script(word: str, folded: str, script: _Script) -> tuple[str, ...]:
    if script.stemmer == "arabic" and (article := _ARABIC_ARTICLE.match(word)):
        word = word[article.end() :]
    stemmed = fold(_stemmers[script.stemmer].stemWord(word))
    consonants = stemmed.translate(_ARABIC_VOWELS) if script.stemmer == "arabic" else ""
    return _distinct(stemmed, folded, consonants if len(consonants) >= _LEAST_CONSONANTS else "")


def _distinct(*stems: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, stems)))
