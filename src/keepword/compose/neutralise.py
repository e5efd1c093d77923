"""Making text harmless that somebody else wrote: it stays inside its line and passes for nothing else.

Words stay as they are. What changes: characters that nobody sees, runs of signs that fence text in, and brackets, tags
and role names in the shape of the headers that a prompt is divided by.
"""

import unicodedata
from functools import lru_cache

from keepword import patterns

# of anything that is shown; what is longer is shown by its beginning and its end
MAX_CHARS = 256 * 1024
_BREAKS = patterns.anywhere(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# letters and signs that are drawn as nothing, but are no format characters to Unicode
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_BLANK = patterns.anywhere(f"[{_BLANKS}\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_WIDE = str.maketrans("\uff3b\uff3d\uff1c\uff1e\uff5c\uff03\uff40\uff5e\uff1a", "[]<>|#`~:")
_LIKE_BRACKETS = str.maketrans(
    "\u3010\u3011\u3014\u3015\u27e6\u27e7\u301a\u301b\u2772\u2773\u2045\u2046", "()()()()()()"
)
_FENCE = patterns.anywhere(r"`{3,}+|~{3,}+|\"{3,}+")
_BRACKETED = patterns.anywhere(r"\[([^\[\]\n]{1,120})\]")
# of what stands in brackets, without the blanks before it
_HEADER = patterns.at_start(
    r"(?:[A-Z][A-Z0-9 /&_-]{2,}+\Z|#?\d++\s++\d{4}-|\d{4}-\d\d-\d\d|(?i:/?\s*+(?:inst|sys|system|assistant"
    r"|developer|user|human|tool|end|begin|start|context|instructions?|important|episodic|working memory|workspace"
    r"|session context|facts|profile|recall|landmarks|raw transcript|current invocation)\b))"
)
_TAG = patterns.in_short(
    r"<(?=\s*+[/!?|]?\s*+(?:\||<|s>|system|sys\b|assistant|user|human|developer|instruction|context|memory|recall|tool"
    r"|function|prompt|message|im_|end|eot|bos|eos|script|fact|profile|landmark|transcript|summary|workspace|session"
    r"|invocation|document|antml))",
    MAX_CHARS,
    patterns.IGNORECASE,
)
_SHOUTED = patterns.anywhere(r"\b(SYSTEM|ASSISTANT|HUMAN|DEVELOPER|USER|INSTRUCTIONS?)(\s*+):")
# signs before the name do not hide it; a line is entered at its beginning alone
_ROLE = patterns.in_short(
    r"^([^\w\n]*+(?:_++[^\w\n]*+)*+"
    r"(?:system|assistant|human|user|developer|ai|tool|function|instructions?|new instructions?"
    r"|system prompt|prompt|important|override)\s*+):",
    MAX_CHARS,
    patterns.IGNORECASE | patterns.MULTILINE,
)
_IN_LABELS = str.maketrans("[]·|<>", "().!\u2039\u203a")
_LABEL_CHARS = 120
_LINE_CHARS = 1_000
_NOTE_CHARS = 64


def plain(text: str) -> str:
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
        text = text.translate(_SEEN)
    if "```" in text or "~~~" in text or '"""' in text:
        text = _FENCE.sub(lambda run: "'" * len(run[0]), text)
    if "[" in text:
        text = _BRACKETED.sub(_round, text)
    if "<" in text:
        text = _TAG.sub("\u2039", text)
    # a sign that looks the same: the words can still be read
    return _ROLE.sub("\\1\ua789", _SHOUTED.sub("\\1\\2\ua789", text)) if ":" in text else text


# what is shown in one turn is mostly shown in the next as well
_plain_again = lru_cache(maxsize=8192)(_plain)


def inside(text: str, gutter: str) -> str:
    """Return the text so that each line after the first begins with the gutter."""
    return plain(text).strip("\n").replace("\n", f"\n{gutter}")


@lru_cache(maxsize=4096)
def label(text: str) -> str:
    """Return a name for an attribution: one line, short, without the signs that attributions are made of."""
    flat = " ".join(plain(text).split())
    return flat.translate(_IN_LABELS)[:_LABEL_CHARS]


def _is_simple(text: str) -> bool:
    return text.isascii() and text.replace("\n", "").isprintable()


class _Seen(dict[int, int | None]):
    """What each character becomes; looked up once each."""

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


_SEEN = _Seen()


def _round(found: patterns.Match) -> str:
    inner = found[1].lstrip()
    return f"({found[1]})" if "·" in inner or _HEADER.match(inner) else found[0]
