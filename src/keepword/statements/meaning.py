"""The meaning of a memory's text: the stems that count, in order, and whether it denies something."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from keepword import patterns
from keepword.embedding.words import stem, surfaces
from keepword.language.names import fold

# the longest text that is compared; a memory is far shorter
_MEANING_CHARS = 128 * 1024
_FLAGS = patterns.IGNORECASE

_ASIDE = patterns.anywhere(r" \(said on [\d-]+\)")
# the old value that a sentence names beside the new one
_INSTEAD = patterns.in_short(
    r"(?:, (?:and )?(?:not|no longer|never)|,? (?:instead of|rather than)) (?:on |at |in |with |by )?"
    r"(?P<old>[\w' @/:.+#-]{1,40}?)(?=,|[.!]?$|\.? (?:for|any ?more|now)\b)",
    _MEANING_CHARS,
    _FLAGS,
)
_SHORT_NOT = patterns.in_short(
    r"\b(?:(?:does|do|did|is|are|was|has|have|ca|can|wo|would)n't|cannot)\b", _MEANING_CHARS, _FLAGS
)
_NEGATIONS = frozenset({"not", "never"})
_FILLERS = frozenset(
    "a an the really very now any more anymore please just also still currently does do did is are am be been "
    "has have had "
    "always usually actually absolutely truly of that to".split()
)
_SAME = {
    "loves": "like", "love": "like", "likes": "like", "enjoys": "like", "enjoy": "like", "adores": "like",
    "like": "like", "favorite": "favourit", "favourite": "favourit", "colour": "color", "rather": "prefer",
    "would": "", "named": "call", "called": "call",
}  # fmt: skip
_AGAINST = {
    "hates": "like",
    "hate": "like",
    "dislikes": "like",
    "dislike": "like",
    "loathes": "like",
    "detests": "like",
}
_STAND = patterns.anywhere(r"\b(?:can't|cannot|can not) stand\b", _FLAGS)
_GONE = patterns.anywhere(r"\b(?:no longer|stopped|quits?|gave up|given up)\b", _FLAGS)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A sentence without stop words: its stems in order, and whether it is negated."""

    stems: tuple[str, ...]
    denies: bool

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{'-' if self.denies else '+'}{' '.join(self.stems)}".encode()).digest()


@lru_cache(maxsize=20_000)
def meaning(text: str) -> Meaning:
    """Return the meaning of a memory's text; equal meanings have equal digests."""
    plain = _GONE.sub("not", _STAND.sub("not like", bare(text)))
    words = surfaces(fold(_SHORT_NOT.sub("not", plain)))
    denies = sum(word in _NEGATIONS or word in _AGAINST for word in words) % 2 == 1
    stems = [_stem(word) for word in words if word not in _FILLERS and word not in _NEGATIONS]
    return Meaning(tuple(one for one in stems if one), denies)


def _stem(word: str) -> str:
    known = _AGAINST.get(word, _SAME.get(word))
    return known if known is not None else stem(word) or word


def bare(text: str) -> str:
    """Return the text without the time when it was said, and without the old value that a correction names."""
    return _INSTEAD.sub("", _plain(text), count=1)


def old_value(text: str) -> str | None:
    """Return the value that the text says is not true any more: "we use Valkey instead of Redis"."""
    match = _INSTEAD.search(_plain(text))
    return match["old"] if match else None


def _plain(text: str) -> str:
    return _ASIDE.sub("", text[:_MEANING_CHARS].replace("’", "'")).rstrip(" .!")
