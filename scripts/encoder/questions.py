"""Questions made by rule: a turn's own question put into the third person, a line about a speaker, words of a turn."""

from __future__ import annotations

import random
import re

WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
# in templates: too common to ask about
COMMON = frozenset(
    "a about all also am an and any are as at be because been before but by can could did do does don for from get "
    "going good got great had has have he her here him his how i i'm i've i'd i'll if in into is it it's its just know "
    "let like lot me more much my no not now of oh ok okay on one or our out over really say she should so some than "
    "thank thanks that that's the their them then there they think this to too up us very want was we well were what "
    "when where which who why will with would yeah yes you you're your".split()
)
_ASKED = re.compile(r"[^.!?]+\?")
_SECOND_PERSON = (
    (re.compile(r"\bare you\b", re.IGNORECASE), "is {}"),
    (re.compile(r"\bwere you\b", re.IGNORECASE), "was {}"),
    (re.compile(r"\bdo you\b", re.IGNORECASE), "does {}"),
    (re.compile(r"\bhave you\b", re.IGNORECASE), "has {}"),
    (re.compile(r"\byou're\b", re.IGNORECASE), "{} is"),
    (re.compile(r"\byou've\b", re.IGNORECASE), "{} has"),
    (re.compile(r"\byours?\b", re.IGNORECASE), "{}'s"),
    (re.compile(r"\byou\b", re.IGNORECASE), "{}"),
)
_FIRST_PERSON = (
    (re.compile(r"\bI'm\b|\bI am\b"), "{} is"),
    (re.compile(r"\bI've\b"), "{} has"),
    (re.compile(r"\bI'(?:d|ll)\b|\bI\b"), "{}"),
    (re.compile(r"\b[Mm]y\b"), "{}'s"),
    (re.compile(r"\bme\b"), "{}"),
)
_EMPTY = re.compile(r"(how|what) (about|is|are) \w+('s)?\?$", re.IGNORECASE)
_LIKING = re.compile(
    r"i (like|love|enjoy|hate|want|prefer|need|play|work|live|collect|eat|drive|watch|read|speak|study|teach|dislike)s? (.+)$",
    re.IGNORECASE,
)
_PAST = re.compile(r"i (?:was|grew|used|went|had|got|met|lost|moved|won) ", re.IGNORECASE)


def asked_in(text: str) -> str | None:
    """The last question of a turn, if it is neither tiny nor long."""
    found = [one.strip() for one in _ASKED.findall(text)]
    return found[-1] if found and 4 <= len(found[-1].split()) <= 25 else None


def in_third_person(question: str, name: str) -> str | None:
    """What was asked of somebody, asked about them; None if there is nothing to change or nothing left to ask."""
    text = question
    for pattern, form in _SECOND_PERSON:
        text = pattern.sub(form.format(name), text)
    if text == question or _EMPTY.match(text):
        return None
    text = re.sub(r"\bmy\b", "their", re.sub(r"\bme\b", "them", text))
    return text[0].upper() + text[1:]


def addressed(question: str, name: str, speaker: str) -> str:
    """A question about somebody, asked by that user about himself, or of that assistant."""
    own = speaker == "user"
    me, mine, am = ("I", "my", "am") if own else ("you", "your", "are")
    forms = (
        (rf"\bDoes {name}\b", f"Do {me}"), (rf"\bdoes {name}\b", f"do {me}"), (rf"\bIs {name}\b", f"{am.capitalize()} {me}"),
        (rf"\bis {name}\b", f"{am} {me}"), (rf"\bHas {name}\b", f"Have {me}"), (rf"\bhas {name}\b", f"have {me}"),
        (rf"\b{name}'s\b", mine), (rf"\b{name} is\b", f"{me} {am}"), (rf"\b{name} has\b", f"{me} have"), (rf"\b{name}\b", me),
    )  # fmt: skip
    for pattern, form in forms:
        question = re.sub(pattern, form, question)
    return question[:1].upper() + question[1:]


def said_of(text: str, name: str) -> str:
    for pattern, form in _FIRST_PERSON:
        text = pattern.sub(form.format(name), text)
    return text


