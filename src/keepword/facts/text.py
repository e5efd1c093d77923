"""JSON text, taken apart without reading the numbers in it: they stay as they were written."""

from collections.abc import Iterator
from json import JSONDecoder

_BLANKS = " \t\n\r"
# numbers as text: no digit is lost, and none is too many
_decoder = JSONDecoder(parse_int=str, parse_float=str)


def members(document: str) -> dict[str, str]:
    """Return an object's members as the text that each has; the last of a name counts, as everywhere in Keepword."""
    values: dict[str, str] = {}
    position = _after(document, 0, "{")
    while document[position] != "}":
        name, end = _decoder.raw_decode(document, position)
        start = _after(document, end, ":")
        _, end = _decoder.raw_decode(document, start)
        values[name] = document[start:end]
        position = _after(document, end, ",")
    return values


def items(document: str) -> Iterator[str]:
    """Yield a list's items as text."""
    position = _after(document, 0, "[")
    while document[position] != "]":
        _, end = _decoder.raw_decode(document, position)
        yield document[position:end]
        position = _after(document, end, ",")


def _after(document: str, position: int, sign: str) -> int:
    """Return where the next thing begins, past blanks and one sign if it is there."""
    position = _skip(document, position)
    return _skip(document, position + 1) if document[position] == sign else position


def _skip(document: str, position: int) -> int:
    while document[position] in _BLANKS:
        position += 1
    return position
