"""Making text harmless that somebody else wrote: it stays inside its line and passes for nothing else.

Words stay as they are. What changes: characters that nobody sees, runs of signs that fence text in, and brackets, tags
and role names in the shape of the headers that a prompt is divided by.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from keepword import patterns
from keepword.compose.lookalikes import DOTS, fold, positions

# characters of any text that is shown; of a longer one, its beginning and its end are
MAX_CHARS = 256 * 1024
_BREAKS = patterns.anywhere(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# letters and signs that are drawn as nothing, but are no format characters to Unicode
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_BLANK = patterns.anywhere(f"[{_BLANKS}\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_WIDE = str.maketrans("\uff3b\uff3d\uff1c\uff1e\uff5c\uff03\uff40\uff5e\uff1a", "[]<>|#`~:")
# opening and closing in turn
_BRACKETS = (
    "\u3010\u3011\u3014\u3015\u27e6\u27e7\u301a\u301b\u2772\u2773\u2045\u2046\ufe5d\ufe5e\ufe47\ufe48\u2997\u2998"
    "\u27ec\u27ed\ufe39\ufe3a\ufe17\ufe18\u3016\u3017\u3018\u3019\u298b\u298c\u298d\u298e\u298f\u2990\ufe3b\ufe3c"
)
_LIKE_BRACKETS = str.maketrans(_BRACKETS, "()" * (len(_BRACKETS) // 2))
_FENCE = patterns.anywhere(r"`{3,}+|~{3,}+|\"{3,}+")
_BRACKETED = patterns.anywhere(r"\[([^\[\]\n]{1,120})\]")
# the shape of words in brackets, as they are written, without the blanks before them
_SHAPED = patterns.at_start(r"[A-Z][A-Z0-9 /&_-]{2,}+\Z|#?\d++\s++\d{4}-|\d{4}-\d\d-\d\d")
_LATIN = patterns.anywhere(r"[A-Za-z]")
# and its words, as they look
_NAMED = patterns.at_start(
    r"(?:now\s*+[^\w\s]|/?\s*+(?:inst|sys|system|assistant"
    r"|developer|user|human|tool|end|begin|start|context|instructions?|important|episodic|working memory|workspace"
    r"|session context|facts|profile|recall|landmarks|raw transcript|current invocation)\b)",
    patterns.IGNORECASE,
)
_TAG = patterns.in_short(
    r"<(?=\s*+[/!?|]?\s*+(?:\||<|s>|system|sys\b|assistant|user|human|developer|instruction|context|memory|recall|tool"
    r"|function|prompt|message|im_|end|eot|bos|eos|script|fact|profile|landmark|transcript|summary|workspace|session"
    r"|invocation|document|antml|important|(?:un)?trusted|rules?\b|polic|guideline|directive|override|admin|quot|img\b))",
    MAX_CHARS,
    patterns.IGNORECASE,
)
_SHOUTED = patterns.anywhere(r"\b(?:SYSTEM|ASSISTANT|HUMAN|DEVELOPER|USER|INSTRUCTIONS?)\s*+(:)")
# signs before the name do not hide it; a line is entered at its beginning alone
_ROLE = patterns.in_short(
    r"^[^\w\n]*+(?:_++[^\w\n]*+)*+"
    r"(?:system|assistant|human|user|developer|ai|tool|function|instructions?|new instructions?"
    r"|system prompt|prompt|important|override)\s*+(:)",
    MAX_CHARS,
    patterns.IGNORECASE | patterns.MULTILINE,
)
# a line of signs around a name, as prompts are divided by
_RULE = patterns.in_short(
    r"^[^\w\n=*#~+-]*+([=*_#~+-]{3,}+)(?=[^\w\n]*+(?:begin |start |end |end of |new )?+"
    r"(?:system|assistant|human|user|developer|instructions?|prompt|important|context|rules|override)\b)",
    MAX_CHARS,
    patterns.IGNORECASE | patterns.MULTILINE,
)
_IN_LABELS = str.maketrans("[]\u00b7|<>" + DOTS, "().!\u2039\u203a" + "." * len(DOTS))
_LABEL_CHARS = 120
_LINE_CHARS = 1_000
_NOTE_CHARS = 64

# the replacement of a part of a text, from one position to another
Edit = tuple[int, int, str]


def sanitize(text: str) -> str:
    """Return the text as lines without anything unseen, and without what could pass for a header or a fence."""
    if len(text) <= _LINE_CHARS:
        return _plain_again(text)
    return _plain(shorten(text, MAX_CHARS))


def shorten(text: str, most_chars: int) -> str:
    """Return a longer text by its beginning and its end, with a line that says how much is left out."""
    if len(text) <= most_chars:
        return text
    half = (most_chars - _NOTE_CHARS) // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters are left out here) ...\n{text[-half:]}"


def _plain(text: str) -> str:
    if not _is_simple(text):
        text = _BREAKS.sub("\n", text)
        text = _BLANK.sub("", text.translate(_WIDE).translate(_LIKE_BRACKETS))
        text = _bounded(text.translate(_SEEN))
    # an edit can bring signs together that the next pattern looks for
    for find in (_fences, _headers, _tags, _rules, _roles):
        text = _edited(text, find)
    return _without_images(text)


def _bounded(text: str) -> str:
    """Return a text that looks no longer than the patterns read; one full of ligatures is spelled out and cut."""
    return text if len(fold(text)) <= MAX_CHARS else shorten(unicodedata.normalize("NFKC", text), MAX_CHARS)


def _edited(text: str, find: Callable[[str, str], Iterator[Edit]]) -> str:
    """Match the pattern in the folded text, and edit the same positions of the original text."""
    folded = fold(text)
    edits = list(find(folded, text))
    if not edits:
        return text
    where = _where(folded, text)
    parts: list[str] = []
    at = 0
    for start, end, new in edits:
        parts += [text[at : where[start]], new]
        at = where[end - 1] + 1
    return "".join([*parts, text[at:]])


def _where(folded: str, text: str) -> Sequence[int]:
    return range(len(text)) if folded is text else positions(text)


def _fences(folded: str, _text: str) -> Iterator[Edit]:
    if "```" in folded or "~~~" in folded or '"""' in folded:
        yield from ((run.start(), run.end(), "'" * len(run[0])) for run in _FENCE.finditer(folded))