def about_fact(line: str, name: str, pick: random.Random) -> str:
    """A question that a line about a speaker answers, or asks for."""
    bare = line.strip().rstrip(".!").strip()
    low = bare[:1].lower() + bare[1:]
    if match := re.match(r"(?:i am|i'm|im) (.+)$", low, re.IGNORECASE):
        return pick.choice(
            (f"Is {name} {match[1]}?", f"What is known about {name} being {match[1]}?", f"Who is {match[1]}?")
        )
    if match := re.match(r"i (?:have|own) (.+)$", low, re.IGNORECASE):
        return pick.choice((f"Does {name} have {match[1]}?", f"What does {name} say about having {match[1]}?"))
    if match := _LIKING.match(low):
        verb, what = match[1].lower(), match[2]
        plain = (
            f"Where does {name} {verb}?"
            if verb in {"live", "work"}
            else f"What does {name} {verb}{' to do' if what.startswith('to ') else ''}?"
        )
        return pick.choice(
            (
                plain,
                f"Does {name} {verb} {what}?",
                f"Why does {name} {verb} {what}?",
                f"When did {name} mention {what}?",
            )
        )
    if match := re.match(r"my (.+?) (is|are|was|were) (.+)$", low, re.IGNORECASE):
        return pick.choice(
            (f"What {match[2]} {name}'s {match[1]}?", f"{match[2].capitalize()} {name}'s {match[1]} {match[3]}?")
        )
    if _PAST.match(low):
        told = said_of(f"I{low[1:]}", name)
        return f"What happened when {told}?" if pick.random() < 0.4 else f"When {told}?"
    return said_of(bare, name).rstrip(".") + "?"


_OF_USER = (
    "What did I say about {}?", "When did I mention {}?", "What was my {}?", "How many {} did I have?", "Where did I {}?",
    "What do you remember about {}?", "{}", "Which {} did I tell you about?", "Have I mentioned {}?",
)  # fmt: skip
_OF_AGENT = (
    "What did you tell me about {}?", "Can you remind me of the {} you recommended?", "How did you explain {}?", "{}",
    "I was thinking back to our conversation about {}. What did you say?", "What was the {} you suggested?",
)  # fmt: skip
_OF_PERSON = (
    "What did {who} say about {}?", "When did {who} mention {}?", "What do you remember about {}?", "{}",
    "How did {who} feel about the {}?", "Why {}?", "What is {who}'s {}?", "Where did {who} {}?",
    "What kind of {} does {who} like?", "Who {}?",
)  # fmt: skip
_WAYS = ("What", "When", "Where", "Why", "How", "Which", "Who", "Did", "What")


def about_words(speaker: str, text: str, pick: random.Random) -> str | None:
    """A question with a few neighbouring words of a turn in it."""
    content = [word for word in WORD.findall(text.lower()) if word not in COMMON and len(word) > 2]
    if len(content) < 3:
        return None
    amount = pick.choice((2, 3, 3, 4))
    start = pick.randrange(max(1, len(content) - amount + 1))
    phrase = " ".join(content[start : start + amount])
    if speaker in {"user", "assistant"}:
        return pick.choice(_OF_USER if speaker == "user" else _OF_AGENT).format(phrase)
    if pick.random() < 0.35 and (span := _about_span(speaker, text, pick)):
        return span
    return pick.choice(_OF_PERSON).format(phrase, who=speaker)


def _about_span(speaker: str, text: str, pick: random.Random) -> str | None:
    """A span of the turn, said of its speaker, with some words lost."""
    words = text.split()
    length = pick.choice((4, 5, 6, 7, 8))
    start = pick.randrange(max(1, len(words) - length + 1))
    kept = [word for word in words[start : start + length] if pick.random() > 0.15]
    told = said_of(" ".join(kept), speaker).strip(" ,.!?;")
    if len(told.split()) < 3:
        return None
    who = f"did {speaker} " if speaker not in told and pick.random() < 0.6 else ""
    return f"{pick.choice(_WAYS)} {who}{told}?"
