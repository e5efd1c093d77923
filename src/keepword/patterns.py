r"""Regular expressions over text that somebody else wrote: the one place where they are compiled.

`re` backtracks, and holds Python's lock while it does: one pattern whose time grows with the square of its text stops
every request of the process. So each pattern says how it is used, and a test runs all of them on hostile text:

- `anywhere`: searched in text of any length; its time grows no faster than the text, wherever the search begins;
- `at_start`: only matched from a known position, in text of any length, with the same promise for that one position;
- `in_short` and `at_start_of_short`: may cost more, and refuse a text longer than their limit; `pieces` cuts for them.

Linear forms: possessive repeats (`\s*+`), no two repeats side by side that can take the same sign, a lookbehind that
lets a run be entered only at its beginning, and no repeat that runs over the sign that opens the pattern.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, cast

IGNORECASE, MULTILINE, DOTALL = re.IGNORECASE, re.MULTILINE, re.DOTALL

Match = re.Match[str]
Pattern = re.Pattern[str]


class Start(Protocol):
    """A pattern that is not searched for: it matches at a position or it does not."""

    def match(self, string: str, pos: int = 0, /) -> Match | None: ...

    def fullmatch(self, string: str, pos: int = 0, /) -> Match | None: ...


class ShortStart:
    """A pattern for texts of at most `most_chars`. Longer ones raise ValueError: its caller has to cut them."""

    __slots__ = ("_pattern", "most_chars")

    def __init__(self, pattern: Pattern, most_chars: int) -> None:
        self._pattern = pattern
        self.most_chars = most_chars

    def match(self, text: str) -> Match | None:
        return self._pattern.match(self._bounded(text))

    def _bounded(self, text: str) -> str:
        if len(text) > self.most_chars:
            raise ValueError(f"this pattern reads at most {self.most_chars} characters, not {len(text)}")
        return text


class Short(ShortStart):
    __slots__ = ()

    def search(self, text: str) -> Match | None:
        return self._pattern.search(self._bounded(text))

    def finditer(self, text: str) -> Iterator[Match]:
        return self._pattern.finditer(self._bounded(text))

    def findall(self, text: str) -> list[str]:
        return [match[0] for match in self.finditer(text)]

    def split(self, text: str) -> list[str]:
        return self._pattern.split(self._bounded(text))

    def sub(self, instead: str | Callable[[Match], str], text: str, count: int = 0) -> str:
        return self._pattern.sub(instead, self._bounded(text), count=count)


@dataclass(frozen=True, slots=True)
class KnownPattern:
    """A pattern of the package. `most_chars` is None where its text may have any length."""

    pattern: Pattern
    use: Literal["anywhere", "at_start"]
    most_chars: int | None = None


# all patterns of the modules that are imported
KNOWN: list[KnownPattern] = []


def anywhere(source: str, flags: int = 0) -> Pattern:
    KNOWN.append(KnownPattern(re.compile(source, flags), "anywhere"))
    return KNOWN[-1].pattern


def at_start(source: str, flags: int = 0) -> Start:
    KNOWN.append(KnownPattern(re.compile(source, flags), "at_start"))
    return cast("Start", KNOWN[-1].pattern)


def in_short(source: str, most_chars: int, flags: int = 0) -> Short:
    KNOWN.append(KnownPattern(re.compile(source, flags), "anywhere", most_chars))
    return Short(KNOWN[-1].pattern, most_chars)


def at_start_of_short(source: str, most_chars: int, flags: int = 0) -> ShortStart:
    KNOWN.append(KnownPattern(re.compile(source, flags), "at_start", most_chars))
    return ShortStart(KNOWN[-1].pattern, most_chars)


def pieces(text: str, most_chars: int) -> Iterator[str]:
    """Cut a text after an empty line, else a line, else a blank, else anywhere; joined, the pieces are the text."""
    at = 0
    while len(text) - at > most_chars:
        # in the second half, so that no sign of the text is looked at more than twice
        low, high = at + most_chars // 2, at + most_chars
        ends = (text.rfind(mark, low, high) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > low), high)
        yield text[at:end]
        at = end
    yield text[at:]
