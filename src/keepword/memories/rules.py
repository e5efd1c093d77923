"""Extracts memories by rules. Precision comes before recall: search still finds the messages themselves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from keepword import patterns
from keepword.answers import MemoryType, Refusal
from keepword.memories.clauses import ACTUALLY, classify
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.mended import Talk, find_mend, meant
from keepword.memories.rule import CLAUSE_CHARS, MAX_CHARS, says_something
from keepword.memories.speech import of_third_person, own_words, sentences
from keepword.model import Message
from keepword.secret_text import HIDDEN
from keepword.statements.forms import RELATIVE, Form, find_form

MAX_MEMORIES = 200
_FEW_WORDS = 5
# of "Sorry, I meant Thursday" in one message
_MAX_MENDED = 3
_FLAGS = patterns.IGNORECASE

_FILLER = patterns.in_short(
    r"(?:(?:hi|hello|hey|thanks|thank you|ok|okay|well|so|oh|yes|yeah|haha|anyway|also|and|but|sure|right|great|cool|"
    r"by the way|btw|just so you know|fyi|for the record|for your information|in fact|as you know|heads-up|heads up|"
    r"update|quick update|news|reminder|good news|bad news|i should mention|"
    r"(?:two|three|some|a few) things)(?: there)?\s*+[,:!]\s*+|(?:and|but|so|also) (?=i\b|we\b|my\b|our\b)|"
    r"(?:(?:please )?(?:remember|note|keep in mind|be aware)(?: that\b|:)|"
    r"(?:please )?remember (?=i\b|my\b|we\b))\s*+)+",
    CLAUSE_CHARS,
    _FLAGS,
)
_CORRECTS = patterns.at_start_of_short(
    r"(?:actually|korrektur|nein|corrección|correção|"
    r"correzione|correctie|nee|non|no(?:,? no)*|nope|correction|correcting myself|sorry|wait|hold on|scratch that|not "
    r"quite|"
    r"that(?:'s| is| was) (?:wrong|not right|not correct|incorrect|a mistake|not true)|"
    r"(?:sorry, )?i (?:was wrong|misspoke|made a mistake|was mistaken)|(?:to|let me) correct (?:that|this|myself|you)|"
    r"you (?:mixed that up|got that wrong|misunderstood|are wrong|'re wrong))(?:\s*[,:;.!]+\s*|\s+(?=(?:my|we|"
    r"our|the|i) )|$)",
    CLAUSE_CHARS,
    _FLAGS,
)
_NOT_THAT = patterns.at_start_of_short(
    r"not (?:on |at |in )?[\w' -]{1,30}, (?=(?:the|my|our|we|i)\b)", CLAUSE_CHARS, _FLAGS
)

_QUESTION = patterns.at_start_of_short(
    r".*\?[\"')]*$|(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|am|was|were|can|could|"
    r"should|shall|"
    r"would|will|have|has)\s+(?:i|we|you|he|she|it|they|the|my|our|your|this|that|there)\b(?!.*[,])",
    CLAUSE_CHARS,
    _FLAGS | patterns.DOTALL,
)
_HYPOTHETICAL = patterns.in_short(
    r"\b(?:if|unless|suppos(?:e|ed|ing)|imagine|pretend|maybe|perhaps|might|assum(?:e|ing)|let's say|lets say|"
    r"for example|"
    r"for instance|e\.g\.|what if|wish|thinking (?:of|about)|considering|i guess|possibly|probably|hypothetically|"
    r"not sure|whether|could|should have|as though|would have|would be|some ?day|at some point|let's assume)\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_WOULD = patterns.in_short(r"\bwould\b(?! (?:prefer|rather|like)\b)", CLAUSE_CHARS, _FLAGS)
_REPORTED = patterns.in_short(
    r"\b(?:sa(?:id|ys|ying)|t(?:old|ells)|wr(?:ote|ites|itten)|ask(?:s|ed)|claim(?:s|ed)|according to|mention(?:s|ed)|"
    r"quot(?:e|es|ed|ing)|replied|answered|(?:he|she|it|who|that) (?:answers|replies)|thinks|thought|heard|the "
    r"(?:article|text|error|message|novel|"
    r"book|blog|paper|log)|here is (?:an?|the|my)|translate|not true|n't (?:think|believe|remember|know))\b",
    CLAUSE_CHARS,
    _FLAGS,
)
# what points at something that was shown or said before
_POINTS = patterns.in_short(
    r"\b(?:this|these|those)\b(?! (?:week|weekend|month|year|morning|afternoon|evening|spring|summer|"
    r"autumn|fall|winter))|"
    r"\b(?:like|doing|for|with|about|to|of|than|by|from|in|on|at) that\b|\bthat (?:one|too|way|world|place|thing)\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_UNFIT: tuple[tuple[patterns.Short, Refusal], ...] = (
    (_HYPOTHETICAL, "guess"), (_WOULD, "guess"), (_REPORTED, "reported"), (_POINTS, "points elsewhere"),
)  # fmt: skip
# whoever puts such a label means what follows
_LABELLED = patterns.at_start(r"(?:action item|to-?do|decision|decided|agreed)\b[^:]{0,20}:", _FLAGS)
_REMARK = patterns.in_short(
    r"(?:(?<!\s)\s++[-\u2013\u2014]++\s++|(?<=\w)-{2,}+|\u2014).*$", CLAUSE_CHARS, patterns.DOTALL
)
# a further clause about what was said before it
_TAIL = patterns.in_short(
    r"(?:(?<!\s)\s*+,\s*+(?:(?:and|but|so|because|since|as|though|although)\s++)?|(?<!\s)\s++(?:and|but|because|since|"
    r"so|as)\s++)"
    r"(?:it|they|he|she|that|this|these|there|which|you|thanks|thank|to be honest)\b.*$",
    CLAUSE_CHARS,
    _FLAGS | patterns.DOTALL,
)
# a request about what was said before it: the fact stays without it
_REQUEST = patterns.in_short(
    r"(?<!\s)(?:\s*+,)?\s++(?:and|so|but) (?:(?:i|we)(?: am|'m| are|'re| was)? )?(?:just |really |also |now "
    r")?(?:(?:need|could use) (?:some |a )?"
    r"(?:help|advice|tips|ideas|suggestions|recommendations|info|information)|(?:want|need|wanted|would like|'d "
    r"like) to (?:know|make sure|ask|find|see|"
    r"get)|want some|was wondering|wondering|am wondering|looking for|trying to|hoping|interested in)\b.*$",
    CLAUSE_CHARS,
    _FLAGS | patterns.DOTALL,
)
# pronouns whose noun is in another sentence
_REFERS = patterns.in_short(
    r"\b(?:it(?!(?:'s| is| was| has been) (?:decided|agreed|settled)\b)|its|itself|them|they|him|he|she|there|here|"
    r"then|another|each other|one another)\b|"
    r"\b(?:ones?|too|either|that)$|\bthat (?:in mind|soon|again|later|now)\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_PART_OF_THEM = patterns.in_short(
    r"\b(?:one|two|three|four|five|half|most|some|both|\d+) of them\b|\bthan \w+ ones$", CLAUSE_CHARS, _FLAGS
)
_REFERS_OF_ME = patterns.at_start_of_short(r"(?:i|we)\b.*\b(?:his|her|hers|their|theirs)\b", CLAUSE_CHARS, _FLAGS)
_CHEERS = patterns.in_short(
    r"\b(?:let me know|feel free|i'm here|just ask|reach out|"
    r"you(?:'ve| have) (?:suggested|mentioned|given|listed|provided)|while|"
    r"shoot me|(?:share with|show) you|(?:never|don't) give up|however we can)\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_RELATIVE = patterns.in_short(
    r"\b(?:today|tonight|tomorrow|yesterday|now|recently|(?:last|next|this) (?:week|month|year|night|weekend|"
    r"spring|summer|"
    r"autumn|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|ago|"
    r"(?:on|by|until|before) (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_ASKED = patterns.at_start(r"@?([\w.-]{1,64}?)[,:]? please\b", _FLAGS)
# after words that correct ("actually"), a plain statement is enough
_STATED = patterns.at_start_of_short(
    r"(?:the|my|our|we|i) (?:[\w'’./-]+ ){0,6}?(?:is|are|isn't|was|runs|starts|ends|lives?|works?|uses?|use|"
    r"drop|has|have|lands|leaves|moved|moves|changed|switched|"
    r"costs|goes) (?P<rest>.+)",
    CLAUSE_CHARS,
    _FLAGS,
)
_WORD = patterns.anywhere(r"\w+")
_OF_ME = patterns.at_start(r"(?:i|i'm|we|my|our)\b", _FLAGS)
_NEXT_OF_ME = patterns.anywhere(r", (?:and |but )?(?=(?:I|I'm|we|my)\b)")
_NO_MORE = patterns.at_start_of_short(r"\w+ (?:don't|do not|no longer)\b|.*\bany ?more$", CLAUSE_CHARS, _FLAGS)
_NOT_AS_BEFORE = patterns.in_short(r", not (?!only\b|even\b|yet\b)[\w ]{1,40}[.!]?$", CLAUSE_CHARS, _FLAGS)
_IS_NOT_BUT_IS = patterns.at_start_of_short(
    r"(?:my|our|the) [\w' -]+? (?:isn't|is not|aren't) [^,]+(?:, (?:he|she|it|they)(?:'s| is| are)|,? but) ",
    CLAUSE_CHARS,
    _FLAGS,
)
_LETS = patterns.at_start(r"let's\b", _FLAGS)
_SAYS_WHOSE = patterns.at_start(
    r"(?:i|i'm|i've|i'd|i'll|my|we|our|the(?! (?:kids|children|twins|boys|girls)\b)|"
    r"to-?do|decision|decided|action)\b",
    _FLAGS,
)
# in words that stand alone: "remind them" names nobody
_WISHES = (
    (patterns.in_short(r"^(?:please |can you |always )*remind me (?=(?:(?:on|"
                       r"at|in|by|next|tomorrow)[\w :]{0,20}? )?(?:to|about|of|that)\b)", CLAUSE_CHARS, _FLAGS),
     "I ask to be reminded "),
    (patterns.in_short(r"^(?:from now on|please|always|,|\s)*call me (?=[A-ZÀ-Þ])", CLAUSE_CHARS, _FLAGS),
     "I want to be called "),
    (patterns.in_short(r"^you can (?:reach|call|email|text|write to|find) me (?=(?:on|at|via|by|"
                       r"under)\b)", CLAUSE_CHARS, _FLAGS),
     "I can be reached "),
    (patterns.in_short(r"^you (?:should|must|can) ", CLAUSE_CHARS, _FLAGS), ""),
    (patterns.in_short(r",? please[ .!]*$", CLAUSE_CHARS, _FLAGS), ""),
)  # fmt: skip
_WISHED = patterns.at_start(r"I (?:ask to be reminded|want to be called|can be reached) ")
_NAMES_ME = patterns.anywhere(r"\b(?:I|my)\b")


def extract(
    messages: Iterable[Message], context: Iterable[Message] = (), *, keeps_secrets: bool = False
) -> list[ExtractedMemory]:
    """Extract memories from what people said, in the order of the messages. `context` are the messages before.

    Both come without their secrets; `keeps_secrets` if they come with them.
    """
    memories: list[ExtractedMemory] = []
    agent_texts: list[str] = []
    talk = Talk(keeps_secrets=keeps_secrets)
    for message in context:
        _hear(message, agent_texts, talk)
    for message in messages:
        if _is_said(message):
            memories += _in_message(message, agent_texts, talk)
        _hear(message, agent_texts, talk)
    return memories


def _hear(message: Message, agent_texts: list[str], talk: Talk) -> None:
    if message.role != "user":
        agent_texts.append(_plain(message.content or message.tool_result or ""))
    if _is_said(message) or (message.role == "assistant" and message.content):
        talk.add(message)


def _is_said(message: Message) -> bool:
    return message.role == "user" and not message.tool_name and not message.metadata.get("injected")


def _in_message(message: Message, agent_texts: Sequence[str], talk: Talk) -> Iterator[ExtractedMemory]:
    """Stop after `MAX_MEMORIES`: a message with more such sentences is a pasted document."""
    memories = _memories(message, agent_texts, talk)
    return islice(memories, MAX_MEMORIES)


def _memories(message: Message, agent_texts: Sequence[str], talk: Talk) -> Iterator[ExtractedMemory]:
    corrects = False
    said: list[str] = []
    mends = 0
    for sentence in sentences(own_words(message.content)):
        said.append(sentence)
        if len(sentence) > MAX_CHARS:
            corrects = False
            continue
        statement = _without_filler(sentence)
        lead = _CORRECTS.match(statement)
        if lead and not statement[lead.end() :].strip():
            corrects = True  # the old value follows
            continue
        value = meant(statement)
        memories = list(_in_sentence(statement if value is None else value, message, corrects=corrects or bool(value)))
        if value and not memories and mends < _MAX_MENDED:
            mends += 1
            memories = _mended(value, message, said[:-1], talk)
        # checked last: it compares with all messages before
        if memories and not _is_echo(sentence, agent_texts):
            yield from memories
        corrects = False


def _without_filler(sentence: str) -> str:
    return _FILLER.sub("", sentence, 1) if _FILLER.match(sentence) else sentence


def _mended(value: str, message: Message, said: Sequence[str], talk: Talk) -> list[ExtractedMemory]:
    """Read "Sorry, I meant Thursday": a value for what its speaker said just before."""
    mend = find_mend(value)
    again = talk.restate(mend, message, said) if mend else None
    if again is None:
        return []
    sources = tuple(dict.fromkeys((message.id, again.source.id)))
    memories = _in_sentence(_without_filler(again.text), message, corrects=True)
    return [replace(one, sources=sources) for one in memories]


def _is_echo(sentence: str, agent_texts: Sequence[str]) -> bool:
    plain = _plain(sentence)
    return len(plain.split()) >= _FEW_WORDS and any(plain in earlier for earlier in agent_texts)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _in_sentence(statement: str, message: Message, *, corrects: bool) -> Iterator[ExtractedMemory]:
    while lead := _CORRECTS.match(statement) or _NOT_THAT.match(statement):
        statement, corrects = _FILLER.sub("", statement[lead.end() :], 1), True
        if not statement:
            return
    statement = _REMARK.sub("", statement)
    if refusal(statement) is not None:
        return
    for clause in _clauses(statement):
        is_correction = corrects or _is_correction(clause)
        clause = clause if is_correction else _REQUEST.sub("", _TAIL.sub("", clause))  # noqa: PLW2901 - what it says by itself
        # "he" is no pronoun in Spanish
        if not is_correction and _refers(clause) and find_form(clause) is None:
            continue
        if (verdict := classify(clause)) is not None and not _is_told_to(message.agent, clause):
            type_, confidence, asks = verdict
            is_plain = type_ in {"fact", "task"} or (corrects and type_ != "decision")
            yield _make(
                "correction" if is_correction and is_plain and not asks else type_, clause, confidence, asks, message
            )
        elif (form := find_form(clause)) is not None:
            yield _quote("correction" if is_correction and form.type == "fact" else form.type, clause, form, message)
        elif is_correction and (stated := _STATED.match(clause)) and says_something(stated["rest"]):
            yield _make("correction", clause, 0.75, False, message)


def refusal(statement: str) -> Refusal | None:
    """Return why nothing is taken from a statement, whatever it says."""
    if HIDDEN in statement:
        return "secret"
    if _QUESTION.match(statement):
        return "question"
    if _LABELLED.match(statement):
        return None
    return next((why for unfit, why in _UNFIT if unfit.search(statement)), None)


def refused(message: Message) -> Iterator[tuple[str, Refusal]]:
    """Yield the sentences of a person's message from which nothing is taken, each with the reason."""
    for sentence in sentences(own_words(message.content)):
        if len(sentence) > MAX_CHARS:
            yield sentence, "too long"
            continue
        statement = _without_filler(sentence)
        if (why := refusal(_REMARK.sub("", statement))) is not None:
            yield sentence, why


