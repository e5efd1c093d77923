"""Making text harmless that somebody else wrote: it stays inside its line and passes for nothing else.

Words stay as they are. What changes: characters that nobody sees, runs of signs that fence text in, and brackets, tags
and role names in the shape of the headers that a prompt is divided by.
"""

import re
import unicodedata
from functools import lru_cache

_BREAKS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# letters and signs that are drawn as nothing, but are no format characters to Unicode
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_BLANK = re.compile(f"[{_BLANKS}\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_WIDE = str.maketrans("\uff3b\uff3d\uff1c\uff1e\uff5c\uff03\uff40\uff5e\uff1a", "[]<>|#`~:")
_LIKE_BRACKETS = str.maketrans(
    "\u3010\u3011\u3014\u3015\u27e6\u27e7\u301a\u301b\u2772\u2773\u2045\u2046", "()()()()()()"
)
_FENCE = re.compile(r"`{3,}|~{3,}|\"{3,}")
_BRACKETED = re.compile(r"\[([^\[\]\n]{1,120})\]")
_HEADER = re.compile(
    r"\s*(?:[A-Z][A-Z0-9 /&_-]{2,}\Z|#?\d+\s+\d{4}-|\d{4}-\d\d-\d\d|.*·|(?i:/?\s*(?:inst|sys|system|assistant"
    r"|developer|user|human|tool|end|begin|start|context|instructions?|important|episodic|working memory|workspace"
    r"|session context|facts|profile|recall|landmarks|raw transcript|current invocation)\b))"
)
_TAG = re.compile(
    r"<(?=\s*[/!?|]?\s*(?:\||<|s>|system|sys\b|assistant|user|human|developer|instruction|context|memory|recall|tool"
    r"|function|prompt|message|im_|end|eot|bos|eos|script|fact|profile|landmark|transcript|summary|workspace|session"
    r"|invocation|document|antml))",
    re.IGNORECASE,
)
_SHOUTED = re.compile(r"\b(SYSTEM|ASSISTANT|HUMAN|DEVELOPER|USER|INSTRUCTIONS?)(\s*):")
_ROLE = re.compile(
    r"^([\W_]*(?:system|assistant|human|user|developer|ai|tool|function|instructions?|new instructions?"
    r"|system prompt|prompt|important|override)\s*):",
    re.IGNORECASE | re.MULTILINE,
)
_IN_LABELS = str.maketrans("[]·|<>", "().!\u2039\u203a")
_LABEL_CHARS = 120
_LINE_CHARS = 1_000


def plain(text: str) -> str:
    """Return the text as lines without anything unseen, and without what could pass for a header or a fence."""
    return _plain_again(text) if len(text) <= _LINE_CHARS else _plain(text)


def _plain(text: str) -> str:
    if not _is_simple(text):
        text = _BREAKS.sub("\n", text)
        text = _BLANK.sub("", text.translate(_WIDE).translate(_LIKE_BRACKETS))
        text = "".join(map(_seen, text))
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


def _seen(char: str) -> str:
    if char in "\n\t":
        return char
    kind = unicodedata.category(char)
    if kind in {"Cs", "Co", "Cn"}:
        return "\ufffd"
    return "" if kind in _UNSEEN else char


def _round(found: re.Match[str]) -> str:
    return f"({found[1]})" if _HEADER.match(found[1]) else found[0]
