"""Rules that recognise a preference, a decision, a task or a fact by the words of one clause."""

from collections.abc import Sequence

from keepword import patterns
from keepword.answers import MemoryType
from keepword.memories.instructions import INSTRUCTIONS
from keepword.memories.rule import CLAUSE_CHARS, Rule, rule

_FLAGS = patterns.IGNORECASE

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
_NAME = r"(?P<name>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"


_CONCRETE = patterns.in_short(r"\d|(?<=\s)[A-ZÀ-Þ]\w|\b\w+[-_/.]\w+[-_/.\d]\w*|^[A-ZÀ-Þ]\w", CLAUSE_CHARS)
_STATES = (
    r"allergic|intolerant|(?:lactose|gluten|histamine|fructose)[- ]intolerant|vegetarian|vegan|pescatarian|diabetic|"
    r"asthmatic|coeliac|celiac|pregnant|married|"
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

_ILLNESSES = (
    "diabetes|asthma|epilepsy|migraines?|arthritis|hypertension|high blood pressure|hay fever|eczema|psoriasis|anaemia|"
    "anemia|adhd|depression|dyslexia|insomnia|tinnitus|cancer|gout|lupus|pacemaker|allergy|allergies|intolerance|"
    "heart condition|coeliac disease|celiac disease|crohn's"
)
_NO_PLURAL = r"no (?:more )?(?:[\w-]+ )?[\w-]+s (?:on|before|after|without|during|in) "
_DAYS_OF_WEEK = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|holidays?"

_RULES: Sequence[Rule] = (
    *INSTRUCTIONS,
    rule("action", r"action items?(?: for \w+)?\s*[:-]\s*", 0.9),
    rule("task", r"to-?do\s*[:-]\s*", 0.9),
    rule("decision", r"(?:decision|decided|agreed)\s*:\s*", 0.95),
    rule("task", r"(?:please |can you )?(?:remind me (?:to|about|of|that) |"
                  r"(?:don't|do not) (?:let me )?forget (?:to )?|remember to )"
                  r"(?!.*\byour(?:self|selves)?\b|"
                  r"(?:be|enjoy|have fun|take care|take some|rest|breathe)\b)", 0.9, asks=True),
    rule("task", r"(?:please )?(?:add|put) "
                  r"(?=.+ (?:to|on) (?:my|the|our) [\w -]*(?:list|calendar|agenda|backlog)\b)", asks=True),
    rule("preference", r"(?:my|our) (?:\w+ )?favou?rite (?!(?:one|part|bit|memory|moment)\b)[^,.]{1,40}? "
                        r"(?:is|are|has always been) ", 0.95),
    rule("preference", rf"{_LEAD}{_WHO} {_HOW}{_NOT}{_HOW}"
                        r"(?:prefer|like|love|enjoy|adore|hate|dislike|loathe|detest) "
                        r"(?!the (?!.*(?: of | in | when )|(?-i:[A-Z]))|"
                        r"[\"“]|the .*\b(?:style|option|idea|version|design|suggestion|name|title|slogan|recipe|"
                        r"plan)s?\b|"
                        r"the (?:sound|idea|look|challenge|thought|variety|suggestion|way)\b|to[.!]*$|"
                        r"getting\b|seeing\b|being able\b|knowing\b|having\b|hearing\b)", 0.9),
    rule("preference", rf"{_LEAD}{_WHO}(?:'d| would) (?:much )?"
                        r"(?:rather |prefer |like (?:you to|your|all|every) )(?!(?:show|tell) you\b)", 0.8),
    rule("preference", rf"{_LEAD}{_WHO} (?:can't|cannot|can not) stand ", 0.9),
    rule("preference", rf"{_WHO}(?:'m| am|'re| are) (?:not )?(?:really )?(?:a )?(?:big |huge )?fans? of ", 0.9),
    rule("preference", rf"{_LEAD}{_WHO} (?:usually|always|normally|never|generally) (?=\w+ )"
                        r"(?!\w+ed\b(?<!need)|(?:knew|thought|had|was|were|saw|felt|heard|got|did|been|really|seem|"
                        r"ever|said)\b)",
         0.75),
    rule("preference", rf"{_WHO} (?:do not|don't|never|only|no longer) (?:eat|drink|smoke) ", 0.85),
    rule("fact", rf"{_WHO} (?:can't|cannot|can not) (?:eat|drink|digest|tolerate) "
                  r"(?!.*\b(?:it|this|that|these|those|them|another|an(?:y|d) ?more|anything|all|now|today|tonight|yet|"
                  r"until|with|here)\b)", 0.8),
    rule("fact", rf"{_WHO}(?:'ve| have)? (?:just |recently |finally )?(?:stopped|quit|gave up|given up) "
                  r"(?=\w+ing\b|alcohol|meat|sugar|coffee|caffeine|gluten|dairy|cigarettes)"
                  r"(?!(?:talking|laughing|listening|thinking|looking|worrying|trying|crying|smiling|"
                  r"believing)\b)", 0.8),
    rule("preference", r"[\w -]{2,30} over [\w -]{2,30}(?=,? for me\b)", 0.7),
    rule("decision", rf"(?:{_LEAD})(?:we|i|the team|our team)(?:'ve| have|'ve now| have now)? (?:finally |just )?"
                      r"(?:(?:decided|agreed|settled)(?: (?:to go (?:with|for)|to|on|that|for|against|with))?|"
                      r"(?:chose|chosen|opted|picked|went with(?! (?:some|my|our|a) ))"
                      r"(?: (?:to|on|for|against))?) ", 0.9),
    rule("decision", rf"(?:agreed|settled|it's decided|decided)[,:.] (?=(?:{_NO_PLURAL}|never |only |from now on\b|"
                      r"we(?:'ll| will| use| go| do| don't| stay| keep)\b|let's ))", 0.85),
    rule("decision", rf"(?={_NO_PLURAL}(?:{_DAYS_OF_WEEK}))", 0.75),
    rule("decision", r"let's (?:go with|use|stick with|stick to|pick(?! a (?:date|day|time)\b)|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|in|at|on|up|each|our)\b)|drop|switch to|"
                      r"adopt|ship|postpone|choose|take) ", 0.75),
    rule("decision", r"we(?:'re| are) (?:going with|dropping|(?:switching|moving|migrating)(?: from [^,]+)? to|"
                      r"sticking with|adopting) ", 0.85),
    rule("decision", r"we(?:'ll| will|'re going to| are going to|'re not going to| are not going to| won't)"
                      r"(?: not| never| only| always)? (?:use|support|deploy|ship|migrate|host|pay|hire|build|buy|"
                      r"offer|charge) "
                      r"(?!(?:the|our|my) (?:same|best|time|skills|experience)\b)", 0.8),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?(?:switched|migrated|moved) (?:from [^,]+ )?to ", 0.85),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?replaced (?!(?:it|them|that|this|those|these)\b)"
                      r"[^,]{2,60}? (?:with|by) ", 0.8, needs=_CONCRETE),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?(?:pushed|postponed|delayed|rescheduled)"
                      r"(?: back)? (?!each\b|it\b|them\b|that\b)[^,]{2,60}? to ", 0.8, needs=_TIMED),
    rule("decision", r"we(?:'ll| will) (?:use|go with|stick with|switch to|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|at|on|up)\b)|drop|adopt) ", 0.8),
    rule("task", rf"{_LEAD}(?!we\b(?! still\b)(?!.*\b(?:{_DAYS})\b)){_WHO} (?:still |really |also )?"
                  r"(?:need to|have to|must|'ve got to|have got to) (?=\w+ \w)"
                  r"(?!be\b|say\b|admit\b|know\b|see\b|go\b|think\b|thank\b|ask\b|tell\b|understand\b|check\b)", 0.8),
    rule("task", rf"{_LEAD}{_WHO}(?:'m| am|'re| are) going to (?!bed\b|sleep\b|try\b)", 0.7, needs=_TIMED),
    rule("task", rf"{_LEAD}{_WHO}(?:'ll| will) "
                  r"(?!(?:try|also|definitely|start by|see|be|check|think|let|do|keep|catch|get back|talk|chat|look|"
                  r"make sure)\b)", 0.7, needs=_TIMED),
    rule("fact", rf"{_LEAD}{_WHO}(?:'m| am| was) (?:not |no longer )?(?:also )?(?=(?:{_STATES}))", 0.85),
    rule("fact", rf"{_LEAD}{_WHO}(?: have|'ve| had| have got|'ve got| suffer from|(?: was|'ve been| have been|'m| am) "
                  rf"(?:recently |just )?diagnosed with)(?: a| an| some)? (?=(?:[\w-]+ "
                  rf"){{0,3}}(?:{_ILLNESSES})\b)", 0.85),
    rule("fact", rf"{_WHO} (?:switched|changed) (?:from [^,]+ )?to ", 0.8),
    rule("fact", rf"{_LEAD}{_WHO} {_HOW}{_NOT}{_HOW}(?:{_LIVES}) "
                  r"(?!(?:well|hard|out|together|like|wonders|best|off|over|"
                  r"(?:a|an|one|two|three|some|several)(?: \w+)? (?:days?|weeks?|months?|years?) ago)\b)", 0.85),
    rule("fact", rf"{_LEAD}{_WHO} {_HOW}(?:have|have got) {_SOME}", 0.75),
    rule("fact", rf"{_LEAD}{_WHO}'ve got {_SOME}", 0.75),
    rule("fact", rf"{_LEAD}{_WHO} (?:do not|don't) (?:have|own|speak|use|drive) "
                  r"(?!.*\b(?:right now|with me|at hand|on hand|handy|at the moment)\b)", 0.8),
)  # fmt: skip
# of a date, an amount or a place: its value changes
_MOVES = (
    r"(?:(?:is|are|was|were|has|have|been|got|gets|now) )*(?:slips|slipped|moves|moved|shifts|shifted|changes|changed|"
    r"postponed|delayed|rescheduled|brought forward|pushed(?: back)?|cut|reduced|lowered|raised|increased|rises|rose|"
    r"drops|dropped|falls|fell|goes up|goes down|went up|went down|extended|renamed|bumped|upgraded|switched)"
)
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
_NAMED: Sequence[Rule] = (
    Rule("fact", patterns.at_start_of_short(
        rf"(?:I'm|I am) (?P<rest>{_NAME})(?:[,.!]|$| and\b| from\b)", CLAUSE_CHARS), 0.85),
    Rule("action", patterns.at_start_of_short(
        r"(?!(?:But|And|So|Then|Yes|Yeah|Just|Also|Maybe|Who|If|When|The|This|That|It|He|She|They|We|You|What|There|"
        r"Here|"
        r"Nobody|Someone|Everyone|Everything|Nothing|One)\b)"
        rf"{_NAME} (?:will|has to|needs to|must|is going to) (?P<rest>(?!be\b|have\b)[a-z]+ .+)", CLAUSE_CHARS), 0.75),
    Rule("action", patterns.at_start_of_short(
        r"(?:@[\w.-]{1,64}[,:]?|[A-ZÀ-Þ][a-zà-ÿ]{1,40}[,:]) please "
        r"(?P<rest>(?!be\b|have\b|don't\b|do not\b)[a-z]+ .+)", CLAUSE_CHARS), 0.8),
    Rule("fact", patterns.at_start_of_short(
        rf"(?i:my|our) (?!{_OF_THE_MOMENT})(?:(?!favou?rite\b)[\w'’-]+ ){{1,5}}?"
        r"(?i:is|are|isn't|aren't|was|has|have|had|turns?|retires?|graduates?|marries|gets married|lives?|works?|"
        r"runs?|starts?|started|ends?|lands?|leaves?|arrives?|costs?|uses?|goes|speaks?|moved|studies|plays?|stud(?:y|"
        r"ied)|"
        r"became|got(?= (?:married|divorced|engaged|promoted|fired|hired|accepted|a)\b)) "
        rf"(?P<rest>(?!{_MOVING})(?:been )?.+)", CLAUSE_CHARS), 0.85),
    Rule("fact", patterns.at_start_of_short(
        r"(?i:the) (?!(?i:last|first|only|next|other|whole) )(?!(?i:answer|result|solution|question|point|problem|"
        r"thing|"
        r"trick|truth|reason|catch|goal|rest|sum|total|output) )(?:[\w'’./-]+ ){1,6}?(?i:is|are|runs|starts|begins|"
        r"ends|"
        r"opens|goes live|launches|ships|takes place|closes|lives|lies|uses|costs|has|expires|lands|leaves|belongs|"
        r"listens|points) "
        r"(?P<rest>.+)", CLAUSE_CHARS), 0.75, _CONCRETE),
    # "Beta slips by a week to 26 November", "The deadline moved to 10 May"
    Rule("fact", patterns.at_start_of_short(
        rf"(?!(?i:it|its|this|that|these|those|there|he|she|they|you|i|i'm|we|who|what|which|one|nobody|everyone|back|"
        rf"then|so|and|but|also) )(?:[\w'’./-]+ ){{1,7}}?(?i:{_MOVES})(?: (?i:by|from) [^,]{{1,40}}?)? (?i:to) "
        r"(?P<rest>.+)", CLAUSE_CHARS), 0.75, _CONCRETE),
    # "Budget for ads is 12,000 euros"
    Rule("fact", patterns.at_start_of_short(
        r"(?i:[\w-]+ )?(?i:deadline|budget|launch date|due date|release date|address|phone number)(?: (?i:for|of) "
        r"[\w' -]{1,40}?)? (?i:is|was|remains|stays)(?i: now| at| on)? (?P<rest>.+)", CLAUSE_CHARS), 0.75, _CONCRETE),
    Rule("fact", patterns.at_start_of_short(
        rf"(?!(?:That|This|It|He|She|Who)\b){_NAME}(?:'s (?i:birthday|anniversary|wedding|due date|flight) is| was "
        rf"born| "
        r"turns| gets married| got married| graduates| retires)(?: on| in)? "
        r"(?P<rest>.+)", CLAUSE_CHARS), 0.8, _CONCRETE),
)  # fmt: skip
ACTUALLY = patterns.in_short(r"^actually ", CLAUSE_CHARS, _FLAGS)


def classify(clause: str) -> tuple[MemoryType, float, bool] | None:
    clause = ACTUALLY.sub("", clause, 1)
    for one in (*_RULES, *_NAMED):
        if one.fits(clause):
            return one.type, one.confidence, one.asks
    return None
