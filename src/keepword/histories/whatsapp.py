"""WhatsApp's chats as text: a line for each message, in the phone's own way of writing dates."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import IO

from keepword import patterns
from keepword.errors import InvalidInput
from keepword.histories.options import ReadOptions
from keepword.histories.records import HistoryMessage, Omission, Person, Record, Thread
from keepword.histories.source import Source

MAX_LINE_BYTES = 1 << 20
_HALF = 12
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\ufeff"))
_STAMP = patterns.at_start(
    r"\[?(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})\.?,?\s(?:klo )?(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?"
    r"(?:\s([APap])\.?\s?[Mm]\.?)?(?:\]\s?|\s-\s)"
)
_MEDIA = ("<media omitted>", "image omitted", "video omitted", "audio omitted", "sticker omitted", "gif omitted",
          "document omitted", "contact card omitted")  # fmt: skip
_DELETED = ("this message was deleted", "you deleted this message", "null")
_EDITED = "<this message was edited>"
_NAMED = ("whatsapp chat with ", "whatsapp chat - ", "whatsapp-chat mit ", "chat de whatsapp con ",
          "discussion whatsapp avec ")  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Line:
    """A message's line as it is written: three numbers of its date in their order, and its time."""

    date: tuple[str, str, str]
    hour: int
    minute: int
    second: int
    rest: str


def read(source: Source, names: list[str], options: ReadOptions) -> Iterator[Record]:
    for name in names:
        with source.open(name) as file:
            before = source.read_bytes
            census = _Census(file)
            source.read_bytes = before
        with source.open(name) as file:
            yield from _chat(source, name, file, census, options)


class _Census:
    """What only the whole file tells: the order of a date's numbers, and who speaks."""

    def __init__(self, file: IO[bytes]) -> None:
        self.authors: Counter[str] = Counter()
        self.notices = 0
        most = [0, 0, 0]
        for text in _texts(file):
            if (line := parse_line(text)) is None:
                continue
            most = [max(a, int(b)) for a, b in zip(most, line.date, strict=True)]
            author, _ = split_author(line.rest)
            self.authors.update([author] if author else [])
            self.notices += author is None
        self.most = most

    def order(self, where: str, *, day_first: bool | None) -> str:
        """Return which of year, month and day each number is."""
        first, second, _ = self.most
        if first > 31:  # noqa: PLR2004 - the last day of a month
            return "ymd"
        if first > _HALF:
            return "dmy"
        if second > _HALF:
            return "mdy"
        if day_first is None:
            raise InvalidInput(
                f"{where} does not tell whether 3/4 is the third of April or the fourth of March: no day of it is over "
                "12; say it with --day-first or --month-first",
                "day_first",
            )
        return "dmy" if day_first else "mdy"


def parse_line(text: str) -> _Line | None:
    """Return what a line that begins a message says; None for one that goes on with the message before."""
    stamp = _STAMP.match(text)
    if stamp is None:
        return None
    first, _, second, third, hour, minute, seconds, half = stamp.groups()
    hours = int(hour)
    if half:
        hours = hours % _HALF + (_HALF if half in "pP" else 0)
    return _Line((first, second, third), hours, int(minute), int(seconds or 0), text[stamp.end() :])


def split_author(rest: str) -> tuple[str | None, str]:
    """Return who speaks and what; None for a notice of the program's own."""
    author, colon, text = rest.partition(": ")
    if colon:
        return author.strip() or None, text
    # a message that deletes itself leaves its colon
    name, colon, tail = rest.rpartition(":")
    return (name.strip(), "") if colon and tail.strip() in {"", "."} and name.strip() else (None, rest)


def _texts(file: IO[bytes]) -> Iterator[str]:
    while line := file.readline(MAX_LINE_BYTES):
        text = line.decode("utf-8", errors="replace").translate(_MARKS).rstrip("\r\n")
        # a stamp may hold narrow blanks; what was said stays as it is
        yield unicodedata.normalize("NFKC", text[:60]) + text[60:]


def _chat(source: Source, name: str, file: IO[bytes], census: _Census, options: ReadOptions) -> Iterator[Record]:
    where = source.shown(name)
    order = census.order(where, day_first=options.day_first)
    title = _title(source, name)
    thread, owner = _thread(title, census, options)
    if isinstance(thread, Omission):
        yield replace(thread, where=where)
        return
    yield thread
    for author in census.authors:
        yield Person(author, author, is_owner=author == owner)
    yield from _messages(file, thread, owner, order, where)


