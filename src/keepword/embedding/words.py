"""The words of a text: case-folded, stemmed, and hashed to 32 bits."""

import zlib
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

from keepword import patterns

# the function words of English: too frequent to tell one entry from another
_STOP_WORDS = """
a about above after again against all am an and any are as at be because been before being below between both but by
can did do does doing don down during each few for from further had has have having he her here hers herself him
himself his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other
our ours ourselves out over own s same she should so some such t than that the their theirs them themselves then there
these they this those through to too under until up very was we were what when where which while who whom why will with
you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_SURFACE = patterns.anywhere(r"[^\W_]+")
# scripts that write no blanks between words: each sign, and each two neighbours, count as words
_UNSPACED = patterns.anywhere(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]")
_MAX_CHARS = 64  # longer runs are no words
_SALT = np.uint32(0x9E3779B1)

_stemmer = Stemmer.Stemmer("english")
Hashes = NDArray[np.int32]


def surfaces(folded: str) -> list[str]:
    """Return the words of a folded text as they stand there, in order."""
    surface_words = _SURFACE.findall(folded)
    if folded.isascii() or not _UNSPACED.search(folded):
        return surface_words
    return [piece for word in surface_words for piece in _split_unspaced(word)]


def _split_unspaced(word: str) -> list[str]:
    if not _UNSPACED.search(word):
        return [word]
    return [*word, *(word[i : i + 2] for i in range(len(word) - 1))]


@lru_cache(maxsize=100_000)
def stem(surface: str) -> str | None:
    """Return the stem that stands for all forms of a word; None for what is not worth searching for."""
    if surface in STOP_WORDS or len(surface) > _MAX_CHARS:
        return None
    return str(_stemmer.stemWord(surface))


@lru_cache(maxsize=100_000)
def hashed(stemmed: str) -> int:
    """Return a signed 32-bit number for a stem; 0 stands for none."""
    return int(np.uint32(zlib.crc32(stemmed.encode())).astype(np.int32)) or 1


def salted(hashes: Hashes, salt: str) -> Hashes:
    """Return the hashes as they stand in the index of one tenant or one run."""
    mixed = (hashes.view(np.uint32) ^ np.uint32(zlib.crc32(salt.encode()))) * _SALT
    return mixed.view(np.int32)
