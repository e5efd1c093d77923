"""The author's own sentences of a message: without quotations, code and injected blocks."""

from collections.abc import Iterator

from keepword import patterns

# a message is read in pieces that end with a paragraph; no section that a client puts in is longer
_PIECE_CHARS = 128 * 1024
_BLANKS = patterns.anywhere(r"[ \t]{2,}+")
_EMPTY_LINES = patterns.anywhere(r"\n(?:[ \t]*+\n){2,}+")
_FENCE = patterns.anywhere(r"```|~~~")
_TAG = patterns.anywhere(r"<([A-Za-z][\w-]*+)[^<>]*+>|</([A-Za-z][\w-]*+)>")
_QUOTED_LINE = patterns.anywhere(r"^[ \t]*+>.*+$", patterns.MULTILINE)
# memories that clients put before a question: a header, then lines up to a blank one
_INJECTED = patterns.in_short(
    r"^[ \t]*+(?:\[[A-Z][A-Z _-]++\][^\n]*+"
    r"|#*+[ \t]*+(?:relevant|recalled|retrieved|stored|known|previous|past|long-term|user)?[ \t]*+"
    r"(?:memory|memories|recall|context|background|profile)\b[^\n:]{0,60}+:[ \t]*+)\n(?:[^\n]++(?:\n|\Z))*+",
    _PIECE_CHARS,
    patterns.IGNORECASE | patterns.MULTILINE,
)
# what a client writes where something was attached
_ATTACHED = patterns.in_short(
    r"\[(?:shares?|shared|sends?|sent|attache[ds]|attachment|image|photo|picture|video|audio|sticker|gif|file)\b",
    _PIECE_CHARS,
    patterns.IGNORECASE,
)
_QUOTE = patterns.anywhere(r"\"[^\"\n]*+\"|“[^“”\n]*+”|«[^«»\n]*+»")
_END = patterns.anywhere(r"(?<=[.!?])[\"”)]*+\s++(?=[\"“(]?[A-Z0-9a-zÀ-ÿ])|\n++|;\s++")
# "am 26. November"
_ORDINAL = patterns.anywhere(
    r"(?<!\d)\d{1,2}\.(?= ?(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b)"
)
_ABBREVIATION_CHARS = 16
_ABBREVIATION = patterns.in_short(
    r"(?:\b(?:St|Mr|Mrs|Ms|Dr|Prof|vs|etc|approx|No)|\b(?:e\.g|i\.e)|\b[A-Z])\.$", _ABBREVIATION_CHARS
)
_BULLET = patterns.at_start(r"[ \t]*+(?:[-*•]|\d++[.)])[ \t]++")
# an abbreviation ends no sentence; but nothing that long is one
_SENTENCE_CHARS = 2_000
_HIDE = str.maketrans(".!?;", "\ue000\ue001\ue002\ue003")
_SHOW = str.maketrans("\ue000\ue001\ue002\ue003", ".!?;")


def own_words(text: str) -> str:
    """Return the text without code, quoted lines, tagged blocks, injected sections and notes of attachments.

    Runs of blanks become one, and more than one empty line becomes one.
    """
    text = _EMPTY_LINES.sub("\n\n", _BLANKS.sub(" ", text))
    text = _without(text, _fenced(text))
    text = _without(text, _tagged(text))
    return "".join(map(_own, patterns.pieces(text, _PIECE_CHARS))).replace("’", "'")


def _own(piece: str) -> str:
    piece = _QUOTED_LINE.sub("\n", _INJECTED.sub("\n", piece))
    return _without(piece, _attached(piece))


Spans = Iterator[tuple[int, int]]