def _clauses(sentence: str) -> list[str]:
    """Split "I'm Tom, I live in Oslo", and of "I don't live here any more, I live there" keep what is true now."""
    if not _OF_ME.match(sentence):
        return [sentence]
    parts = _NEXT_OF_ME.split(sentence)
    if len(parts) > 1 and _NO_MORE.match(parts[0]):
        return ["Actually " + part for part in parts[1:]]
    return parts


def _refers(clause: str) -> bool:
    plain = _PART_OF_THEM.sub("", clause.rstrip(" .!,;:"))
    return any(pattern.search(plain) for pattern in (_REFERS, _CHEERS)) or bool(_REFERS_OF_ME.match(plain))


def _is_correction(clause: str) -> bool:
    return bool(ACTUALLY.match(clause) or _NOT_AS_BEFORE.search(clause) or _IS_NOT_BUT_IS.match(clause))


def _is_told_to(agent: str | None, clause: str) -> bool:
    """Tell whether the sentence is a request to the agent by name: it is done at once and needs no memory."""
    request_match = _ASKED.match(clause)
    return request_match is not None and agent is not None and request_match[1].casefold() == agent.casefold()


def _make(type_: MemoryType, clause: str, confidence: float, asks: bool, message: Message) -> ExtractedMemory:
    text = _self_contained(clause, message.user or "the user", message.created_at, asks=asks)
    return ExtractedMemory(type_, text, confidence, message.created_at, (message.id,), message.user, message.agent)


