"""Text that makes backtracking patterns slow: runs, openers without their ends, and repeated beginnings of matches."""

from collections.abc import Callable
from functools import partial
from itertools import product

_RUNS = (
    " ", "\n", "\t", "\r\n", " \n", "\n ", "\n\n", " _", "_", "-", "--", ".", "...", ",", "'", '"', "`", "~", "#", "*",
    "/", ":", "=", "!", "a", "A", "1", "é", "—", "\u3042", "\u200b",
)  # fmt: skip
_OPENERS = (
    "<", "< ", "[", "(", "{", "“", "«", "@a", "@a ", "@", "http://", "https://a ", "<a>", "<a ", "</a>", "<think>",
    "[file ",
    "[A", "[a]", "[ ]", "```", "~~~", "```\n", "\n>", "> ", "\n- ", "# ", '"a', "!pin ", "decision:", "decision",
    "system", "system:", "user:\n", "x:\n", "SYSTEM ",
)  # fmt: skip
_REPEATED = (
    "1.", "1,", "1 ", "a.", "a. ", "A. ", "Mr. ", "a-", "a_", "a'", "a, ", "a ", "Aa", "aA", "1a", "#1 ", "1:",
    "2024-01-01 ",
    "2024", "1 of jan", "1 jan ", "jan ", "not ", ", not a", "no, ", "if ", "i ", "I ", "my ", "I and ", "my a and ",
    "always ", "I always ", "the a ", "add on my ", "for a, ", "a prefers ", "a over ", "a uses ", "a's ", ", and i ",
    ", it ", " - ", "? ", ") ", "actually ", "hi, ", "remember that ", "would ", "any more", "memory:\n", "memory ",
    "\n[A]\n", "rfc", "e.g. ", "…", "me ",
)  # fmt: skip
_UNITS = (*_RUNS, *_OPENERS, *_REPEATED)
# before the run, and after it: a match that begins well and fails at the very end
_AROUND = (("<", "\x00"), ("@a", "!"), ("hi\n", "x:"), ("I like ", "?"))


def texts(size: int) -> list[str]:
    """Return hostile texts of that many characters, in an order that does not depend on the size."""
    return [make(size) for make in MAKERS]


def _filled(before: str, unit: str, after: str, size: int) -> str:
    room = size - len(before) - len(after)
    return before + (unit * (room // len(unit) + 1))[:room] + after


# only runs are long inside of a match; an opener within another is a unit of its own
_FRAMED = [(before, unit, after) for (before, after), unit in product(_AROUND, _RUNS)]
MAKERS: list[Callable[[int], str]] = [
    *(partial(_filled, "", unit, "") for unit in _UNITS),
    *(partial(_filled, *parts) for parts in _FRAMED),
    lambda size: "<a>" * (size // 7) + "</a>" * (size // 7),
    lambda size: "[" * (size // 2) + "]" * (size // 2),
]
