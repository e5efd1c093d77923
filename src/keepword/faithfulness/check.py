"""The faithfulness check: the named items of a summary must occur in its sources."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from keepword.faithfulness import named_items

# one invented item among twenty passes: models count and convert, and forms are recognised by rules
LEAST_SHARE = 0.95
_SHOWN = 20
_STEM_CHARS = 5
_SUFFIX_CHARS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`share` of the items are in the sources; `offending` are the others."""

    share: float
    offending: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        return self.share >= LEAST_SHARE


class Sources:
    """Everything that a summary may mention."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(texts)

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _words(self) -> frozenset[str]:
        return named_items.words(self._text)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return named_items.every_number(self._text)

    @cached_property
    def _dates(self) -> frozenset[str]:
        return named_items.every_date(self._text)

    def _has_stem(self, name: str) -> bool:
        """Tell whether the sources have a word of the same stem: a capital at the start of a sentence makes no name."""
        stem = name[: max(_STEM_CHARS, len(name) - _SUFFIX_CHARS)]
        return len(name) > _STEM_CHARS and any(word.startswith(stem) for word in self._words)

    def _has_month(self, item: str) -> bool:
        """Tell whether the sources have a day in that month and year."""
        year, _, month = item.partition("-")
        return year in self._dates and any(date.startswith(f"{month}-") for date in self._dates if month)

    def contains(self, kind: str, item: str) -> bool:
        if kind == "number":
            return item in self._numbers
        if kind == "date":
            return item in self._dates or item in self._numbers or item in self._folded or self._has_month(item)
        if kind == "name":
            return item in self._words or item in self._folded or self._has_stem(item)
        return item in self._folded


def check_faithful(summary: str, sources: Sources) -> Verdict:
    item_names = sorted(named_items.find(summary).all())
    offending = tuple(item for kind, item in item_names if not sources.contains(kind, item))
    share = 1 - len(offending) / len(item_names) if item_names else 1.0
    return Verdict(share, offending[:_SHOWN])