def _quote(type_: MemoryType, clause: str, form: Form, message: Message) -> ExtractedMemory:
    """Make a memory of a language that is not rewritten: the speaker, and the words as they are."""
    words = clause.rstrip(" .!,;:")
    dated = f" (said on {message.created_at:%Y-%m-%d})" if RELATIVE.search(words) else ""
    text = f"{message.user or 'the user'}: {words[0].upper()}{words[1:]}{dated}."
    return ExtractedMemory(type_, text, form.confidence, message.created_at, (message.id,), message.user, message.agent)


def _self_contained(clause: str, who: str, at: datetime, *, asks: bool) -> str:
    clause = _without_please(ACTUALLY.sub("", clause, 1).rstrip(" .!,;:"))
    dated = f" (said on {at:%Y-%m-%d})" if _RELATIVE.search(clause) else ""
    for wish, wording in _WISHES if asks else ():
        clause = wish.sub(wording, clause)
    if (asks and not _WISHED.match(clause)) or _LETS.match(clause):
        request = clause if clause[:2].isupper() else clause[0].lower() + clause[1:]
        clause = f"{who} {'asks' if asks else 'decided'}: {request.removeprefix('please ')}"
    elif not _SAYS_WHOSE.match(clause):
        # who it is about stands further behind, or nowhere
        clause = f"{who}: {clause}" if not _NAMES_ME.search(clause) else clause
    return of_third_person(clause, who) + dated + "."


def _without_please(clause: str) -> str:
    is_asked_nicely = clause.casefold().endswith((" please", ",please"))
    return clause[: -len("please")].rstrip(" ,") if is_asked_nicely else clause
