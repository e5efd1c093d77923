"""Finding memories by rules: precise before complete, for whatever they miss can still be searched in the messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from keepword import patterns
from keepword.memories.found import Found, MemoryType
from keepword.memories.speech import of_third_person, own_words, sentences
from keepword.model import Message

MAX_CHARS = 400
MAX_MEMORIES = 200
_FEW_WORDS = 5
# "Actually " may come before what a sentence says
_CLAUSE_CHARS = MAX_CHARS + 20
_FLAGS = patterns.IGNORECASE

_FILLER = patterns.in_short(
    r"(?:(?:hi|hello|hey|thanks|thank you|ok|okay|well|so|oh|yes|yeah|haha|anyway|also|and|but|sure|right|great|cool|"
    r"by the way|btw|just so you know|fyi|for the record|for your information|in fact|as you know|i should mention|"
    r"(?:two|three|some|a few) things)(?: there)?\s*+[,:!]\s*+|(?:and|but|so|also) (?=i\b|we\b|my\b|our\b)|"
    r"(?:(?:please )?(?:remember|note|keep in mind|be aware)(?: that\b|:)|"
    r"(?:please )?remember (?=i\b|my\b|we\b))\s*+)+",
    _CLAUSE_CHARS,
    _FLAGS,
)
_CORRECTS = patterns.at_start_of_short(
    r"(?:actually|no(?:,? no)*|nope|correction|sorry|wait|hold on|scratch that|not quite|"
    r"that(?:'s| is| was) (?:wrong|not right|not correct|incorrect|a mistake|not true)|"
    r"(?:sorry, )?i (?:was wrong|misspoke|made a mistake|was mistaken)|(?:to|let me) correct (?:that|this|myself|you)|"
    r"you (?:mixed that up|got that wrong|misunderstood|are wrong|'re wrong))(?:\s*[,:;.!]+\s*|\s+(?=(?:my|we|"
    r"our|the|i) )|$)",
    _CLAUSE_CHARS,
    _FLAGS,
)
_NOT_THAT = patterns.at_start_of_short(
    r"not (?:on |at |in )?[\w' -]{1,30}, (?=(?:the|my|our|we|i)\b)", _CLAUSE_CHARS, _FLAGS
)

_QUESTION = patterns.at_start_of_short(
    r".*\?[\"')]*$|(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|am|was|were|can|could|"
    r"should|shall|"
    r"would|will|have|has)\s+(?:i|we|you|he|she|it|they|the|my|our|your|this|that|there)\b(?!.*[,])",
    _CLAUSE_CHARS,
    _FLAGS | patterns.DOTALL,
)
_HYPOTHETICAL = patterns.in_short(
    r"\b(?:if|unless|suppos(?:e|ed|ing)|imagine|pretend|maybe|perhaps|might|assum(?:e|ing)|let's say|lets say|"
    r"for example|"
    r"for instance|e\.g\.|what if|wish|thinking (?:of|about)|considering|i guess|possibly|probably|hypothetically|"
    r"not sure|whether|could|should have|as though|would have|would be|some ?day|at some point|let's assume)\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
_WOULD = patterns.in_short(r"\bwould\b(?! (?:prefer|rather|like)\b)", _CLAUSE_CHARS, _FLAGS)
_REPORTED = patterns.in_short(
    r"\b(?:sa(?:id|ys|ying)|t(?:old|ells)|wr(?:ote|ites|itten)|ask(?:s|ed)|claim(?:s|ed)|according to|mention(?:s|ed)|"
    r"quot(?:e|es|ed|ing)|repl(?:ies|ied)|answer(?:s|ed)|thinks|thought|heard|the (?:article|text|error|message|novel|"
    r"book|blog|paper|log)|here is (?:an?|the|my)|translate|not true|n't (?:think|believe|remember|know))\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
# what refers to something outside the sentence says nothing by itself
_VAGUE = patterns.at_start(
    r"(?:it|its|it's|that|this|these|those|them|him|her|his|he|she|they|their|such|so|you|your|how|what|"
    r"when you|the way|"
    r"here|there|back|one|something|anything|everything|nothing|someone|stuff|things|thing|none|all|both|"
    r"the (?:idea|answer|explanation|first|second|third|last|next|same|other|one|result|above|following))\b",
    _FLAGS,
)
_PASSING = frozenset(
    "fine ok okay good great bad bored tired sick ill busy back here there ready done late early lost stuck sure "
    "sorry happy sad glad afraid hungry curious confused excited well better worse wrong right broken down slow "
    "gone nice away online offline open closed full empty new old big small funny weird strange interested "
    "impressed awesome amazing beautiful cute fun perfect incredible solid fantastic lovely wonderful excellent "
    "cool special always like such super important inspiring encouraging supportive proud grateful thankful lucky "
    "nervous worried scared stressed overwhelmed".split()
)
_ASIDE = frozenset(
    "question idea problem minute moment second look doubt feeling headache cold chat talk go break try point guess "
    "hunch suggestion thought issue request favor favour bug error time plan".split()
)
_ARTICLES = frozenset({"a", "an", "the", "no", "very", "so", "too", "really", "been"})
# what points at something that was shown or said before
_POINTS = patterns.in_short(
    r"\b(?:this|these|those)\b(?! (?:week|weekend|month|year|morning|afternoon|evening|spring|summer|"
    r"autumn|fall|winter))|"
    r"\b(?:like|doing|for|with|about|to|of|than|by|from|in|on|at) that\b|\bthat (?:one|too|way|world|place|thing)\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
_REMARK = patterns.in_short(r"(?:(?<!\s)\s++[-\u2013\u2014]++\s++|-{2,}+|\u2014).*$", _CLAUSE_CHARS, patterns.DOTALL)
# a further clause about what was said before it
_TAIL = patterns.in_short(
    r"(?:(?<!\s)\s*+,\s*+(?:(?:and|but|so|because|since|as|though|although)\s++)?|(?<!\s)\s++(?:and|but|because|since|so|as)\s++)"
    r"(?:it|they|he|she|that|this|these|there|which|you|thanks|thank)\b.*$",
    _CLAUSE_CHARS,
    _FLAGS | patterns.DOTALL,
)
# whom or what these stand for is said elsewhere
_REFERS = patterns.in_short(
    r"\b(?:it|its|itself|them|they|him|he|she|there|here|then|another|each other|one another)\b|"
    r"\b(?:ones?|too|either|that)$|\bthat (?:in mind|soon|again|later|now)\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
_PART_OF_THEM = patterns.in_short(
    r"\b(?:one|two|three|four|five|half|most|some|both|\d+) of them\b", _CLAUSE_CHARS, _FLAGS
)
_REFERS_OF_ME = patterns.at_start_of_short(r"(?:i|we)\b.*\b(?:his|her|hers|their|theirs)\b", _CLAUSE_CHARS, _FLAGS)
_CHEERS = patterns.in_short(
    r"\b(?:let me know|feel free|i'm here|just ask|reach out|"
    r"you(?:'ve| have) (?:suggested|mentioned|given|listed|provided)|while|"
    r"shoot me|(?:share with|show) you|(?:never|don't) give up|however we can)\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
_DAYS = (
    "today|tonight|tomorrow|by|before|until|next|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month"
)
_TIMED = patterns.in_short(
    r"\b(?:today|tonight|tomorrow|by (?:the|next|noon|end|\d)|before|until|at \d|next|"
    r"this (?:week|month|year|evening|afternoon|weekend)|later|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|"
    r"september|october|november|december|\d{1,2}(?:am|pm|:\d\d))\b",
    _CLAUSE_CHARS,
    _FLAGS,
)
_RELATIVE = patterns.in_short(
    r"\b(?:today|tonight|tomorrow|yesterday|now|recently|(?:last|next|this) (?:week|month|year|night|weekend|"
    r"spring|summer|"
    r"autumn|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|ago|"
    r"(?:on|by|until|before) (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    _CLAUSE_CHARS,
    _FLAGS,
)

_WHO = r"(?P<who>(?:my \w+ and )?i|we)"
_LEAD = r"(?:(?:for|in|on|at|after|before|since|during|next|as(?! i\b| we\b)) [^,.:]{2,40}?,? )?"
_NOT = r"(?:(?:do not|don't|did not|didn't|no longer|never) )?"
_OFTEN = (
    "always|usually|often|really|also|still|just|mostly|generally|normally|mainly|currently|now|both|absolutely|truly"
)
_HOW = rf"(?:(?:{_OFTEN}) )*"
_SOME = (
    r"(?=(?:a|an|no|two|three|four|five|six|seven|\d+|my) )"
    r"(?!an? (?:few|lot|bunch|bit|ton|photo|picture|pic|similar|mix|mess|blast|great|good|hard|long|tough|rough|fun|"
    r"nice|funny|strong|story|comment|question|special|really|pretty|very|quick|different|whole|deep|close)\b)"
)
# "never been there" and "always running around" are no orders
_ORDER = (
    r"(?!\w+(?:ing|ed|en)\b|(?:a|an|the|so|been|had|saw|knew|thought|felt|heard|got|did|good|on|by|in|at|with|for|up|"
    r"down|to|of|from|into|about|here|there|love|like|enjoy|feel|seem|look|happy|glad|great|nice|fun|ready|keen|more|"
    r"worth|my|our|your|too|better|best|say)\b)"
)
_NAME = r"(?P<name>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """`rest` of the pattern is what must say something; `needs` what it must hold beside that."""

    type: MemoryType
    pattern: patterns.ShortStart
    confidence: float = 0.8
    needs: patterns.Short | None = None
    asks: bool = False

    def fits(self, sentence: str) -> bool:
        found = self.pattern.match(sentence)
        if not found or (self.needs and not self.needs.search(_ADDRESSED.sub("", found["rest"]))):
            return False
        return _says_something(found["rest"])


def _rule(type_: MemoryType, pattern: str, confidence: float = 0.8, **more: object) -> _Rule:
    begins = patterns.at_start_of_short(pattern + r"(?P<rest>.+)", _CLAUSE_CHARS, _FLAGS)
    return _Rule(type_, begins, confidence, **more)  # type: ignore[arg-type]


# "…, Ann!": whom it is said to, and no part of it
_ADDRESSED = patterns.in_short(r", [A-ZÀ-Þ]\w+[.!]*$", _CLAUSE_CHARS)
_CONCRETE = patterns.in_short(r"\d|(?<=\s)[A-ZÀ-Þ]\w|\b\w+[-_/.]\w+[-_/.\d]\w*|^[A-ZÀ-Þ]\w", _CLAUSE_CHARS)
_STATES = (
    "allergic|intolerant|vegetarian|vegan|pescatarian|diabetic|asthmatic|coeliac|celiac|pregnant|married|"
    "divorced|engaged|"
    "widowed|retired|left-handed|right-handed|colou?r-?blind|deaf|blind|dyslexic|autistic|self-employed|unemployed|"
    "based|from|born|responsible|in charge|fluent|(?:a|an|the) (?!bit|little|lot|fan|big fan|huge fan|mix|mess)|"
    r"\d+ years|\d+$|\d+\b"
)
_LIVES = (
    "live|lived|work|worked|study|studied|own|speak|moved|grew up|was born|come from|came from|teach|taught|"
    "run a|run an|"
    "run the|drive|play|volunteer|graduated|manage|lead|commute|rent|use|host|deploy|ship|attend|attended|joined|"
    "married|got married|founded|started|share|have been|'ve been|"
    "suffer from|take|eat|drink|smoke|practise|practice|learn"
)

_RULES: Sequence[_Rule] = (
    _rule("action", r"action items?(?: for \w+)?\s*[:-]\s*", 0.9),
    _rule("task", r"to-?do\s*[:-]\s*", 0.9),
    _rule("decision", r"(?:decision|decided|agreed)\s*:\s*", 0.95),
    _rule("task", r"(?:please |can you )?(?:remind me (?:to|about|of|that) |"
                  r"(?:don't|do not) (?:let me )?forget (?:to )?|remember to )"
                  r"(?!.*\byour(?:self|selves)?\b|"
                  r"(?:be|enjoy|have fun|take care|take some|rest|breathe)\b)", 0.9, asks=True),
    _rule("task", r"(?:please )?(?:add|put) "
                  r"(?=.+ (?:to|on) (?:my|the|our) [\w -]*(?:list|calendar|agenda|backlog)\b)", asks=True),
    _rule("preference", r"(?:my|our) (?:\w+ )?favou?rite (?!(?:one|part|bit|memory|moment)\b)[^,.]{1,40}? "
                        r"(?:is|are|has always been) ", 0.95),
    _rule("preference", rf"{_LEAD}{_WHO} {_HOW}{_NOT}{_HOW}"
                        r"(?:prefer|like|love|enjoy|adore|hate|dislike|loathe|detest) "
                        r"(?!the (?!.*(?: of | in | when )|(?-i:[A-Z]))|"
                        r"the (?:sound|idea|look|challenge|thought|variety|suggestion|way)\b|to[.!]*$|"
                        r"getting\b|seeing\b|being able\b|knowing\b|having\b|hearing\b)", 0.9),
    _rule("preference", rf"{_LEAD}{_WHO}(?:'d| would) (?:much )?"
                        r"(?:rather |prefer |like (?:you to|your|all|every) )(?!(?:show|tell) you\b)", 0.8),
    _rule("preference", rf"{_LEAD}{_WHO} (?:can't|cannot|can not) stand ", 0.9),
    _rule("preference", rf"{_WHO}(?:'m| am|'re| are) (?:not )?(?:really )?(?:a )?(?:big |huge )?fans? of ", 0.9),
    _rule("preference", rf"{_LEAD}{_WHO} (?:usually|always|normally|never|generally) (?=\w+ )", 0.75),
    _rule("preference", rf"{_WHO} (?:do not|don't|never) (?:eat|drink|smoke) ", 0.85),
    _rule("preference", r"(?:from now on|in (?:the )?future)\b,? (?!i\b|we\b|my\b|our\b)(?:please )?", 0.9, asks=True),
    _rule("preference", rf"(?:please )?(?:always|never) {_ORDER}(?=[a-z]+ )", 0.9, asks=True),
    _rule("preference", r"please (?:don't|do not|avoid|stop) (?=\w+)", 0.75, asks=True),
    _rule("preference", r"(?:please )?(?:call me) (?=[A-Z])", 0.9, asks=True),
    _rule("preference", r"when(?:ever)? you [^,]{3,60}, (?:please )?(?=[a-z]+ )", 0.8, asks=True),
    _rule("preference", r"[\w -]{2,30} over [\w -]{2,30}(?=,? for me\b)", 0.7),
    _rule("decision", rf"(?:{_LEAD})(?:we|i|the team|our team)(?:'ve| have|'ve now| have now)? (?:finally |just )?"
                      r"(?:(?:decided|agreed|settled)(?: (?:to go (?:with|for)|to|on|that|for|against|with))?|"
                      r"(?:chose|chosen|opted|picked|went with(?! (?:some|my|our|a) ))"
                      r"(?: (?:to|on|for|against))?) ", 0.9),
    _rule("decision", r"let's (?:go with|use|stick with|stick to|pick(?! a (?:date|day|time)\b)|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|in|at|on|up|each|our)\b)|drop|switch to|"
                      r"adopt|ship|postpone|choose|take) ", 0.75),
    _rule("decision", r"we(?:'re| are) (?:going with|dropping|switching to|moving to|migrating to|"
                      r"sticking with|adopting) ", 0.85),
    _rule("decision", r"we(?:'ll| will) (?:use|go with|stick with|switch to|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|at|on|up)\b)|drop|adopt) ", 0.8),
    _rule("task", rf"{_LEAD}(?!we\b(?! still\b)(?!.*\b(?:{_DAYS})\b)){_WHO} (?:still |really |also )?"
                  r"(?:need to|have to|must|'ve got to|have got to) (?=\w+ \w)"
                  r"(?!be\b|say\b|admit\b|know\b|see\b|go\b|think\b|thank\b|ask\b|tell\b|understand\b|check\b)", 0.8),
    _rule("task", rf"{_LEAD}{_WHO}(?:'m| am|'re| are) going to (?!bed\b|sleep\b|try\b)", 0.7, needs=_TIMED),
    _rule("task", rf"{_LEAD}{_WHO}(?:'ll| will) "
                  r"(?!(?:try|also|definitely|start by|see|be|check|think|let|do|keep|catch|get back|talk|chat|look|"
                  r"make sure)\b)", 0.7, needs=_TIMED),
    _rule("fact", rf"{_LEAD}{_WHO}(?:'m| am| was) (?:not )?(?:also )?(?=(?:{_STATES}))", 0.85),
    _rule("fact", rf"{_LEAD}{_WHO} {_HOW}{_NOT}{_HOW}(?:{_LIVES}) "
                  r"(?!(?:well|hard|out|together|like|wonders|best|off|over|"
                  r"(?:a|an|one|two|three|some|several)(?: \w+)? (?:days?|weeks?|months?|years?) ago)\b)", 0.85),
    _rule("fact", rf"{_LEAD}{_WHO} {_HOW}(?:have|have got) {_SOME}", 0.75),
    _rule("fact", rf"{_LEAD}{_WHO}'ve got {_SOME}", 0.75),
    _rule("fact", rf"{_LEAD}{_WHO} (?:do not|don't) (?:have|own|speak|use|drive) ", 0.8),
)  # fmt: skip
# what is so for a while, or only a way of speaking
_MOVING = (
    r"(?:been |still |really |so |just )*(?:paying|doing|going|coming|getting|feeling|looking|helping|making|seen|"
    r"to)\b|(?:my|our) (?:future|motivation|world|everything|rock|inspiration|strength|life)\b"
)
_OF_THE_MOMENT = (
    r"(?i:(?:\w+ )?(?:tip|advice|aim|work|heart|mind|day|week|weekend|morning|evening|night|turn|bad|fault|pleasure|"
    r"mood|thoughts?|condolences|point|guess|hope|feelings?|trip|apologies|question|head|best|goodness|god|week)\b)"
)
# with a name in it: the case counts
_NAMED: Sequence[_Rule] = (
    _Rule("fact", patterns.at_start_of_short(
        rf"(?:I'm|I am) (?P<rest>{_NAME})(?:[,.!]|$| and\b| from\b)", _CLAUSE_CHARS), 0.85),
    _Rule("action", patterns.at_start_of_short(
        r"(?!(?:But|And|So|Then|Yes|Yeah|Just|Also|Maybe|Who|If|When|The|This|That|It|He|She|They|We|You|What|There|Here|"
        r"Nobody|Someone|Everyone|Everything|Nothing|One)\b)"
        rf"{_NAME} (?:will|has to|needs to|must|is going to) (?P<rest>(?!be\b|have\b)[a-z]+ .+)", _CLAUSE_CHARS), 0.75),
    _Rule("action", patterns.at_start_of_short(
        r"(?:@[\w.-]{1,64}[,:]?|[A-ZÀ-Þ][a-zà-ÿ]{1,40}[,:]) please "
        r"(?P<rest>(?!be\b|have\b|don't\b|do not\b)[a-z]+ .+)", _CLAUSE_CHARS), 0.8),
    _Rule("fact", patterns.at_start_of_short(
        rf"(?i:my|our) (?!{_OF_THE_MOMENT})(?:(?!favou?rite\b)[\w'’-]+ ){{1,5}}?"
        r"(?i:is|are|isn't|aren't|was|has|have|had|lives?|works?|runs?|starts?|started|ends?|lands?|leaves?|arrives?|costs?|uses?|goes|speaks?|moved|studies|plays?|stud(?:y|ied)|"
        r"became|got(?= (?:married|divorced|engaged|promoted|fired|hired|accepted|a)\b)) "
        rf"(?P<rest>(?!{_MOVING})(?:been )?.+)", _CLAUSE_CHARS), 0.85),
    _Rule("fact", patterns.at_start_of_short(
        r"(?i:the) (?!(?i:last|first|only|next|other|whole) )(?:[\w'’./-]+ ){1,6}?(?i:is|are|runs|starts|ends|opens|"
        r"closes|lives|lies|uses|costs|has|expires|lands|leaves|belongs|listens|points) "
        r"(?P<rest>.+)", _CLAUSE_CHARS), 0.75, _CONCRETE),
)  # fmt: skip
_ASKED = patterns.at_start(r"@?([\w.-]{1,64}?)[,:]? please\b", _FLAGS)
# after a lead that corrects, a plain statement is enough
_STATED = patterns.at_start_of_short(
    r"(?:the|my|our|we|i) (?:[\w'’./-]+ ){0,6}?(?:is|are|isn't|was|runs|starts|ends|lives?|works?|uses?|use|"
    r"drop|has|have|lands|leaves|"
    r"costs|goes) (?P<rest>.+)",
    _CLAUSE_CHARS,
    _FLAGS,
)
_WORD = patterns.anywhere(r"\w+")
_WORD_OR_SHORT = patterns.anywhere(r"[\w'-]+")
_OF_ME = patterns.at_start(r"(?:i|i'm|we|my|our)\b", _FLAGS)
_NEXT_OF_ME = patterns.anywhere(r", (?:and |but )?(?=(?:I|I'm|we|my)\b)")
_NO_MORE = patterns.at_start_of_short(r"\w+ (?:don't|do not|no longer)\b|.*\bany ?more$", _CLAUSE_CHARS, _FLAGS)
_ACTUALLY = patterns.in_short(r"^actually ", _CLAUSE_CHARS, _FLAGS)
_NOT_AS_BEFORE = patterns.in_short(r", not (?!only\b|even\b|yet\b)[\w ]{1,40}[.!]?$", _CLAUSE_CHARS, _FLAGS)
_IS_NOT_BUT_IS = patterns.at_start_of_short(
    r"(?:my|our|the) [\w' -]+? (?:isn't|is not|aren't) [^,]+, (?:he|she|it|they)(?:'s| is| are) ", _CLAUSE_CHARS, _FLAGS
)
_LETS = patterns.at_start(r"let's\b", _FLAGS)
_SAYS_WHOSE = patterns.at_start(r"(?:i|i'm|i've|i'd|i'll|my|we|our|the|to-?do|decision|decided|action)\b", _FLAGS)
_NAMES_ME = patterns.anywhere(r"\b(?:I|my)\b")


def extract(messages: Iterable[Message], context: Iterable[Message] = ()) -> list[Found]:
    """Find what people said that is worth keeping, in their order. `context` are the messages before."""
    found: list[Found] = []
    heard = [_plain(message.content or message.tool_result or "") for message in context if message.role != "user"]
    for message in messages:
        if message.role != "user":
            heard.append(_plain(message.content or message.tool_result or ""))
        elif not message.tool_name and not message.metadata.get("injected"):
            found += _in_message(message, heard)
    return found


def _in_message(message: Message, heard: Sequence[str]) -> Iterator[Found]:
    """Stop after `MAX_MEMORIES`: who writes that many sentences of the kind in one message pastes a document."""
    made = _memories(message, heard)
    return islice(made, MAX_MEMORIES)


def _memories(message: Message, heard: Sequence[str]) -> Iterator[Found]:
    corrects = False
    for sentence in sentences(own_words(message.content)):
        if len(sentence) > MAX_CHARS:
            corrects = False
            continue
        said = _FILLER.sub("", sentence, 1) if _FILLER.match(sentence) else sentence
        lead = _CORRECTS.match(said)
        if lead and not said[lead.end() :].strip():
            corrects = True  # what was wrong follows
            continue
        found = list(_in_sentence(said, message, corrects=corrects))
        # asked last: it compares with all that was heard
        if found and not _is_echo(sentence, heard):
            yield from found
        corrects = False


def _is_echo(sentence: str, heard: Sequence[str]) -> bool:
    plain = _plain(sentence)
    return len(plain.split()) >= _FEW_WORDS and any(plain in said for said in heard)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _in_sentence(said: str, message: Message, *, corrects: bool) -> Iterator[Found]:
    while lead := _CORRECTS.match(said) or _NOT_THAT.match(said):
        said, corrects = _FILLER.sub("", said[lead.end() :], 1), True
        if not said:
            return
    said = _REMARK.sub("", said)
    if any(unfit.search(said) for unfit in (_HYPOTHETICAL, _WOULD, _REPORTED, _POINTS)) or _QUESTION.match(said):
        return
    for clause in _clauses(said):
        is_correction = corrects or _is_correction(clause)
        clause = clause if is_correction else _TAIL.sub("", clause)  # noqa: PLW2901 - what it says by itself
        if not is_correction and _refers(clause):
            continue
        if (known := _classify(clause)) is not None and not _is_told_to(message.agent, clause):
            type_, confidence, asks = known
            yield _make("correction" if is_correction and not asks else type_, clause, confidence, asks, message)
        elif is_correction and (stated := _STATED.match(clause)) and _says_something(stated["rest"]):
            yield _make("correction", clause, 0.75, False, message)


def _clauses(said: str) -> list[str]:
    """Split "I'm Tom, I live in Oslo", and of "I don't live here any more, I live there" keep what is true now."""
    if not _OF_ME.match(said):
        return [said]
    parts = _NEXT_OF_ME.split(said)
    if len(parts) > 1 and _NO_MORE.match(parts[0]):
        return ["Actually " + part for part in parts[1:]]
    return parts


def _refers(clause: str) -> bool:
    plain = _PART_OF_THEM.sub("", clause).rstrip(" .!,;:")
    return any(found.search(plain) for found in (_REFERS, _CHEERS)) or bool(_REFERS_OF_ME.match(plain))


def _is_correction(clause: str) -> bool:
    return bool(_ACTUALLY.match(clause) or _NOT_AS_BEFORE.search(clause) or _IS_NOT_BUT_IS.match(clause))


def _is_told_to(agent: str | None, clause: str) -> bool:
    """Tell whether somebody asks the agent itself, by its name: it does so at once, there is nothing to remember."""
    asked = _ASKED.match(clause)
    return asked is not None and agent is not None and asked[1].casefold() == agent.casefold()


def _classify(clause: str) -> tuple[MemoryType, float, bool] | None:
    clause = _ACTUALLY.sub("", clause, 1)
    for rule in (*_RULES, *_NAMED):
        if rule.fits(clause):
            return rule.type, rule.confidence, rule.asks
    return None


def _says_something(rest: str) -> bool:
    plain = rest.strip(" .!,;:")
    if not plain or _VAGUE.match(plain):
        return False
    words = [word for word in _WORD_OR_SHORT.findall(plain.lower()) if word not in _ARTICLES]
    first = words[0] if words else ""
    return bool(words) and first not in _ASIDE and not (first in _PASSING and _is_passing(words))


def _is_passing(words: Sequence[str]) -> bool:
    """Tell whether a state is only of the moment: "sick", "fine, thank you", "tired today"."""
    return (
        len(words) == 1
        or words[1] in {"today", "now", "thank", "thanks", "with", "right", "about", "the", "to", "that"}
        or (
            len(words) > 2  # noqa: PLR2004 - a new clause begins
        )
    )


def _make(type_: MemoryType, clause: str, confidence: float, asks: bool, message: Message) -> Found:
    text = _self_contained(clause, message.user or "the user", message.created_at, asks=asks)
    return Found(type_, text, confidence, message.created_at, (message.id,), message.user, message.agent)


def _self_contained(clause: str, who: str, at: datetime, *, asks: bool) -> str:
    clause = _ACTUALLY.sub("", clause, 1).rstrip(" .!,;:")
    dated = f" (said on {at:%Y-%m-%d})" if _RELATIVE.search(clause) else ""
    if asks or _LETS.match(clause):
        begun = clause if clause[:2].isupper() else clause[0].lower() + clause[1:]
        clause = f"{who} {'asks' if asks else 'decided'}: {begun.removeprefix('please ')}"
    elif not _SAYS_WHOSE.match(clause):
        # who it is about stands further behind, or nowhere
        clause = f"{who}: {clause}" if not _NAMES_ME.search(clause) else clause
    return of_third_person(clause, who) + dated + "."
