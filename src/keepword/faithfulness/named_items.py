"""Named items of a text (identifiers, numbers, dates, names), which a summary must neither invent nor lose."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

from keepword import patterns

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
# longer texts are read piece by piece
_PIECE_CHARS = 32 * 1024
_MONTH_RE = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*+"
_ISO = patterns.anywhere(r"\b(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_DAY_MONTH = patterns.in_short(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_RE})\b,?(?: (\d{{4}})\b)?", _PIECE_CHARS, patterns.IGNORECASE
)
_MONTH_DAY = patterns.in_short(
    rf"\b({_MONTH_RE}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (\d{{4}})\b)?", _PIECE_CHARS, patterns.IGNORECASE
)
_MONTH_YEAR = patterns.in_short(rf"\b({_MONTH_RE}),? (\d{{4}})\b", _PIECE_CHARS, patterns.IGNORECASE)
_YEAR = patterns.anywhere(r"(?<![\w.,$€£#-])(?:19|20)\d\d(?![\w-]|[.,]\d)")
_DAY_NAMES = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
# relative times ("last Friday"): they need the time of their line
_SPOKEN = patterns.in_short(
    rf"\b(?:yesterday|tomorrow|tonight|today|(?:last|next|this|past|every) (?:night|morning|afternoon|evening|weekend|"
    rf"week|month|year|spring|summer|autumn|fall|winter|{_DAY_NAMES}|{'|'.join(_MONTHS)})|"
    r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of|several) "
    r"(?:day|week|weekend|month|year)s? ago|"
    rf"(?:in|since|on|by|until) (?:{_DAY_NAMES}|{'|'.join(_MONTHS)}))\b(?!,? \d)",
    _PIECE_CHARS,
    patterns.IGNORECASE,
)
_CLOCK = patterns.anywhere(r"\b\d{1,2}:\d\d\b")
_URL = patterns.anywhere(r"\bhttps?://[^\s<>\"')\]]+", patterns.IGNORECASE)
_NUMBER = patterns.anywhere(r"(?<![\w.])[$€£#]?(\d+(?:[.,]\d+)*)(?![\w])")
_DIGITS = patterns.anywhere(r"\d+(?:[.,]\d+)*")
_TOKEN = patterns.anywhere(r"[\w/\\.:#@+~-]+")
_WORD = patterns.anywhere(r"[^\W\d_][\w'’-]*")
_ORDINAL = patterns.at_start(r"\d++(?:st|nd|rd|th)", patterns.IGNORECASE)
_NUMBERED = patterns.at_start(r"#\d++")
_FILE = patterns.at_start(r"[\w~-][\w./~-]*\.[a-z0-9]{1,5}")
_CAMEL = patterns.at_start(r"[A-Z]?[a-z][a-z0-9]*[A-Z]\w*")
_HAS_LETTER = patterns.anywhere(r"[^\W\d_]")
_HAS_DIGIT = patterns.anywhere(r"\d")
_BEFORE_CHARS = 12
_SENTENCE_START = patterns.in_short(r"(?:\A|[.!?:;]\s|\n)[\s\"'“‘(\[*>-]*\Z", _BEFORE_CHARS)
_SENTENCE_CHARS = 400
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "a.m", "p.m", "vs"})
_SPELLED = {
    word: str(number)
    for number, word in enumerate(
        ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
         "seventeen eighteen nineteen twenty").split()
    )
}  # fmt: skip
# capitalised words that are no names
_COMMON = frozenset(
    (
        "a about after again all also although am an and another any anything are as at because been before being both "
        "but by can can't cannot could did do does doing don't done during each either else even ever every everything "
        "few first for from further get given good got great had has have having he he's hello her here hers hey hi "
        "him his how however if in instead into is isn't it it's its itself just last later let let's like look made "
        "make many may maybe me meanwhile might more most much must my near need needs neither never next no none nor "
        "not note nothing now of off ok okay on once one only open or other our out over own per please possibly "
        "rather really right same see several shall she she's should since so some something soon still such sure "
        "take than thank thanks that that's the their them then there there's these they they're this those though "
        "through thus to today together tomorrow tonight too two under unless until up upon us use used user users "
        "usually very was wasn't we we'll we're we've well were what what's when where whether which while who whole "
        "whom whose why will with within without won't would wow yeah yes yesterday yet you you'll you're you've your "
        "yours assistant agent system tool both overall finally additionally moreover result results error errors "
        "warning summary decision decisions question questions answer action actions item items task tasks step steps "
        "plan update updates status time times day days week month year monday tuesday wednesday thursday friday "
        "saturday sunday"
    ).split()
) | frozenset(_MONTHS)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedItems:
    """Each as it is compared: identifiers and names casefolded, numbers without separators, dates as MM-DD or HH:MM."""

    identifiers: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def __or__(self, other: "NamedItems") -> "NamedItems":
        return NamedItems(
            self.identifiers | other.identifiers,
            self.numbers | other.numbers,
            self.dates | other.dates,
            self.names | other.names,
        )

    def all(self) -> frozenset[tuple[str, str]]:
        kinds = (("identifier", self.identifiers), ("number", self.numbers), ("date", self.dates), ("name", self.names))
        return frozenset((kind, item) for kind, items in kinds for item in items)


def find(text: str) -> NamedItems:
    # a cache: a summary checks each sentence several times; long texts are not cached
    if len(text) <= _SENTENCE_CHARS:
        return _find_kept(text)
    return reduce(or_, map(_find, patterns.pieces(text, _PIECE_CHARS)))


@lru_cache(maxsize=2048)
def _find_kept(text: str) -> NamedItems:
    return _find(text)


def _find(text: str) -> NamedItems:
    rest, dates = _take_dates(text)
    rest, identifiers = _take_identifiers(rest)
    numbers = frozenset(normalize(number[1]) for number in _NUMBER.finditer(rest))
    return NamedItems(identifiers, numbers, dates, frozenset(_names(rest)))


def every_number(text: str) -> frozenset[str]:
    """Return all numbers of a text, also those inside identifiers and those that are spelled out."""
    numbers = {normalize(number) for number in _DIGITS.findall(text)}
    numbers |= {part for number in _DIGITS.findall(text) for part in number.replace(",", ".").split(".")}
    return frozenset(numbers | {_SPELLED[word] for word in words(text) if word in _SPELLED})


def words(text: str) -> frozenset[str]:
    return frozenset(word.casefold().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(text))


def every_date(text: str) -> frozenset[str]:
    return frozenset(date for piece in patterns.pieces(text, _PIECE_CHARS) for date in _take_dates(piece)[1])


def spoken_dates(text: str) -> frozenset[str]:
    """Return relative times such as "last Friday" or "two weeks ago", which need the time of their line."""
    phrases = (phrase for piece in patterns.pieces(text, _PIECE_CHARS) for phrase in _SPOKEN.findall(piece))
    return frozenset(phrase.casefold() for phrase in phrases)


def normalize(number: str) -> str:
    plain = number.replace(",", "")
    return plain.lstrip("0") or "0" if plain.isdigit() else plain


def _take_dates(text: str) -> tuple[str, frozenset[str]]:
    """Return the text without its dates, and the dates; a year is one of them."""
    dates: set[str] = set()

    def iso(match: patterns.Match) -> str:
        dates.update({f"{match[2]}-{match[3]}", match[1], *([match[4]] if match[4] else [])})
        return " "

    def written(month: str, day: str, year: str | None) -> str:
        dates.update({f"{_MONTH[month[:3].lower()]:02}-{int(day):02}", *([year] if year else [])})
        return " "

    text = _ISO.sub(iso, text)
    text = _DAY_MONTH.sub(lambda match: written(match[2], match[1], match[3]), text)
    text = _MONTH_DAY.sub(lambda match: written(match[1], match[2], match[3]), text)

    def month(match: patterns.Match) -> str:
        dates.update({f"{match[2]}-{_MONTH[match[1][:3].lower()]:02}", match[2]})
        return " "

    def year(match: patterns.Match) -> str:
        dates.add(match[0])
        return " "

    text = _YEAR.sub(year, _MONTH_YEAR.sub(month, text))
    for clock in _CLOCK.findall(text):
        dates.add(clock.rjust(5, "0"))
    return _CLOCK.sub(" ", text), frozenset(dates)


def _take_identifiers(text: str) -> tuple[str, frozenset[str]]:
    identifiers: set[str] = set()

    def take(token: patterns.Match) -> str:
        if token[0].isalpha() and token[0][1:].islower():
            return token[0]  # a plain word, as most are
        plain = token[0].rstrip(".:+~-#@")
        if not plain.startswith(("./", "../", "~/")):
            plain = plain.lstrip(".:~+-@")
        if not _is_identifier(plain):
            return token[0]
        identifiers.add(plain.casefold())
        return " "

    identifiers.update(url.rstrip(".,;:!?").casefold() for url in _URL.findall(text))
    text = _URL.sub(" ", text)
    return _TOKEN.sub(take, text), frozenset(identifiers)


def _is_identifier(token: str) -> bool:
    if token.lower() in _ABBREVIATIONS or _ORDINAL.fullmatch(token):
        return False
    if _NUMBERED.fullmatch(token):
        return True
    if not _HAS_LETTER.search(token):
        return False
    if _HAS_DIGIT.search(token) or "_" in token.strip("_") or "@" in token.strip("@"):
        return True
    if "/" in token or "\\" in token:
        return token[0] in "/~." or token.count("/") > 1 or "." in token or "\\" in token
    return bool(_FILE.fullmatch(token) or _CAMEL.fullmatch(token))


def _names(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].rstrip("'’-")
        plain = word.casefold().removesuffix("'s").removesuffix("’s")
        if len(plain) < 2 or not word[0].isupper() or plain in _COMMON or plain[:2] in {"i'", "i’"}:  # noqa: PLR2004
            continue
        if _SENTENCE_START.search(text[max(0, match.start() - _BEFORE_CHARS) : match.start()]) and not _acts(
            text, match.end()
        ):
            continue
        yield plain


def _acts(text: str, end: int) -> bool:
    """Tell whether a capitalised word that begins a sentence is a name, by the word after it."""
    if text[end - 2 : end] in {"'s", "’s"}:
        return True
    following = _WORD.match(text, end + 1) if text[end : end + 1] == " " else None
    word = following[0] if following else "."
    return word[0].isupper() or word in _VERBS or (word.endswith("ed") and len(word) > len("need"))


_VERBS = frozenset(
    (
        "is was has had will would can could should did does says said asks told wants wanted thinks thought made "
        "makes gave gives took takes went goes came comes knew knows felt feels found finds sent sends wrote writes "
        "bought built kept left lost met paid read ran saw sold spoke spent taught won got gets chose chooses"
    ).split()
)