def _title(source: Source, name: str) -> str:
    base = name.rpartition("/")[2].removesuffix(".txt")
    if base in {"_chat", "chat"}:
        base = source.path.name.removesuffix(".zip")
    lower = base.lower()
    return next((base[len(words) :] for words in _NAMED if lower.startswith(words)), base).strip()


def _thread(title: str, census: _Census, options: ReadOptions) -> tuple[Thread | Omission, str | None]:
    named = [author for author in census.authors if author in options.owner_names]
    owner = named[0] if named else None
    if len(census.authors) > 2 or census.notices > _few_notices(census):  # noqa: PLR2004 - two people
        return Thread(title, "room", title), owner
    others = [author for author in census.authors if author != title]
    if owner is None and title in census.authors and len(others) <= 1:
        owner = others[0] if others else None
        return Thread(title, "direct", title, members=tuple(census.authors)), owner
    if owner is None:
        names = " and ".join(sorted(census.authors))
        return Omission(
            f"a direct chat of {names}: say which one you are, as --map NAME=USER with that --user", ""
        ), None
    return Thread(title, "direct", title, members=tuple(census.authors)), owner


def _few_notices(census: _Census) -> int:
    # a chat of two has its word on encryption, and now and then one on a new number or a missed call
    return 5 + sum(census.authors.values()) // 20


def _messages(file: IO[bytes], thread: Thread, owner: str | None, order: str, where: str) -> Iterator[Record]:
    ordinals: Counter[tuple[str, ...]] = Counter()
    current: tuple[_Line, str, list[str]] | None = None
    for text in _texts(file):
        line = parse_line(text)
        if line is None:
            if current is not None:
                current[2].append(text)
            elif text.strip():
                yield Omission("a line before the first message", where)
            continue
        if current is not None:
            yield _message(thread, current, owner, order, ordinals, where)
        author, said = split_author(line.rest)
        current = (line, author, [said]) if author else None
        if author is None:
            yield Omission("a notice of WhatsApp's own", where)
    if current is not None:
        yield _message(thread, current, owner, order, ordinals, where)


def _message(
    thread: Thread, current: tuple[_Line, str, list[str]], owner: str | None, order: str,
    ordinals: Counter[tuple[str, ...]], where: str,
) -> Record:  # fmt: skip
    line, author, texts = current
    text = "\n".join(texts).strip()
    lower = text.lower()
    at = _time(line, order)
    if lower.rstrip(".") in _DELETED:
        return Omission("a deleted message", where)
    is_edited = lower.endswith(_EDITED)
    if is_edited:
        text = text[: -len(_EDITED)].strip()
    attachment = _attachment(text)
    if attachment is not None:
        text = text.partition("\n")[2].strip()
    if not text and attachment is None:
        return Omission("a message without words", where)
    key = (thread.id, at.isoformat() if at else "", author, text)
    ordinals[key] += 1
    id_ = hashlib.sha256("\n".join([*key, str(ordinals[key])]).encode(errors="replace")).hexdigest()[:32]
    return HistoryMessage(
        thread.id, id_, "user", text, None if author == owner else author, at,
        attachments=(attachment,) if attachment else (), metadata={"edited": True} if is_edited else {},
    )  # fmt: skip


def _time(line: _Line, order: str) -> datetime | None:
    values = dict(zip(order, map(int, line.date), strict=True))
    year = values["y"] + (2000 if values["y"] < 100 else 0)  # noqa: PLR2004 - two digits
    try:
        return datetime(year, values["m"], values["d"], line.hour, line.minute, line.second, tzinfo=UTC)
    except ValueError:
        return None


def _attachment(text: str) -> dict[str, str] | None:
    first = text.partition("\n")[0].strip()
    lower = first.lower()
    if lower in _MEDIA:
        return {"type": lower.strip("<>").partition(" ")[0]}
    if lower.startswith("<attached: ") and first.endswith(">"):
        return {"type": "file", "name": first[len("<attached: ") : -1]}
    if lower.endswith(" (file attached)"):
        return {"type": "file", "name": first[: -len(" (file attached)")]}
    return None
