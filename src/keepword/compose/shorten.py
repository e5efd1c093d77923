"""A summary that is too long for its room: its key decisions, then as many of its lines as fit. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keepword import patterns, tokens
from keepword.compose.dedupe import flatten

# a line that is quoted in part needs some words to say anything
LEAST_LINE_TOKENS = 16
# of the room: one long message must not be all that a summary says
MOST_OF_ROOM = 0.25
_CUT = " … (cut)"
_SENTENCE_END = patterns.anywhere(r"[.!?](?=\s)|\n")
_WORD_END = patterns.anywhere(r"\S(?=\s)")

# how many tokens a text takes once it is rendered
Measure = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ShortenedSummary:
    """`lines_left_out` counts those of the summary's own lines that are not there, `lines_cut` those there in part."""

    text: str
    lines_left_out: int
    lines_cut: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line at its place among the others; `line` is the number of the summary's line that it quotes, if any."""

    place: float
    text: str
    line: int | None
    is_cut: bool = False


def shorten(lines: Sequence[str], decisions: Sequence[str], room: int, measure: Measure) -> ShortenedSummary | None:
    """Return the lines that fit, in their order: decisions stay first, the newest first. None if not one line fits.

    A line that takes more than a quarter of the room is cut where a sentence ends, else where a word ends.
    """
    kept: list[_Candidate] = []
    most = max(LEAST_LINE_TOKENS, int(room * MOST_OF_ROOM))
    left = room - measure(_note(len(lines)))
    for candidate in _by_weight(lines, decisions, most):
        if candidate.line is not None and candidate.line in {other.line for other in kept}:
            continue
        # a line of ordinary length is there whole or not at all, unless it would be the only one
        may_cut = not kept or _cost(candidate.text) > most
        fitted = _fit(candidate, min(most, left), may_cut=may_cut)
        if fitted is not None:
            kept.append(fitted)
            left -= _cost(fitted.text)
    while kept:
        text = _written(kept, lines)
        if measure(text.text) <= room:
            return text
        kept.pop()
    return None


def cut(text: str, room: int) -> str | None:
    """Return the text's beginning up to the last sentence that fits, else the last word, and say that it is cut."""
    for ends in (_ends(_SENTENCE_END, text), _ends(_WORD_END, text)):
        if (end := _last_that_fits(text, ends, room)) and len(text[:end].split()) > 1:
            return text[:end].rstrip() + _CUT
    return None


def _by_weight(lines: Sequence[str], decisions: Sequence[str], most: int) -> Iterable[_Candidate]:
    words = [flatten(line) for line in lines]
    for decision in reversed(decisions):
        decision_words = flatten(decision)
        line = next((number for number, each in enumerate(words) if decision_words in each), None)
        if line is None:
            yield _Candidate(-1.0, f"- decided: {decision}", None)
        elif _cost(lines[line]) <= most:
            yield _Candidate(line, lines[line], line)
        else:
            # the line may be long, and the decision far from its beginning
            yield _Candidate(line, f"{_speaker(lines[line])}… {decision} …", line, is_cut=True)
    yield from (_Candidate(number, lines[number], number) for number in reversed(range(len(lines))))


def _fit(candidate: _Candidate, room: int, *, may_cut: bool) -> _Candidate | None:
    if _cost(candidate.text) <= room:
        return candidate
    text = cut(candidate.text, room - 3) if may_cut and room >= LEAST_LINE_TOKENS else None
    return None if text is None else _Candidate(candidate.place, text, candidate.line, is_cut=True)


def _written(kept: Sequence[_Candidate], lines: Sequence[str]) -> ShortenedSummary:
    there = {one.line for one in kept if one.line is not None}
    missing = len(lines) - len(there)
    ordered = [one.text for one in sorted(kept, key=lambda one: one.place)]
    text = "\n".join([*ordered, _note(missing)] if missing else ordered)
    return ShortenedSummary(text, missing, sum(one.is_cut for one in kept))


def _note(missing: int) -> str:
    return f"({missing} more lines of this summary do not fit here)"


def _cost(text: str) -> int:
    # the gutter before it and the end of the line
    return tokens.count(text) + 3


def _speaker(line: str) -> str:
    """Return the time and speaker before a quoted line."""
    head, colon, _ = line.partition(": ")
    return f"{head}: " if colon and head.startswith("- ") else "- "


def _ends(pattern: patterns.Pattern, text: str) -> list[int]:
    return [match.end() for match in pattern.finditer(text)]


def _last_that_fits(text: str, ends: Sequence[int], room: int) -> int:
    low, high, best = 0, len(ends) - 1, 0
    while low <= high:
        middle = (low + high) // 2
        if tokens.count(text[: ends[middle]] + _CUT) <= room:
            best, low = ends[middle], middle + 1
        else:
            high = middle - 1
    return best
