"""Says an earlier statement again with the value that its speaker meant: "Sorry, I meant Thursday, not Tuesday."."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keepword import patterns
from keepword.memories.rule import CLAUSE_CHARS, MAX_CHARS
from keepword.memories.speech import own_words, sentences
from keepword.model import Message
from keepword.secret_text import HIDDEN, has_secret

_FLAGS = patterns.IGNORECASE
# the turns of a talk, one of which may be mended, and the last sentences of each
_TURNS = 6
_SENTENCES = 12

_MEANT = patterns.at_start_of_short(
    r"(?:(?:sorry|oops|ah|no|wait|argh|my bad|my mistake|typo|correction)[,.!:;]*\s++(?:no[,.]? )?(?:i mean(?:t|)|"
    r"meant)|"
    r"i meant)(?: to (?:say|write|type))?(?: that)?[:,]?\s++",
    CLAUSE_CHARS,
    _FLAGS,
)
_NEW_AND_OLD = (
    patterns.at_start_of_short(
        r"(?P<new>[^,]{1,60}?)(?:,? (?:and )?(?:not|instead of|rather than)) (?P<old>[^,]{1,60})$", CLAUSE_CHARS, _FLAGS
    ),
    patterns.at_start_of_short(r"not (?P<old>[^,]{1,60}?)(?:,| but) (?P<new>[^,]{1,60})$", CLAUSE_CHARS, _FLAGS),
)  # fmt: skip
_LEADING = patterns.in_short(r"^(?:on|at|in|by|the|to|from|for) ", CLAUSE_CHARS, _FLAGS)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
# of two values of one kind in a statement nobody knows which one was meant
_KINDS = tuple(
    patterns.in_short(rf"(?<![\w.:]){pattern}(?![\w:])", CLAUSE_CHARS, _FLAGS)
    for pattern in (
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
        rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})|(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?)",
        r"\d{1,2}(?:st|nd|rd|th)",
        r"\d{1,2}(?::\d\d| ?[ap]m| o'clock)",
        rf"(?:{_MONTHS})",
        r"\d[\d.,]*",
    )
)


def meant(statement: str) -> str | None:
    """Return what stands behind "Sorry, I meant"; None where a statement begins in another way."""
    lead = _MEANT.match(statement)
    return statement[lead.end() :] if lead else None


@dataclass(frozen=True, slots=True)
class Mend:
    """The value that was meant; it replaces `old`, or where nobody says which one, the one of its `kind`."""

    new: str
    old: str = ""
    kind: patterns.Short | None = None

    def values(self, text: str) -> list[str]:
        """Return what it could replace in a text of at most CLAUSE_CHARS."""
        return [text[start:end].rstrip(".,").casefold() for start, end in self._spans(text)]

    def restate(self, statement: str) -> str | None:
        """Return the statement with the value in its place; None where that is too long, or in several places."""
        spans = self._spans(statement)
        if len(spans) != 1:
            return None
        start, end = spans[0]
        again = statement[:start] + self.new + statement[end:]
        return again if len(again) <= MAX_CHARS else None

    def _spans(self, text: str) -> list[tuple[int, int]]:
        if self.kind is not None:
            return [match.span() for match in self.kind.finditer(text)]
        size, old = len(self.old), self.old.casefold()
        # a folded text may be longer than the text: its places are not those of the text
        starts = (at for at in range(len(text) - size + 1) if text[at : at + size].casefold() == old)
        return [(at, at + size) for at in starts if _stands_alone(text, at, at + size)]


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def find_mend(value: str) -> Mend | None:
    """Read "Thursday, not Tuesday" or "Thursday"; None where it is no value that could replace another."""
    plain = value.rstrip(" .!,;")
    pair = next((match for pattern in _NEW_AND_OLD if (match := pattern.match(plain))), None)
    if pair:
        new, old = (_LEADING.sub("", pair[name]) for name in ("new", "old"))
        return Mend(new, old) if old else None
    plain = _LEADING.sub("", _LEADING.sub("", plain))
    kind = next((pattern for pattern in _KINDS if _is_whole(pattern.search(plain), plain)), None)
    return Mend(plain, kind=kind) if kind else None


def _is_whole(match: patterns.Match | None, text: str) -> bool:
    return match is not None and match[0] == text


class Restated(NamedTuple):
    """A statement with another value, and the message that made it."""

    text: str
    source: Message


class _Turn:
    """A message, whose last sentences are read once, when they are asked for."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._sentences: Sequence[str] | None = None

    @property
    def sentences(self) -> Sequence[str]:
        """The last ones and one more, if there are more."""
        if self._sentences is None:
            self._sentences = list(deque(sentences(own_words(self.message.content)), maxlen=_SENTENCES + 1))
        return self._sentences


class Talk:
    """The last turns of people and agents, and what they may say again with another value."""

    def __init__(self, *, keeps_secrets: bool) -> None:
        self._turns: deque[_Turn] = deque(maxlen=_TURNS)
        self._keeps_secrets = keeps_secrets

    def add(self, message: Message) -> None:
        self._turns.append(_Turn(message))

    def restate(self, mend: Mend, message: Message, said: Sequence[str]) -> Restated | None:
        """Mend what the speaker of `message` said last that has such a value. `said`: what the message said so far.

        None where it is a question, a secret, or may not be what was meant, because others named another value since.
        """
        heard: set[str] = set()
        for source, text in self._backwards(message, said):
            if len(text) > MAX_CHARS or HIDDEN in text:
                return None
            is_own = source.role == "user" and source.user == message.user
            values = mend.values(text)
            if not values or (is_own and meant(text) is not None):
                continue
            if text.rstrip("\"')").endswith("?"):
                return None
            if is_own:
                again = mend.restate(text) if heard <= set(values) else None
                return Restated(again, source) if again and self._may_say(again) else None
            heard.update(values)
        return None

    def _backwards(self, message: Message, said: Sequence[str]) -> Iterator[tuple[Message, str]]:
        """Yield the sentences, the last one first, up to a turn that is too long to be read whole."""
        for source, texts in ((message, said), *((turn.message, turn.sentences) for turn in reversed(self._turns))):
            yield from ((source, text) for text in reversed(texts[-_SENTENCES:]))
            if len(texts) > _SENTENCES:
                return

    def _may_say(self, text: str) -> bool:
        return self._keeps_secrets or not has_secret(text)
