"""The words of a text: case-folded, stemmed in its language, and hashed to 32 bits."""

import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from keepword import patterns
from keepword.language.detect import languages_of
from keepword.language.function_words import FUNCTION_WORDS
from keepword.language.names import Language, fold
from keepword.language.stems import WORDS_REMEMBERED, stems_of

STOP_WORDS = FUNCTION_WORDS["en"]

_SURFACE = patterns.anywhere(r"[^\W_]+")
# scripts that write no blanks between words, as they are folded: Thai, Lao, Burmese, Khmer, kana, Han
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Korean, whose syllables come apart when they are folded: blanks are there, but particles stick to the words
_HANGUL = "\u1100-\u11ff"
_GROUPS = patterns.anywhere(f"[{_UNSPACED}]+|[{_HANGUL}]+|[^{_UNSPACED}{_HANGUL}]+")
_OF_SIGNS = patterns.anywhere(f"[{_UNSPACED}{_HANGUL}]")
_HAN = patterns.at_start(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_MAX_CHARS = 64  # longer runs are no words
_SALT = np.uint32(0x9E3779B1)

Hashes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class WordForms:
    """The words of a text, folded and in order, and the stems of each: none of a function word.

    `telling` are its words without the function words of its languages, English apart.
    """

    languages: tuple[Language, ...]
    telling: tuple[str, ...]
    stems: Mapping[str, tuple[str, ...]]


def read_words(text: str) -> WordForms:
    """Read the words of a text in the languages that it seems to be written in; in English if that can't be told."""
    in_order = surfaces(fold(text))
    languages = tuple(one for one in languages_of(in_order, text) if one != "en")
    accented = {} if text.isascii() else _accented(text)
    distinct = dict.fromkeys(word for word in in_order if len(word) <= _MAX_CHARS)
    stems = {word: stems_of(accented.get(word, word), languages) for word in distinct}
    telling = in_order
    if languages:
        function_words = frozenset[str]().union(*(FUNCTION_WORDS[one] for one in languages))
        telling = [word for word in in_order if word not in function_words]
    return WordForms(languages, tuple(telling), stems)


def _accented(text: str) -> dict[str, str]:
    """Return the words of a text with their accents, by their folded forms: some stems depend on them."""
    composed = unicodedata.normalize("NFC", text.lower())
    return {fold(word): word for word in _SURFACE.findall(composed) if not word.isascii() and len(word) <= _MAX_CHARS}


def surfaces(folded: str) -> list[str]:
    """Return the words of a folded text as they stand there, in order."""
    surface_words = _SURFACE.findall(folded)
    if folded.isascii() or not _OF_SIGNS.search(folded):
        return surface_words
    return [piece for word in surface_words for piece in _split_signs(word)]


def _split_signs(word: str) -> Iterator[str]:
    """Yield each two neighbours of a run of signs, and each Han sign; what is written in letters stays as it is."""
    for run in _GROUPS.findall(word):
        if not _OF_SIGNS.search(run):
            yield run
            continue
        # a word of Hangul also stands as it was folded
        signs = unicodedata.normalize("NFC", run)
        if len(signs) == 1 or signs != run:
            yield run
        yield from (sign for sign in signs if len(signs) > 1 and _HAN.match(sign))
        yield from (signs[place : place + 2] for place in range(len(signs) - 1))


def stem(surface: str) -> str | None:
    """Return the English stem that stands for all forms of a word; None for a word that is not searched for."""
    if len(surface) > _MAX_CHARS:
        return None
    stems = stems_of(surface, ())
    return stems[-1] if stems else None


@lru_cache(maxsize=WORDS_REMEMBERED)
def hashed(stemmed: str) -> int:
    """Return a signed 32-bit number for a stem; 0 stands for none."""
    return int(np.uint32(zlib.crc32(stemmed.encode())).astype(np.int32)) or 1


def salted(hashes: Hashes, salt: str) -> Hashes:
    """Return the hashes as they stand in the index of one tenant or one run."""
    mixed = (hashes.view(np.uint32) ^ np.uint32(zlib.crc32(salt.encode()))) * _SALT
    return mixed.view(np.int32)
