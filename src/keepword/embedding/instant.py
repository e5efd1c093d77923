"""The instant space: a static table with one vector for each token. A text is the sum of its distinct tokens' rows.

The table is made from the deep model by scripts/make_instant_table.py; its checksum says which one this is.
"""

import hashlib
import math
import mmap
import struct
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from keepword.embedding.words import STOP_WORDS
from keepword.errors import StartError
from keepword.language.stems import WORDS_REMEMBERED

Floats = NDArray[np.float32]
Tokens = NDArray[np.uint16]

NAME = "instant-v1"
_SHA256 = "c58f35eb5cdc00877d6fecedf7a7861e11306603972f72410ff540dfc6cf74f0"
# of a file inside a zip: the length of its header without names, and where in it the lengths of the names are
_HEADER_BYTES, _LENGTHS_AT = 30, 26
_FIRST_WORD = 1996  # tokens below are special ones, single signs and letters


@cache
def tokenizer() -> Tokenizer:
    """Return the WordPiece tokenizer of the deep model, which cuts and pads nothing."""
    instance = Tokenizer.from_str(_data("minilm-tokenizer.json").decode())
    instance.no_truncation()
    instance.no_padding()
    return instance


def _data(name: str) -> bytes:
    return resources.files(__package__).joinpath("data", name).read_bytes()


@lru_cache(maxsize=WORDS_REMEMBERED)
def _tokens(surface: str) -> tuple[int, ...]:
    return tuple(tokenizer().encode(surface, add_special_tokens=False).ids)


def _map(file: Path, member: str) -> tuple[mmap.mmap, NDArray[np.int8]]:
    """Map an array of int8 in an .npz, which stores it as it is: processes share its pages."""
    with ZipFile(file) as archive, file.open("rb") as opened:
        start = archive.getinfo(member).header_offset
        opened.seek(start + _LENGTHS_AT)
        opened.seek(start + _HEADER_BYTES + sum(struct.unpack("<HH", opened.read(4))))
        np.lib.format.read_magic(opened)
        shape, _, dtype = np.lib.format.read_array_header_1_0(opened)
        if dtype != np.int8:
            raise StartError(f"{member} in {file.name} holds {dtype} instead of int8; install Keepword again")
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        return mapped, np.frombuffer(mapped, np.int8, math.prod(shape), opened.tell()).reshape(shape)


class InstantTable:
    def __init__(self) -> None:
        file = Path(str(resources.files(__package__).joinpath("data", f"{NAME}.npz")))
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != _SHA256:
            raise StartError(f"the table of the instant space is damaged ({NAME}.npz); install Keepword again")
        with np.load(file) as arrays:
            self._scales = arrays["scale"].astype(np.float32)
        mapped, self._rows = _map(file, "table.npy")
        lengths = np.sqrt(np.einsum("ij,ij->i", self._rows, self._rows, dtype=np.float32))
        self._to_unit = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self._is_word = np.zeros(len(self._rows), np.bool_)
        for token, number in tokenizer().get_vocab().items():
            self._is_word[number] = number >= _FIRST_WORD and not token.startswith("##") and token not in STOP_WORDS
        if hasattr(mapped, "madvise"):  # the lengths needed all of it, texts need a few rows
            mapped.madvise(mmap.MADV_DONTNEED)

    @staticmethod
    def tokens(surface: str) -> tuple[int, ...]:
        """Return the numbers of one folded word's tokens."""
        return _tokens(surface)

    @staticmethod
    def distinct_tokens(surfaces: Iterable[str]) -> Tokens:
        """Return the distinct tokens of folded words, sorted."""
        return np.array(sorted({token for word in set(surfaces) for token in _tokens(word)}), np.uint16)

    def vector(self, tokens: Tokens) -> Floats:
        """Return the vector of a text with these distinct tokens, of length 1 (or 0 if there is nothing to say)."""
        total: Floats = self._scales[tokens] @ self._rows[tokens].astype(np.float32)
        length = float(np.sqrt(total @ total))
        return np.asarray(total / length, np.float32) if length > 0 else total

    def words_among(self, tokens: Tokens) -> Tokens:
        """Keep the tokens that are whole words and carry meaning."""
        return tokens[self._is_word[tokens]]

    def likeness(self, tokens: NDArray[np.intp], directions: Floats) -> Floats:
        """Return the cosines of single tokens (rows) with directions (columns), to compare word with word."""
        cosines: Floats = self._rows[tokens].astype(np.float32) @ directions.T
        cosines *= self._to_unit[tokens, None]
        return cosines
