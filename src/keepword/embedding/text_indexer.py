"""From a message to its index entries: its searchable text in parts, and of each hashed stems, token ids and vector."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from keepword import patterns
from keepword.embedding.chunk import split
from keepword.embedding.entry_format import COMPONENT, INSTANT_DIMENSIONS, PIECE, WORD
from keepword.embedding.instant import Floats, InstantTable, Tokens
from keepword.embedding.words import Hashes, hashed, read_words, salted

_HALFVEC_HEAD = np.array([INSTANT_DIMENSIONS, 0], ">u2").tobytes()
# a longer entry would match almost any query; parts end at paragraphs and sentences
PART_CHARS = 8_000
# runs of signs that encode bytes: base64, hex, keys; no word and no path is that long
_ENCODED = patterns.anywhere(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{200,}+")
_LETTER = patterns.anywhere(r"[^\W_]")
_MIN_PRINTABLE = 0.7


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


def message_parts(
    speaker: str | None, content: str | None, tool_name: str | None, tool_args: Any, tool_result: str | None
) -> list[str]:
    """Return the parts of a message to index. Each includes the speaker's name, because questions name people."""
    args = "" if tool_args is None else json.dumps(tool_args, ensure_ascii=False)
    body = _ENCODED.sub(" ", "\n".join(filter(None, (content, tool_name, args, tool_result))))
    if not _is_searchable(body):
        return []
    text = f"{speaker}: {body}" if speaker else body
    return split(text, PART_CHARS) if len(text) > PART_CHARS else [text]


def _is_searchable(text: str) -> bool:
    return _LETTER.search(text) is not None and _share_printable(text) >= _MIN_PRINTABLE


def _share_printable(text: str) -> float:
    if text.isascii() and text.isprintable():
        return 1
    return sum(c.isprintable() or c.isspace() for c in text) / len(text)


@cache
def text_indexer() -> TextIndexer:
    """Return the one of this process, for functions that are called in another."""
    return TextIndexer()


def pack_vector(vector: Floats) -> bytes:
    """Write a vector as the database reads a halfvec."""
    head = _HALFVEC_HEAD if len(vector) == INSTANT_DIMENSIONS else np.array([len(vector), 0], ">u2").tobytes()
    return head + vector.astype(COMPONENT).tobytes()
