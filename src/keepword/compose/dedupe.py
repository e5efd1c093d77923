"""Telling whether something was said already, whatever its punctuation."""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
# fewer words than this are found in almost any text: only the same line counts then
_LEAST_WORDS = 3


class Said:
    """What is shown so far, by its words."""

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


@lru_cache(maxsize=4096)
def flatten(text: str) -> str:
    """Return the words alone, each between blanks."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
