"""Tells whether a text says that something was done which its sources only say is to be done."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from keepword import patterns
from keepword.embedding.words import stem, surfaces
from keepword.language.names import fold

_LINE_CHARS = 2_000
_TO_DO = patterns.in_short(
    r"\b(?:(?:is|are|am|'m|'re|has|have|needs?|ought|going|promised|plans?|wants?|agreed) to|will|'ll|shall|must|"
    r"please) (?:also |then |now |soon )?([a-z]{2,20})\b",
    _LINE_CHARS,
    patterns.IGNORECASE,
)
_WORD = patterns.anywhere(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# before a verb's past form these say that it was not done, or is still to be
_NOT_DONE = frozenset(
    (
        "be get gets not never hasn't haven't isn't wasn't aren't weren't didn't don't doesn't won't unless until once "
        "when if before after should"
    ).split()
)
_WORDS_BEFORE = 4
# of the words beside the verb, so many must be the same
_SAME_SHARE = 0.4
_PAST: Mapping[str, tuple[str, ...]] = {
    "begin": ("began", "begun"), "bring": ("brought",), "build": ("built",), "buy": ("bought",), "choose": ("chose",
    "chosen"), "come": ("came",), "deal": ("dealt",), "do": ("did", "done"), "draw": ("drew", "drawn"), "drive":
    ("drove", "driven"), "find": ("found",), "fly": ("flew", "flown"), "get": ("got", "gotten"), "give": ("gave",
    "given"), "go": ("went", "gone"), "hold": ("held",), "keep": ("kept",), "leave": ("left",), "lend": ("lent",),
    "make": ("made",), "meet": ("met",), "pay": ("paid",), "rewrite": ("rewrote", "rewritten"), "run": ("ran",),
    "see": ("saw", "seen"), "sell": ("sold",), "send": ("sent",), "show": ("showed", "shown"), "speak": ("spoke",
    "spoken"), "spend": ("spent",), "take": ("took", "taken"), "teach": ("taught",), "tell": ("told",), "think":
    ("thought",), "throw": ("threw", "thrown"), "withdraw": ("withdrew", "withdrawn"), "write": ("wrote", "written"),
}  # fmt: skip
# their past is the same word, or they tell no deed
_TELL_NOTHING = frozenset("be become have let put set cut read shut hit cost need want like know try see use".split())
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class EarlyClaim:
    """`line` says with `form` that something was done; the source's sentence says that it is to be done."""

    line: str
    form: str
    said: str


@dataclass(frozen=True, slots=True)
class _ToDo:
    said: str
    forms: frozenset[str]
    stems: frozenset[str]


class OpenDeeds:
    """What sources only say is to be done: a deed that any of them tells as done is none of these."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._to_do: list[_ToDo] = []
        told: set[str] = set()
        for sentence in sentences:
            short = sentence[:_LINE_CHARS].replace("’", "'")
            told |= {form for form, _ in _told_forms(short)}
            self._to_do += _read(short)
        self._to_do = [one for one in self._to_do if one.forms.isdisjoint(told)]

    def find_claims(self, text: str) -> list[EarlyClaim]:
        return [claim for line in text.split("\n") if (claim := self._claim(line)) is not None]

    def _claim(self, line: str) -> EarlyClaim | None:
        short = line[:_LINE_CHARS].replace("’", "'")
        forms = {form for form, _ in _told_forms(short)}
        suspects = [one for one in self._to_do if not one.forms.isdisjoint(forms)]
        if not suspects:
            return None
        stems = _stems(short)
        for one in suspects:
            if len(one.stems & stems) >= max(1, _SAME_SHARE * len(one.stems)):
                return EarlyClaim(line, next(iter(one.forms & forms)), one.said)
        return None


def _read(sentence: str) -> Iterator[_ToDo]:
    if sentence.rstrip().endswith("?"):
        return
    for match in _TO_DO.finditer(sentence):
        verb = match[1].lower()
        if verb not in _TELL_NOTHING and len(verb) >= _SHORTEST:
            beside = _stems(f"{sentence[: match.start()]} {sentence[match.end() :]}")
            yield _ToDo(sentence, frozenset(past_forms(verb)), beside)


def past_forms(verb: str) -> tuple[str, ...]:
    """Return how a verb tells that something was done."""
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return (f"{verb}d",)
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return (f"{verb[:-1]}ied",)
    doubled = verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou" and verb[-3] not in "aeiou"
    return (f"{verb}ed", f"{verb}{verb[-1]}ed") if doubled else (f"{verb}ed",)


def _told_forms(sentence: str) -> Iterator[tuple[str, int]]:
    """Yield each word that nothing before it makes a thing to be done."""
    words = [word[0].lower() for word in _WORD.finditer(sentence)]
    for number, word in enumerate(words):
        if _NOT_DONE.isdisjoint(words[max(0, number - _WORDS_BEFORE) : number]):
            yield word, number


def _stems(text: str) -> frozenset[str]:
    return frozenset(stemmed for word in surfaces(fold(text)) if (stemmed := stem(word)) is not None)
