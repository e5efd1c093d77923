"""Adds the missing time and speaker to lines of a model's summary, from the sources whose words each line repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.compaction import render
from keepword.compaction.sources import SummarySource, minute
from keepword.embedding.words import stem, surfaces
from keepword.language.names import fold

# the share of a line's words that its source, or its sources together, must contain
_LEAST_SHARE = 0.5
_MOST_SOURCES = 3
_FEWEST_WORDS = 2
_BULLET = patterns.at_start(r"[-*•][ \t]++")
_HEADING = patterns.at_start(r"[ \t]*+(?:#|\*\*[^*]*+\*\*:?[ \t]*+\Z)")
_TIMED = patterns.at_start(r"[*_[(]{0,3}\d{4}-\d\d-\d\dT\d\d:\d\dZ")
_HEAD = patterns.at_start(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ)[ \t]++")
_QUOTED = patterns.at_start(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ) ([^\s:]{1,200})")


@dataclass(frozen=True, slots=True)
class _Source:
    time: str
    who: str
    words: frozenset[str]


def attribute_lines(text: str, source: SummarySource) -> str:
    """Begin each line with a time and its speaker; without a message that has its words, the time of all of them."""
    sources = list(_sources(source))
    # above the leaves a line may begin with any word
    speakers = frozenset(stem for one in sources for stem in stems_of(one.who)) if source.messages else frozenset()
    whole = _span(minute(source.earliest_at), minute(source.latest_at))
    return "\n".join(
        _with_speaker(line, sources, speakers) if _stays(line) else _stamped(line, sources, whole)
        for line in text.split("\n")
    )


def _with_speaker(line: str, sources: Sequence[_Source], speakers: frozenset[str]) -> str:
    """Add who said it to a line with a time that names no speaker, where a message of that time has its words."""
    head = _HEAD.match(line)
    if head is None or not speakers:
        return line
    words = stems_of(line[head.end() :])
    if not words.isdisjoint(speakers):
        return line
    origins = _origins(words, [one for one in sources if one.time == head[1]])
    return f"{line[: head.end()]}{_speaker(origins, words)}{line[head.end() :]}" if origins else line


def _stays(line: str) -> bool:
    return not _bare(line) or _HEADING.match(line) is not None or _is_timed(line)


def _is_timed(line: str) -> bool:
    return _TIMED.match(_bare(line)) is not None


def _bare(line: str) -> str:
    plain = line.strip()
    bullet = _BULLET.match(plain)
    return plain[bullet.end() :] if bullet else plain


def _stamped(line: str, sources: Sequence[_Source], whole: str) -> str:
    words = stems_of(line)
    origins = _origins(words, sources)
    if not origins:
        return f"- {whole} {_bare(line)}"
    times = sorted(source.time for source in origins)
    return f"- {_span(times[0], times[-1])} {_speaker(origins, words)}{_bare(line)}"


def _origins(words: frozenset[str], sources: Sequence[_Source]) -> list[_Source]:
    """Return the source with most of the line's words and all that tie with it, or a few that contain them together."""
    if len(words) < _FEWEST_WORDS:
        return []
    most = max((len(words & source.words) for source in sources), default=0)
    if most >= _LEAST_SHARE * len(words):
        return [source for source in sources if len(words & source.words) == most]
    together = _together(words, sources)
    missing = words.difference(*(source.words for source in together))
    return together if len(missing) <= (1 - _LEAST_SHARE) * len(words) else []


def _together(words: frozenset[str], sources: Sequence[_Source]) -> list[_Source]:
    """Return a few sources, chosen greedily: each adds most of the words that the others lack."""
    chosen: list[_Source] = []
    missing = words
    for _ in range(_MOST_SOURCES):
        best = max(sources, key=lambda source: len(missing & source.words), default=None)
        if best is None or not missing & best.words:
            break
        chosen.append(best)
        missing -= best.words
    return chosen


def _speaker(sources: Sequence[_Source], words: frozenset[str]) -> str:
    """Return the speakers of the sources that the line does not name."""
    names = dict.fromkeys(source.who for source in sources if not stems_of(source.who) <= words)
    return f"{', '.join(names)}: " if 0 < len(names) <= _MOST_SOURCES else ""


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}/{last}"


def _sources(source: SummarySource) -> Iterator[_Source]:
    """Yield each message, or each line of a child summary that begins with a time; the earliest first."""
    for message in source.messages:
        who = (message.user if message.role == "user" else message.agent) or message.role
        yield _Source(minute(message.created_at), who, stems_of(f"{who} {render.message_text(message, source)}"))
    for child in source.children:
        for line in child.text.split("\n"):
            if quoted := _QUOTED.match(line):
                yield _Source(quoted[1], quoted[2], stems_of(line))


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words."""
    return frozenset(stemmed for word in surfaces(fold(text)) if (stemmed := stem(word)) is not None)
