"""What of a message its author said: without quotes, code and what was put into it; sentence by sentence."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)[^<>]*>.*?</\1>", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
# what clients put before a question when they recall: a header, then lines up to a blank one
_INJECTED = re.compile(
    r"^[ \t]*(?:\[[A-Z][A-Z _-]+\][^\n]*"
    r"|#*[ \t]*(?:relevant|recalled|retrieved|stored|known|previous|past|long-term|user)?[ \t]*"
    r"(?:memory|memories|recall|context|background|profile)\b[^\n:]{0,60}:[ \t]*)\n(?:[^\n]+(?:\n|\Z))*",
    re.IGNORECASE | re.MULTILINE,
)
# what a client writes where something was attached
_ATTACHED = re.compile(
    r"\[(?:shares?|shared|sends?|sent|attache[ds]|attachment|image|photo|picture|video|audio|sticker|gif|file)\b[^\]]*\]",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»")
_END = re.compile(r"(?<=[.!?])[\"”)]*\s+(?=[\"“(]?[A-Z0-9a-zÀ-ÿ])|\n+|;\s+")
_ABBREVIATION = re.compile(r"(?:\b(?:St|Mr|Mrs|Ms|Dr|Prof|vs|etc|approx|No)|\b(?:e\.g|i\.e)|\b[A-Z])\.$")
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+")
_HIDE = str.maketrans(".!?;", "\ue000\ue001\ue002\ue003")
_SHOW = str.maketrans("\ue000\ue001\ue002\ue003", ".!?;")


def own_words(text: str) -> str:
    """Leave out code, quoted lines, tagged blocks, injected sections and notes of attachments."""
    for foreign in (_FENCE, _TAGGED, _INJECTED, _QUOTED_LINE, _ATTACHED):
        text = foreign.sub("\n", text)
    return text.replace("’", "'")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences, each with its end mark; a quotation never ends one."""
    hidden = _QUOTE.sub(lambda quote: quote[0].translate(_HIDE), text)
    begun = ""
    for piece in _END.split(hidden):
        begun = f"{begun} {piece}" if begun else piece
        if _ABBREVIATION.search(begun):
            continue
        if sentence := _BULLET.sub("", begun).strip().translate(_SHOW):
            yield sentence
        begun = ""
    if begun.strip():
        yield begun.strip().translate(_SHOW)


_ADVERBS = (
    "always|never|usually|often|really|also|still|just|only|mostly|generally|normally|mainly|currently|now|actually|"
    "absolutely|truly|both|especially|particularly|definitely|recently|finally"
)
_I = re.compile(
    rf"\bI(?P<short>'m|'ve|'ll|'d)?(?P<adverbs>(?: (?:{_ADVERBS}))*)(?: (?P<verb>[a-z]+(?:n't)?))?(?![\w'])",
    re.IGNORECASE,
)
_WITH_ANOTHER = re.compile(r"\S+ [\w'-]+(?: [\w'-]+)? and ")
_SHORT = {"'m": "is", "'ve": "has", "'ll": "will", "'d": "would"}
_IRREGULAR = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes", "was": "was",
}  # fmt: skip
_UNCHANGED = frozenset(
    "is are was were has had did didn't will won't would wouldn't can can't cannot could couldn't should must may "
    "might went got "
    "bought made took grew came became began left lost met kept chose found gave knew said saw sold spent thought told "
    "won wrote built ran taught no not".split()
)
_MINE = {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves"}
_MY = re.compile(r"\b(my|mine|me|myself)\b", re.IGNORECASE)


def of_third_person(sentence: str, who: str) -> str:
    """Say what somebody said of themselves as if another said it: "I live" becomes "ann lives"."""
    named = False

    def subject(found: re.Match[str]) -> str:
        nonlocal named
        named = True
        return " ".join(part for part in (who, *_predicate(found)) if part)

    def possessive(found: re.Match[str]) -> str:
        nonlocal named
        if named or found[0].lower() != "my":
            return _MINE[found[0].lower()]
        named = True
        return f"{who}'s"

    if re.match(r"my\b", sentence, re.IGNORECASE):
        sentence = _MY.sub(possessive, sentence)
    sentence = _I.sub(subject, sentence)
    sentence = _MY.sub(possessive, sentence)
    return _capital(re.sub(r"\byour\b", "the assistant's", re.sub(r"\byou\b", "the assistant", sentence)))


def _predicate(found: re.Match[str]) -> tuple[str, str, str]:
    short, adverbs, verb = found["short"], found["adverbs"].strip(), found["verb"] or ""
    if short:
        return _SHORT[short.lower()], adverbs, verb
    if _WITH_ANOTHER.fullmatch(found.string[: found.start()]):
        return adverbs, verb, ""
    return adverbs, _conjugate(verb), ""


def _conjugate(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if not verb or verb in _UNCHANGED or (verb.endswith("ed") and verb != "need"):
        return verb
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else verb + "s"


def _capital(text: str) -> str:
    # a user's id stays as it is written
    return text[0].upper() + text[1:] if text.startswith("the user") else text
