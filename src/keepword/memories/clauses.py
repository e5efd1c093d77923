"""Rules that recognise a preference, a decision, a task or a fact by the words of one clause."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.answers import MemoryType

MAX_CHARS = 400
# "Actually " may come before what a sentence says
CLAUSE_CHARS = MAX_CHARS + 20
_FLAGS = patterns.IGNORECASE

# words that refer to something outside the sentence: alone it says nothing
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
# what follows such a state, where a noun would say what is new, old or big: a time, thanks, or a new clause
_AFTER_A_STATE = frozenset(
    "today now thank thanks with right about the to that and but or because since when while if as".split()
)
_ASIDE = frozenset(
    "question idea problem minute moment second look doubt feeling headache cold chat talk go break try point guess "
    "hunch suggestion thought issue request favor favour bug error time plan".split()
)
_ARTICLES = frozenset({"a", "an", "the", "no", "very", "so", "too", "really", "been"})
_DAYS = (
    "today|tonight|tomorrow|by|before|until|next|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month"
)
_TIMED = patterns.in_short(
    r"\b(?:today|tonight|tomorrow|by (?:the|next|noon|end|\d)|before|until|at \d|next|"
    r"this (?:week|month|year|evening|afternoon|weekend)|later|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|"
    r"september|october|november|december|\d{1,2}(?:am|pm|:\d\d))\b",
    CLAUSE_CHARS,
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
# "never been there" and "always running around" are no instructions
_ORDER = (
    r"(?!\w+(?:ing|ed|en)\b|(?:a|an|the|so|been|had|saw|knew|thought|felt|heard|got|did|good|on|by|in|at|with|for|up|"
    r"down|to|of|from|into|about|here|there|love|like|enjoy|feel|seem|look|happy|glad|great|nice|fun|ready|keen|more|"
    r"worth|my|our|your|too|better|best|say)\b)"
)
_NAME = r"(?P<name>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """The pattern's group `rest` must have content of its own; `needs` is a pattern that must match as well."""

    type: MemoryType
    pattern: patterns.ShortStart
    confidence: float = 0.8
    needs: patterns.Short | None = None
    asks: bool = False

    def fits(self, sentence: str) -> bool:
        match = self.pattern.match(sentence)
        if not match or (self.needs and not self.needs.search(_ADDRESSED.sub("", match["rest"]))):
            return False
        return says_something(match["rest"])


def _rule(type_: MemoryType, pattern: str, confidence: float = 0.8, **more: object) -> _Rule:
    begins = patterns.at_start_of_short(pattern + r"(?P<rest>.+)", CLAUSE_CHARS, _FLAGS)
    return _Rule(type_, begins, confidence, **more)  # type: ignore[arg-type]


# "…, Ann!": the person addressed, not a part of the statement
_ADDRESSED = patterns.in_short(r", [A-ZÀ-Þ]\w+[.!]*$", CLAUSE_CHARS)
_CONCRETE = patterns.in_short(r"\d|(?<=\s)[A-ZÀ-Þ]\w|\b\w+[-_/.]\w+[-_/.\d]\w*|^[A-ZÀ-Þ]\w", CLAUSE_CHARS)
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
# states of the moment, and figures of speech
_MOVING = (
    r"(?:been |still |really |so |just )*(?:paying|doing|going|coming|getting|feeling|looking|helping|making|seen|"
    r"to)\b|(?:my|our) (?:future|motivation|world|everything|rock|inspiration|strength|life)\b"
)
_OF_THE_MOMENT = (
    r"(?i:(?:\w+ )?(?:tip|advice|aim|work|heart|mind|day|week|weekend|morning|evening|night|turn|bad|fault|pleasure|"
    r"mood|thoughts?|condolences|point|guess|hope|feelings?|trip|apologies|question|head|best|goodness|god|week)\b)"
)
# matched with case, because it contains a name
_NAMED: Sequence[_Rule] = (
    _Rule("fact", patterns.at_start_of_short(
        rf"(?:I'm|I am) (?P<rest>{_NAME})(?:[,.!]|$| and\b| from\b)", CLAUSE_CHARS), 0.85),
    _Rule("action", patterns.at_start_of_short(
        r"(?!(?:But|And|So|Then|Yes|Yeah|Just|Also|Maybe|Who|If|When|The|This|That|It|He|She|They|We|You|What|There|Here|"
        r"Nobody|Someone|Everyone|Everything|Nothing|One)\b)"
        rf"{_NAME} (?:will|has to|needs to|must|is going to) (?P<rest>(?!be\b|have\b)[a-z]+ .+)", CLAUSE_CHARS), 0.75),
    _Rule("action", patterns.at_start_of_short(
        r"(?:@[\w.-]{1,64}[,:]?|[A-ZÀ-Þ][a-zà-ÿ]{1,40}[,:]) please "
        r"(?P<rest>(?!be\b|have\b|don't\b|do not\b)[a-z]+ .+)", CLAUSE_CHARS), 0.8),
    _Rule("fact", patterns.at_start_of_short(
        rf"(?i:my|our) (?!{_OF_THE_MOMENT})(?:(?!favou?rite\b)[\w'’-]+ ){{1,5}}?"
        r"(?i:is|are|isn't|aren't|was|has|have|had|lives?|works?|runs?|starts?|started|ends?|lands?|leaves?|arrives?|costs?|uses?|goes|speaks?|moved|studies|plays?|stud(?:y|ied)|"
        r"became|got(?= (?:married|divorced|engaged|promoted|fired|hired|accepted|a)\b)) "
        rf"(?P<rest>(?!{_MOVING})(?:been )?.+)", CLAUSE_CHARS), 0.85),
    _Rule("fact", patterns.at_start_of_short(
        r"(?i:the) (?!(?i:last|first|only|next|other|whole) )(?:[\w'’./-]+ ){1,6}?(?i:is|are|runs|starts|ends|opens|"
        r"closes|lives|lies|uses|costs|has|expires|lands|leaves|belongs|listens|points) "
        r"(?P<rest>.+)", CLAUSE_CHARS), 0.75, _CONCRETE),
)  # fmt: skip
_WORD_OR_SHORT = patterns.anywhere(r"[\w'-]+")
ACTUALLY = patterns.in_short(r"^actually ", CLAUSE_CHARS, _FLAGS)


def classify(clause: str) -> tuple[MemoryType, float, bool] | None:
    clause = ACTUALLY.sub("", clause, 1)
    for rule in (*_RULES, *_NAMED):
        if rule.fits(clause):
            return rule.type, rule.confidence, rule.asks
    return None


def says_something(rest: str) -> bool:
    plain = rest.strip(" .!,;:")
    if not plain or _VAGUE.match(plain):
        return False
    words = [word for word in _WORD_OR_SHORT.findall(plain.lower()) if word not in _ARTICLES]
    first = words[0] if words else ""
    return bool(words) and first not in _ASIDE and not (first in _PASSING and _is_passing(words))


def _is_passing(words: Sequence[str]) -> bool:
    """Tell whether a state is temporary: "sick", "fine, thank you", "tired today"."""
    return len(words) == 1 or words[1] in _PASSING or words[1] in _AFTER_A_STATE
