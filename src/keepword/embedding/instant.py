"""The instant space: a static table with one vector for each token. A text is the sum of its distinct tokens' rows.

The table is made from the deep model by scripts/make_instant_table.py; its checksum says which one this is.
"""

import hashlib
import io
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources

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


class InstantTable:
    def __init__(self) -> None:
        raw = _data(f"{NAME}.npz")
        if hashlib.sha256(raw).hexdigest() != _SHA256:
            raise StartError(f"the table of the instant space is damaged ({NAME}.npz); install Keepword again")
        with np.load(io.BytesIO(raw)) as arrays:
            self._rows: NDArray[np.int8] = arrays["table"]
            self._scales = arrays["scale"].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", self._rows, self._rows, dtype=np.float32))
        self._to_unit = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self._is_word = np.zeros(len(self._rows), np.bool_)
        for token, number in tokenizer().get_vocab().items():
            self._is_word[number] = number >= _FIRST_WORD and not token.startswith("##") and token not in STOP_WORDS

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
