"""Counting tokens, offline: o200k, which other models' counts resemble closely enough for budgets."""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from keepword.errors import StartError

_BINDINGS = "bpe_openai._bindings"
_CHUNK_CHARS = 100_000
# a cache: the same lines, profiles and summaries are counted turn after turn
_LINE_CHARS, _LINES = 1_000, 16_384
_TEXT_CHARS, _TEXTS = 20_000, 512


@cache
def _tokenizer() -> Callable[[str], int]:
    # its public face makes lists of tokens first, which takes three times as long
    counted: Callable[[str], int] = _bindings().tokenizer_for_encoding("o200k_base").count
    return counted


def _bindings() -> Any:
    """Load the compiled part of bpe_openai alone: its package makes tables of its own, of 66 MB in 0.3 s."""
    package = find_spec("bpe_openai")
    spec = PathFinder.find_spec(_BINDINGS, package.submodule_search_locations if package else [])
    if spec is None or spec.loader is None:
        raise StartError("bpe_openai, which counts tokens, is not installed; install Keepword again")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