def _without(text: str, spans: Spans) -> str:
    """Replace each span by a line break; spans come in order."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "\n".join((*kept, text[at:]))


def _fenced(text: str) -> Spans:
    """Yield code between two equal fences; a fence that is never closed goes to the end."""
    at = 0
    while fence := _FENCE.search(text, at):
        close = text.find(fence[0], fence.end())
        at = close + len(fence[0]) if close >= 0 else len(text)
        yield fence.start(), at


def _tagged(text: str) -> Spans:
    """Yield each element from its tag to the next end tag of that name; a tag that is never closed is no element."""
    tags = list(_TAG.finditer(text))
    ends: dict[str, list[patterns.Match]] = {}
    for tag in reversed(tags):
        if tag[2]:
            ends.setdefault(tag[2], []).append(tag)
    at = 0
    for tag in tags:
        if not tag[1] or tag.start() < at:
            continue
        closing = ends.get(tag[1], [])
        while closing and closing[-1].start() < tag.end():
            closing.pop()
        if closing:
            at = closing[-1].end()
            yield tag.start(), at


def _attached(text: str) -> Spans:
    at = 0
    for note in _ATTACHED.finditer(text):
        if note.start() < at:
            continue
        if (close := text.find("]", note.end())) < 0:
            return
        at = close + 1
        yield note.start(), at


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences, each with its end mark; a quotation never ends one."""
    hidden = _QUOTE.sub(lambda quote: quote[0].translate(_HIDE), text)
    hidden = _ORDINAL.sub(lambda day: day[0].translate(_HIDE), hidden)
    begun = ""
    for piece in _END.split(hidden):
        begun = f"{begun} {piece}" if begun else piece
        if len(begun) < _SENTENCE_CHARS and _ABBREVIATION.search(begun[-_ABBREVIATION_CHARS:]):
            continue
        bullet = _BULLET.match(begun)
        if sentence := begun[bullet.end() if bullet else 0 :].strip().translate(_SHOW):
            yield sentence
        begun = ""
    if begun.strip():
        yield begun.strip().translate(_SHOW)


# "regularly", and no verb
LY_ADVERB = r"(?!(?:fly|apply|reply|rely|supply|multiply|comply|imply|ally|rally|tally|bully)\b)[a-z]+ly\b"
_ADVERBS = rf"always|never|no longer|often|also|still|just|now|both|sometimes|{LY_ADVERB}"
# a clause, with the speaker's name in it
_CLAUSE_CHARS = 2_000
_I = patterns.in_short(
    rf"\bI(?P<short>'m|'ve|'ll|'d)?(?P<adverbs>(?: (?:{_ADVERBS}))*)(?: (?P<verb>[a-z]+(?:n't)?))?(?![\w'])",
    _CLAUSE_CHARS,
    patterns.IGNORECASE,
)
_WITH_ANOTHER = patterns.at_start(r"\S+ [\w'-]+(?: [\w'-]+)? and ")
# "World War I": a number, not the speaker
_BEFORE_CHARS = 16
_NUMBERED = patterns.in_short(
    r"\b(?:War|Type|Phase|Part|Level|Mark|Tiger|Panzer|Class|Stage|Tier|Volume|Chapter|Book|Elizabeth|Charles|James|"
    r"George|"
    r"Napoleon|Francis|Algebra|Calculus|Physics|Chemistry|Biology|Statistics) $",
    _BEFORE_CHARS,
)
_SHORT = {"'m": "is", "'ve": "has", "'ll": "will", "'d": "would"}
_IRREGULAR = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes", "was": "was",
}  # fmt: skip
_UNCHANGED = frozenset(
    "is are was were has had did didn't will won't would wouldn't can can't cannot could couldn't should must may "
    "might went got "
    "bought made took grew came became began left lost met kept chose found gave knew said saw sold spent thought told "
    "won wrote quit built ran taught rode wore drove ate drank flew threw swam broke woke fell fed slept held stood "
    "understood sang sat drew stole brought caught fought laid rose shot stuck hung sold paid meant put cut hurt lit "
    "tore forgot no not".split()
)
_MINE = {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves"}
_YOU = patterns.anywhere(r"\byou(?: guys| all| folks)?\b")
_YOUR = patterns.anywhere(r"\byour\b")
_BEGINS_WITH_MY = patterns.at_start(r"my\b", patterns.IGNORECASE)
_MY = patterns.anywhere(r"\b(my|mine|me|myself)\b", patterns.IGNORECASE)


def of_third_person(sentence: str, who: str) -> str:
    """Rewrite the first person as the third: "I live" becomes "ann lives"."""
    named = False

    def subject(match: patterns.Match) -> str:
        nonlocal named
        if _NUMBERED.search(match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]):
            return match[0]
        named = True
        return " ".join(part for part in (who, *_predicate(match)) if part)

    def possessive(match: patterns.Match) -> str:
        nonlocal named
        if named or match[0].lower() != "my":
            return _MINE[match[0].lower()]
        named = True
        return f"{who}'s"

    if _BEGINS_WITH_MY.match(sentence):
        sentence = _MY.sub(possessive, sentence)
    sentence = _I.sub(subject, sentence)
    sentence = _MY.sub(possessive, sentence)
    return _capital(_YOUR.sub("the assistant's", _YOU.sub("the assistant", sentence)))


def _predicate(match: patterns.Match) -> tuple[str, str, str]:
    short, adverbs, verb = match["short"], match["adverbs"].strip(), match["verb"] or ""
    if short:
        return _SHORT[short.lower()], adverbs, verb
    if _WITH_ANOTHER.fullmatch(match.string[: match.start()]):
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
