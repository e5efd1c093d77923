"""Telling whether something was said already, whatever its punctuation."""

from functools import lru_cache

from keepword import patterns

_WORD = patterns.anywhere(r"[^\W_]+")
# fewer words than this are found in almost any text: only the same line counts then
_LEAST_WORDS = 3
_KEPT_CHARS = 2_000


class ShownWords:
    """The texts that are shown so far, by their words."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._texts = ""
        self._parts: list[str] = []

    def add(self, text: str, *, stands_alone: bool = False) -> None:
        """Remember a text; one that `stands_alone` is the shorter form of whatever holds it."""
        words = flatten(text)
        self._whole.add(words)
        self._texts += f"{words}\n"  # no text runs into the next
        if stands_alone and words.count(" ") > _LEAST_WORDS:
            self._parts.append(words)

    def holds(self, text: str) -> bool:
        """Tell whether the text is shown already, alone or as a part of another."""
        words = flatten(text)
        if not words.strip() or words in self._whole:
            return True
        return words.count(" ") > _LEAST_WORDS and words in self._texts

    def is_shortened_by(self, text: str) -> bool:
        """Tell whether a shorter form of the text is shown."""
        words = flatten(text)
        return any(part in words for part in self._parts)


def flatten(text: str) -> str:
    """Return the words alone, each between blanks."""
    return _flatten_again(text) if len(text) <= _KEPT_CHARS else _flatten(text)


def _flatten(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


# a cache: most texts of one turn are shown in the next as well; long ones would fill the memory
_flatten_again = lru_cache(maxsize=8192)(_flatten)
