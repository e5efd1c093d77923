"""Counting tokens, offline: o200k, which other models' counts resemble closely enough for budgets."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

_CHUNK_CHARS = 100_000


@cache
def _encode() -> Callable[[str], list[int]]:
    # importing it reads tables for half a second: not before somebody counts
    encode: Callable[[str], list[int]] = import_module("bpe_openai").get_encoding("o200k_base").encode_ordinary
    return encode


def count(text: str) -> int:
    """Exact for any text that fits one chunk; a longer one may count a token more at each seam."""
    encode = _encode()
    return sum(len(encode(text[at : at + _CHUNK_CHARS])) for at in range(0, len(text), _CHUNK_CHARS))
