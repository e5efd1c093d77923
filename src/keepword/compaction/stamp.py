"""Times and speakers for lines of a model's summary that lack them: each from the source whose words it repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.compaction import render
from keepword.compaction.sources import Stretch, minute
from keepword.embedding.words import fold, stem, surfaces

# so many of a line's words must be in one source: else it speaks of several, or of none
_LEAST_SHARE = 0.5
_FEWEST_WORDS = 2
_BULLET = patterns.at_start(r"[-*•][ \t]++")
_TIMED = patterns.at_start(r"[*_[(]{0,3}\d{4}-\d\d-\d\dT\d\d:\d\dZ")
_QUOTED = patterns.at_start(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ) ([^\s:]{1,200})")


@dataclass(frozen=True, slots=True)
class _Source:
    time: str
    who: str
    words: frozenset[str]


def stamp(text: str, stretch: Stretch) -> str:
    """Begin each line with a time; one whose source can't be told from its words stays as it is."""
    lines = text.split("\n")
    if all(_is_timed(line) for line in lines):
        return text
    sources = list(_sources(stretch))
    return "\n".join(line if _is_timed(line) else _stamped(line, sources) for line in lines)


def _is_timed(line: str) -> bool:
    return _TIMED.match(_bare(line)) is not None


def _bare(line: str) -> str:
    plain = line.strip()
    bullet = _BULLET.match(plain)
    return plain[bullet.end() :] if bullet else plain


def _stamped(line: str, sources: Sequence[_Source]) -> str:
    words = _words(line)
    shared = [len(words & source.words) for source in sources]
    most = max(shared, default=0)
    # what several sources hold equally may be from any of them
    if len(words) < _FEWEST_WORDS or most < _LEAST_SHARE * len(words) or shared.count(most) > 1:
        return line
    best = sources[shared.index(most)]
    speaker = "" if _words(best.who) <= words else f"{best.who}: "
    return f"- {best.time} {speaker}{_bare(line)}"


def _sources(stretch: Stretch) -> Iterator[_Source]:
    """Yield each message, or each line of the children that tells its time, the earliest first."""
    for message in stretch.messages:
        who = (message.user if message.role == "user" else message.agent) or message.role
        yield _Source(minute(message.created_at), who, _words(f"{who} {render.told(message, stretch)}"))
    for child in stretch.children:
        for line in child.text.split("\n"):
            if quoted := _QUOTED.match(line):
                yield _Source(quoted[1], quoted[2], _words(line))


def _words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without the small ones."""
    return frozenset(found for word in surfaces(fold(text)) if (found := stem(word)) is not None)