def _headers(folded: str, text: str) -> Iterator[Edit]:
    if "[" not in folded:
        return
    where = _where(folded, text)
    for match in _BRACKETED.finditer(folded):
        written = text[where[match.start(1)] : where[match.end(1)]]
        if _is_header(match[1].lstrip(), written.lstrip()):
            yield match.start(), match.start() + 1, "("
            yield match.end() - 1, match.end(), ")"


def _is_header(folded: str, written: str) -> bool:
    """Tell whether words in brackets pass for a header: by names, as they look, or by their shape.

    For the shape a word counts as it is written, unless it mixes Latin letters with others: words of other alphabets
    may look like Latin capitals by chance.
    """
    words = [fold(word) if _LATIN.search(word) else word for word in unicodedata.normalize("NFKC", written).split(" ")]
    return "\u00b7" in folded or bool(_NAMED.match(folded) or _SHAPED.match(" ".join(words)))


def _tags(folded: str, _text: str) -> Iterator[Edit]:
    if "<" in folded:
        yield from ((match.start(), match.end(), "\u2039") for match in _TAG.finditer(folded))


def _rules(folded: str, _text: str) -> Iterator[Edit]:
    yield from ((match.start(1), match.end(1), match[1][0]) for match in _RULE.finditer(folded))


def _roles(folded: str, _text: str) -> Iterator[Edit]:
    """Yield colons after a role's name; a sign that looks the same replaces them, and the words can still be read."""
    if ":" in folded:
        colons = {match.start(1) for pattern in (_SHOUTED, _ROLE) for match in pattern.finditer(folded)}
        yield from ((at, at + 1, "\ua789") for at in sorted(colons))


def _without_images(text: str) -> str:
    """Break links to images: a model that repeats one would make a page send words to its address."""
    if "![" in text and ("](" in text or "][" in text or "]:" in text):
        return text.replace("![", "\u01c3[")
    return text


# a cache: most texts of one turn are shown in the next as well
_plain_again = lru_cache(maxsize=8192)(_plain)


def indent_untrusted(text: str, gutter: str) -> str:
    """Return the text so that each line after the first begins with the gutter."""
    return sanitize(text).strip("\n").replace("\n", f"\n{gutter}")


@lru_cache(maxsize=4096)
def sanitize_label(text: str) -> str:
    """Return a name for an attribution: one line, short, without the signs that attributions are made of."""
    flat = " ".join(sanitize(text).split())
    return flat.translate(_IN_LABELS)[:_LABEL_CHARS]


def _is_simple(text: str) -> bool:
    return text.isascii() and text.replace("\n", "").isprintable()


class _CharacterMap(dict[int, int | None]):
    """The replacement of each character; looked up once each."""

    def __missing__(self, code: int) -> int | None:
        char = chr(code)
        kind = unicodedata.category(char)
        seen: int | None = code
        if kind in {"Cs", "Co", "Cn"}:
            seen = 0xFFFD
        elif kind in _UNSEEN and char not in "\n\t":
            seen = None
        self[code] = seen
        return seen


_SEEN = _CharacterMap()
