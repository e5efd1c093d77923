"""Reads a text once and makes the index entry: hashed stems, token ids, instant vector."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from keepword.embedding.entry_format import COMPONENT, INSTANT_DIMENSIONS, PIECE, WORD
from keepword.embedding.instant import Floats, InstantTable, Tokens
from keepword.embedding.words import Hashes, hashed, read_words, salted

_HALFVEC_HEAD = np.array([INSTANT_DIMENSIONS, 0], ">u2").tobytes()


@dataclass(frozen=True, slots=True)
class TextFeatures:
    """A text as the index knows it: hashes of its distinct stems, its distinct word tokens, its instant vector."""

    words: Hashes
    pieces: Tokens
    vector: Floats


@dataclass(frozen=True, slots=True)
class Entry:
    """One searchable part of a text, packed for the store. `text` is set where it is not the whole text."""

    part: int
    text: str | None
    words: bytes | None
    pieces: bytes | None
    lexemes: str | None
    instant: bytes | None


class TextIndexer:
    def __init__(self) -> None:
        self.table = InstantTable()

    def read(self, text: str) -> TextFeatures:
        forms = read_words(text)
        words = np.fromiter({hashed(stemmed) for stems in forms.stems.values() for stemmed in stems}, np.int32)
        tokens = self.table.distinct_tokens(forms.telling)
        return TextFeatures(words, self.table.words_among(tokens), self.table.vector(tokens))

    def index_entry(self, text: str, salts: Iterable[str], part: int = 0, *, whole: bool = True) -> Entry:
        """Read a text and pack it. `salts`: the tenant's, then the run's."""
        reading = self.read(text)
        lexemes = np.concatenate([salted(reading.words, salt) for salt in salts])
        return Entry(
            part,
            None if whole else text,
            reading.words.astype(WORD).tobytes(),
            reading.pieces.astype(PIECE).tobytes(),
            "{" + ",".join(map(str, lexemes.tolist())) + "}",
            pack_vector(reading.vector),
        )


@cache
def text_indexer() -> TextIndexer:
    """Return the one of this process, for functions that are called in another."""
    return TextIndexer()


def pack_vector(vector: Floats) -> bytes:
    """Write a vector as the database reads a halfvec."""
    head = _HALFVEC_HEAD if len(vector) == INSTANT_DIMENSIONS else np.array([len(vector), 0], ">u2").tobytes()
    return head + vector.astype(COMPONENT).tobytes()
