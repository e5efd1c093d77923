"""Renders a profile from its lines: hand-written ones first, then memories since, by type."""

from collections.abc import Iterable, Iterator, Sequence

from keepword.profiles.ports import ProfileLine

_HEADINGS = {
    "preference": "Preferences",
    "correction": "Corrections",
    "fact": "Facts",
    "decision": "Decisions",
    "task": "Tasks",
    "action": "Action items",
}


def render(lines: Sequence[ProfileLine], *, whole: bool) -> str:
    """Write a profile's lines as one text. With `whole`, lines that were written by hand keep their form."""
    written = list(_written(lines) if whole else _without_idle_fillers(_written(lines)))
    text = "\n".join(line for line, _ in written)
    since = list(_since(lines, {_words(line) for line, _ in written}))
    gap = "\n" if written and since and not text.endswith("\n") else ""
    return text + gap + "\n".join(since)


def distinct_lines(lines: Iterable[ProfileLine]) -> list[ProfileLine]:
    """Return the lines that say something, each thing once for each profile, memories as such."""
    shown: set[tuple[object, str]] = set()
    distinct = []
    for line in lines:
        content = (line.profile_id, _words(line.text))
        if not (line.is_filler or line.repeats or not content[1] or content in shown):
            shown.add(content)
            distinct.append(line)
    return distinct


def _written(lines: Sequence[ProfileLine]) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the text that was written by hand, and whether each is a filler."""
    memories = {line.position: line for line in lines if line.memory is not None and line.position is not None}
    texts = {line.position: line for line in lines if line.memory is None and line.position is not None}
    for position in sorted(texts.keys() | memories.keys()):
        text, memory = texts.get(position), memories.get(position)
        if text is not None and (not text.repeats or (memory and _words(text.text) == _words(memory.text))):
            yield text.text, text.is_filler
        elif memory is not None:
            yield f"- {memory.text}", False


def _without_idle_fillers(written: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    """Leave out headings with nothing below them, and empty lines at the end."""
    pending: list[tuple[str, bool]] = []
    for line, is_filler in written:
        if is_filler:
            pending = [(line, True)] if line.strip() else [*pending, (line, True)]
        else:
            yield from (*pending, (line, False))
            pending = []


def _since(lines: Iterable[ProfileLine], shown: set[str]) -> Iterator[str]:
    """Yield the lines that the hand-written text lacks, by type, the most important and newest first."""
    by_type: dict[str, list[str]] = {type_: [] for type_ in _HEADINGS}
    for line in lines:
        if line.memory is not None and line.position is None and _words(line.text) not in shown:
            shown.add(_words(line.text))
            by_type[line.type].append(f"- {line.text}")
    for type_, memories in by_type.items():
        if memories:
            yield _HEADINGS[type_]
            yield from memories


def _words(line: str) -> str:
    """Return a line without a list's dash, with single blanks: two that differ in no more say the same."""
    words = line.split()
    return " ".join(words[1:] if words[:1] in (["-"], ["*"]) else words)
