"""The sentences that an extractive summary may quote: of messages, or of the lines of child summaries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from keepword import patterns, tokens
from keepword.compaction.render import message_text
from keepword.compaction.segment import sentences
from keepword.compaction.sources import SummarySource, TierSummary, minute
from keepword.model import Message

_NOT_IN_NAMES = patterns.anywhere(r"[\s:]+")
_LINE = patterns.at_start(r"- (\d{4}-\d\d-\d\dT\d\d:\d\dZ) ([^:\s]+(?: [^:\s]+)?): (.*)\Z", patterns.DOTALL)
# o200k tokens have at most so many characters on average in any text with words
_TOKEN_CHARS = 12


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence with its place: `line` numbers the message or line that it comes from, `child` the child summary.

    `is_open`: nobody else said anything after it.
    """

    line: int
    number: int
    at: str
    who: str
    text: str
    child: int = 0
    is_open: bool = False

    @property
    def prefix(self) -> str:
        return f"- {self.at} {self.who}: "

    def shortened(self, most_tokens: int) -> "Unit | None":
        """Return it as it is, or its first words and dots where it is longer; a word is never cut.

        None for encoded bytes: one word that is too long. A script without blanks is cut between its signs.
        """
        if len(self.text) <= most_tokens or tokens.count(self.text) <= most_tokens:
            return self
        blank = " " if " " in self.text.strip() or self.text.isascii() else ""
        words = self.text[: most_tokens * _TOKEN_CHARS].split(blank) if blank else list(self.text[:most_tokens])
        if blank:
            words = words[:-1]  # it may go on after the limit
        while words and tokens.count(blank.join(words)) > most_tokens:
            words = words[: len(words) * 9 // 10]
        return replace(self, text=f"{blank.join(words)} …") if words else None


def read_units(source: SummarySource) -> Iterator[Unit]:
    if source.children:
        yield from _of_children(source)
        return
    ordered = sorted(source.messages, key=lambda message: (message.created_at, message.seq))
    texts = (message_text(message, source, brief=True) for message in ordered)
    lines = [_Line(minute(one.created_at), who(one), text) for one, text in zip(ordered, texts, strict=True)]
    yield from _units(lines, 0, 0)


@dataclass(frozen=True, slots=True)
class _Line:
    at: str
    who: str
    text: str


def _units(lines: Sequence[_Line], first: int, child: int) -> Iterator[Unit]:
    open_from = next((number for number in range(len(lines), 0, -1) if lines[number - 1].who != lines[-1].who), 0)
    for number, line in enumerate(lines):
        for place, sentence in enumerate(sentences(line.text)):
            yield Unit(first + number, place, line.at, line.who, sentence, child, number >= open_from)


def who(message: Message) -> str:
    """Return a short name of the speaker, without blank and colon, so that the line can be parsed again."""
    name = {"user": message.user or "user", "assistant": message.agent or "assistant"}.get(message.role, message.role)
    return _NOT_IN_NAMES.sub("_", name)


def _of_children(source: SummarySource) -> Iterator[Unit]:
    first = 0
    for number, child in enumerate(source.children):
        lines = [_parsed(line, child) for line in child.text.split("\n")]
        yield from _units(lines, first, number)
        first += len(lines)


def _parsed(line: str, child: TierSummary) -> _Line:
    match = _LINE.match(line)
    # a model's line may have another form; then the time of its summary is used
    at, name, text = match.groups() if match else (minute(child.earliest_at), "notes", line.lstrip("- "))
    return _Line(at, name, text)
