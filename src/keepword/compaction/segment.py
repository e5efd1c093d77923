"""Cuts text into sentences: not after "Dr." or an initial, not in a URL, a number, a quotation or a list's marker."""

from collections.abc import Iterator

from keepword import patterns

# text without an end of a sentence is cut between words after so many characters
MAX_SENTENCE_CHARS = 16_000
_BEFORE_CHARS = 16
_LINES = patterns.anywhere(r"\n")
_HAS_WORD = patterns.anywhere(r"\w")
_BULLET = patterns.at_start(r"[ \t]*+(?:[-*•\u2013]|\(?\d{1,3}[.)]|[a-z]\))[ \t]++")
# an end mark with what closes it, and the blank after it; scripts without blanks end without one
_END = patterns.anywhere(
    r"(?<=[.!?…])[\"'”’»)\]*_]{0,4}+[ \t]++|(?<=[\u3002\uff01\uff1f])[\u300d\u300f\uff09”]{0,2}+[ \t]*+"
)
_ABBREVIATIONS = (
    "Dr|Mr|Mrs|Ms|Mx|Prof|Rev|Hon|Sr|Jr|St|Mt|Ft|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Pres|Inc|Ltd|Co|Corp|Bros|Dept|Univ|"
    "Ave|"
    "Blvd|Rd|Str|No|Nos|Nr|Vol|Fig|Figs|Eq|Sec|Ch|Art|pp|p|ed|eds|al|vs|etc|approx|est|dept|resp|ca|cf|incl|excl|max|"
    "min|"
    "tel|ext|e\\.g|i\\.e|a\\.k\\.a|z\\. ?B|d\\. ?h|u\\. ?a|bzw|usw|evtl|ggf|Hr|Fr|Frau|M|Mme|Mlle|Sra|Srta|Dott|Ing|"
    "Jan|Feb|"
    "Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat|Sun"
)
_ABBREVIATED = patterns.in_short(
    rf"(?:\b(?:{_ABBREVIATIONS})|(?:^|[\s(])[A-Z]|\b[A-Z](?:\.[A-Z])+|"
    rf"^\(?\d{{1,3}})\.$",
    _BEFORE_CHARS,
)
# abbreviations that may end a sentence: they do before a word that begins one
_MAY_END = patterns.in_short(
    r"\b(?:etc|Inc|Ltd|Co|Corp|Jr|Sr|al|a\.m|p\.m|[A-Z](?:\.[A-Z])+|No|St|Ave|Rd|max|min|Sun|"
    r"Sat|M)\.$",
    _BEFORE_CHARS,
)
_STARTER = patterns.at_start(
    r"(?:The|This|That|These|It|He|She|They|We|I|You|There|In|On|At|And|But|So|If|When|Then|"
    r"Please|My|Our)\b"
)
_GOES_ON = patterns.at_start(r"[a-zà-ÿ,;:)\]]")
_SMILEY = patterns.anywhere(r"[:;=]-?\(")
_OPENING, _CLOSING = "“«(", "”»)"
# a line of prose that is wrapped has at least so many characters
_WRAPPED_CHARS = 40
# so many characters may stand between brackets or quotation marks
_ENCLOSED_CHARS = 300


def sentences(text: str) -> list[str]:
    """Return the sentences that have words, in order, each whole and without the bullet before it."""
    return [sentence for line in _joined_lines(text) for sentence in _of_line(line) if _HAS_WORD.search(sentence)]


def _joined_lines(text: str) -> Iterator[str]:
    """Yield the lines; one that goes on in small letters after a line without an end belongs to that line."""
    current, last_chars = "", 0
    for line in _LINES.split(text):
        plain = line.strip()
        wrapped = (
            last_chars >= _WRAPPED_CHARS
            and current[-1] not in ".!?:…\u3002\uff01\uff1f"
            and len(current) < MAX_SENTENCE_CHARS
        )
        last_chars = len(plain)
        if wrapped and plain and _GOES_ON.match(plain) and not _BULLET.match(line):
            current = f"{current} {plain}"
            continue
        if current:
            yield current
        bullet = _BULLET.match(line)
        current = (line[bullet.end() :] if bullet else line).strip()
    if current:
        yield current


def _of_line(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, start, end):
            yield from _pieces(line[start : end.end()].strip())
            start = end.end()
    yield from _pieces(line[start:].strip())


def _is_end(line: str, start: int, end: patterns.Match) -> bool:
    after = line[end.end() : end.end() + _BEFORE_CHARS]
    if not after:
        return False
    before = line[max(start, end.start() - _BEFORE_CHARS) : end.start()]
    if _GOES_ON.match(after) and not before.endswith(("\u3002", "\uff01", "\uff1f")):
        # people write "great! how are you?"; after a closing sign, small letters go on
        is_cry = not end[0].strip() and before[-1] in "!?" and before[-2:-1] not in {"!", "?"}
        return is_cry and after[0].isalpha() and _is_plain_end(line, start, end)
    if _ABBREVIATED.search(before) and not (_MAY_END.search(before) and _STARTER.match(after)):
        return False
    return _is_plain_end(line, start, end)


def _is_plain_end(line: str, start: int, end: patterns.Match) -> bool:
    """Tell whether no bracket or quotation that began shortly before is still open."""
    enclosed = _SMILEY.sub("", line[max(start, end.start() - _ENCLOSED_CHARS) : end.end()])
    return all(
        enclosed.count(opening) <= enclosed.count(closing) for opening, closing in zip(_OPENING, _CLOSING, strict=True)
    )


def _pieces(sentence: str) -> Iterator[str]:
    for piece in patterns.pieces(sentence, MAX_SENTENCE_CHARS):
        if plain := piece.strip():
            yield plain
