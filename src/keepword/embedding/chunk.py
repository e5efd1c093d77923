"""Splits long texts at paragraphs, else at sentences, else at words, else anywhere."""

from collections.abc import Callable, Iterator, Sequence

from keepword import patterns

# a paragraph that is longer is cut there first
_LONG_CHARS = 128 * 1024
_PAUSES: tuple[patterns.Pattern | patterns.Short, ...] = (
    patterns.anywhere(r"(?<=\n)\n+"),
    patterns.anywhere(r"\n+"),
    patterns.in_short(r"(?<=[.!?;])\s++|(?<=[\u3002\uff01\uff1f\uff1b])", _LONG_CHARS),
    patterns.anywhere(r"\s+"),
)


def split(text: str, limit: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return parts of at most `limit`, as few as the pauses allow; joined they hold every word of the text."""
    return list(_packed(_pieces(text, limit, measure, 0), limit, measure))


def split_all(texts: Sequence[str], limit: int, measure: Callable[[str], int]) -> list[list[str]]:
    return [split(text, limit, measure) for text in texts]


def _pieces(text: str, limit: int, measure: Callable[[str], int], level: int) -> Iterator[str]:
    if measure(text) <= limit:
        yield text
    elif level == len(_PAUSES):
        step = max(1, len(text) * limit // (measure(text) + 1))
        for start in range(0, len(text), step):
            yield from _pieces_or_halves(text[start : start + step], limit, measure)
    else:
        for piece in (part for long in patterns.pieces(text, _LONG_CHARS) for part in _PAUSES[level].split(long)):
            if piece.strip():
                yield from _pieces(piece, limit, measure, level + 1)


def _pieces_or_halves(text: str, limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    if measure(text) <= limit or len(text) == 1:
        yield text
        return
    half = len(text) // 2
    yield from _pieces_or_halves(text[:half], limit, measure)
    yield from _pieces_or_halves(text[half:], limit, measure)


def _packed(pieces: Iterator[str], limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    chunk: list[str] = []
    size = 0
    for piece in pieces:
        more = measure(piece)
        if chunk and size + more + 1 > limit:
            yield "\n".join(chunk)
            chunk, size = [], 0
        chunk.append(piece)
        size += more + 1
    if chunk:
        yield "\n".join(chunk)
