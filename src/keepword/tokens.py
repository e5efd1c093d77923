"""Counting tokens, offline: o200k, which other models' counts resemble closely enough for budgets."""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module

_CHUNK_CHARS = 100_000
# a cache: the same lines, profiles and summaries are counted turn after turn
_LINE_CHARS, _LINES = 1_000, 16_384
_TEXT_CHARS, _TEXTS = 20_000, 512


@cache
def _tokenizer() -> Callable[[str], int]:
    # importing it reads tables for half a second: not before somebody counts. Its public face makes lists of tokens
    # first, which takes three times as long
    counted: Callable[[str], int] = import_module("bpe_openai._bindings").tokenizer_for_encoding("o200k_base").count
    return counted


def load() -> None:
    """Read the tables now, so that the first count does not have to."""
    _tokenizer()


def count(text: str) -> int:
    """Exact for any text that fits one chunk; a longer one may count a token more at each seam."""
    if len(text) <= _LINE_CHARS:
        return _line(text)
    if len(text) <= _TEXT_CHARS:
        return _text(text)
    return sum(_counted(text[at : at + _CHUNK_CHARS]) for at in range(0, len(text), _CHUNK_CHARS))


def _counted(text: str) -> int:
    try:
        return _tokenizer()(text)
    except UnicodeEncodeError:
        # half of a surrogate pair is no text; it counts as the sign that stands for such
        return _tokenizer()(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


_line = lru_cache(maxsize=_LINES)(_counted)
_text = lru_cache(maxsize=_TEXTS)(_counted)
