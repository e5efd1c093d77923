"""Rules that recognise a preference, a decision, a task or a fact by the words of one clause."""

from collections.abc import Sequence

from keepword import patterns
from keepword.answers import MemoryType
from keepword.memories.instructions import INSTRUCTIONS
from keepword.memories.life import LIFE, NAMED_LIFE
from keepword.memories.rule import CLAUSE_CHARS, Rule, rule

_FLAGS = patterns.IGNORECASE

_DAYS = (
    "today|tonight|tomorrow|by|before|until|next|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month"
)
_TIMED = patterns.in_short(
    r"\b(?:today|tonight|tomorrow|by (?:the|next|noon|end|\d)|before|until|at \d|next|"
    r"this (?:week|month|year|evening|afternoon|weekend)|later|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|"
    r"september|october|november|december|\d{1,2}(?:am|pm|:\d\d)|\d{1,2}(?:st|nd|rd|th)?(?: of)? may|may \d{1,2}"
    r"(?:st|nd|rd|th)?)\b",
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
_MONTHS_OR_DAYS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|"
    "Thursday|Friday|Saturday|Sunday"
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
    rule("task", r"(?:to-?do\s*[:-]\s*|(?-i:TODO) (?!lists?\b|items?\b|apps?\b|notes?\b|comments?\b|\w+ "
                 r"(?:is|are|was|were|has)\b|(?:is|are|was|were|has|in)\b))", 0.9),
    rule("task", r"(?:still )?need to (?=\w+ \w)(?!be\b|know\b|see\b|say\b)", 0.7, needs=_TIMED),
    rule("decision", r"(?:decision|decided|agreed)\s*:\s*", 0.95),
    rule("task", r"(?:please |can you )?(?:remind me (?:(?:on|at|in|by|next|tomorrow)[\w :]{0,20}? )?"
                  r"(?:to|about|of|that) |"
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
                        r"the (?:sound|idea|look|challenge|thought|variety|suggestion|way|mix|combination|balance|"
                        r"reminder)\b|to (?:keep|continue|proceed|speak|work)\b.*\byou\b|to[.!]*$|"
                        r"getting\b|seeing\b|being able\b|knowing\b|having\b|hearing\b)", 0.9),
    rule("preference", rf"{_LEAD}{_WHO}(?:'d| would) (?:much )?"
                        r"(?:rather |prefer |like (?:you to|your|all|every) )(?!(?:show|tell) you\b)", 0.8),
    rule("preference", rf"{_LEAD}{_WHO} (?:can't|cannot|can not) stand ", 0.9),
    rule("preference", rf"{_WHO}(?:'m| am|'re| are) (?:not )?(?:really )?(?:a )?(?:big |huge )?fans? of ", 0.9),
    rule("preference", rf"{_LEAD}{_WHO} (?:usually|always|normally|never|generally) (?:go (?=\w+ing\b|to ))?(?=\w+ )"
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
    rule("decision", rf"(?:{_LEAD})(?:we|i|(?:the|our) (?:team|board|committee|company|family|council))(?:'ve| have|"
                     rf"'ve now| have now)? (?:finally |just )?"
                      r"(?:(?:decided|agreed|settled)(?: (?:to go (?:with|for)|to|on|that|for|against|with))?|"
                      r"(?:chose|chosen|opted|picked|went with(?! (?:some|my|our|a) ))"
                      r"(?: (?:to|on|for|against))?) ", 0.9),
    rule("decision", rf"(?:agreed|settled|it's decided|decided)[,:.] (?=(?:{_NO_PLURAL}|never |only |from now on\b|"
                      r"we(?:'ll| will| use| go| do| don't| stay| keep| pay| charge| meet)\b|let's ))", 0.85),
    rule("decision", rf"(?={_NO_PLURAL}(?:{_DAYS_OF_WEEK}))", 0.75),
    rule("decision", r"let's (?:go with|use|stick with|stick to|pick(?! a (?:date|day|time)\b)|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|in|at|on|up|each|our)\b)|drop|switch to|"
                      r"adopt|ship|postpone|choose|take) (?!(?:the )?(?:option|choice|number) ?#?\w+(?:[.!:,]|"
                      r"$))", 0.75),
    rule("decision", r"we(?:'re| are) (?:going with|dropping|(?:switching|moving|migrating)(?: from [^,]+)? to|"
                      r"sticking with|adopting) ", 0.85),
    rule("decision", r"we(?:'ll| will|'re going to| are going to|'re not going to| are not going to| won't)"
                      r"(?: not| never| only| always)? (?:use|support|deploy|ship|migrate|host|pay|hire|build|buy|"
                      r"renew|sell|accept|"
                      r"offer|charge) "
                      r"(?!(?:the|our|my) (?:same|best|time|skills|experience)\b)", 0.8),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?(?:switched|migrated|moved) (?:from [^,]+ )?to ", 0.85),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?replaced (?!(?:it|them|that|this|those|these)\b)"
                      r"[^,]{2,60}? (?:with|by) ", 0.8, needs=_CONCRETE),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?(?:pushed|postponed|delayed|rescheduled)"
                      r"(?: back)? (?!each\b|it\b|them\b|that\b)[^,]{2,60}? to ", 0.8, needs=_TIMED),
    rule("decision", r"we(?:'ve| have)? (?:now |just |finally )?(?:dropped|got rid of|ended up with|phased out|"
                     r"abandoned|"
                      r"deprecated) (?!(?:it|them|that|this|off|out|by|the ball)\b)", 0.8, needs=_CONCRETE),
    rule("decision", r"let's not (?:use|support|deploy|ship|buy|hire|invite) (?!(?:it|this|that|them)\b)", 0.75),
    rule("decision", r"(?:it(?:'s| is| was| has been) (?:decided|agreed|settled)(?: that|:|,)|(?:i|we)(?:'ve| have)? "
                     r"made up "
                      r"(?:my|our) minds?[:,;]|the decision is(?: to|:)) ", 0.85),
    rule("decision", r"we(?:'ll| will) (?:use|go with|stick with|switch to|"
                      r"keep(?! \w+in[g'](?!\w)| (?:it|at|on|up)\b)|drop|adopt) ", 0.8),
    rule("task", rf"{_LEAD}(?!we\b(?! still\b)(?!.*\b(?:{_DAYS})\b)){_WHO}(?: (?:still |really |also )?"
                  r"(?:need to|have to|must(?! have\b)|have got to)|'ve (?:still )?got to) (?=\w+ \w)"
                  r"(?!be\b|say\b|mention\b|admit\b|know\b|see\b|go\b|think\b|thank\b|ask\b|tell\b|understand\b|"
                  r"check\b)", 0.8),
    rule("task", rf"{_LEAD}{_WHO}(?:'m| am|'re| are) going to (?!bed\b|sleep\b|try\b)", 0.7, needs=_TIMED),
    rule("task", rf"{_LEAD}{_WHO}(?:'ll| will) "
                  r"(?!(?:try|also|definitely|start by|see|be|check|think|let|do|keep|catch|get back|talk|chat|look|"
                  r"make sure)\b)", 0.7, needs=_TIMED),
    rule("fact", rf"{_LEAD}{_WHO}(?:'m| am| was) (?:not |no longer )?(?:also )?(?=(?:{_STATES}))", 0.85),
    rule("fact", rf"{_LEAD}{_WHO}(?: have|'ve| had| have got|'ve got| suffer from|(?: was|'ve been| have been|'m| am) "
                  rf"(?:recently |just )?diagnosed with)(?: a| an| some)? (?=(?:[\w-]+ "
                  rf"){{0,3}}(?:{_ILLNESSES})\b)", 0.85),
    rule("fact", r"we (?:pay|charge|earn|bill) (?=.*\d)(?!attention\b|sure\b)", 0.75),
    rule("fact", rf"{_WHO}(?:'re| are|'m| am) (?:now |currently |mostly )?(?:using|running) "
                 rf"(?=(?-i:[A-Z])[\w.+#-]+)", 0.75),
    rule("fact", r"the (?:client|customer)s? (?:wants?|pays?|needs?|prefers?|insists? on|expects?) (?!to know\b|it\b|"
                 r"us\b)", 0.75),
    rule("fact", rf"{_WHO} (?:switched|changed) (?:from [^,]+ )?to ", 0.8),
    rule("fact", rf"{_LEAD}{_WHO} {_HOW}{_NOT}{_HOW}(?:{_LIVES}) "
                  r"(?!(?:well|hard|out|together|like|wonders|best|off|over|"
                  r"(?:a|an|one|two|three|some|several)(?: \w+)? (?:days?|weeks?|months?|years?) ago)\b)", 0.85),
    rule("fact", rf"{_LEAD}{_WHO} {_HOW}(?:have|have got) {_SOME}", 0.75),
    rule("fact", rf"{_LEAD}{_WHO}'ve got {_SOME}", 0.75),
    rule("fact", rf"{_LEAD}{_WHO} (?:do not|don't) (?:have|own|speak|use|drive) "
                  r"(?!(?:a|any|an?y) (?:preferred|specific|particular|preference|strong)\b|(?:much|enough|any)\b)"
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
    r"to|a (?:huge|big|great) (?:help|deal|inspiration|relief))\b|(?:my|our) (?:future|motivation|world|everything|"
    r"rock|inspiration|strength|life)\b"
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
        rf"{_NAME}(?: will| has to| needs to| must| is going to|'s going to|'ll) (?P<rest>(?!be\b|have\b)[a-z]+ "
        rf".+)", CLAUSE_CHARS), 0.75),
    Rule("action", patterns.at_start_of_short(
        r"(?:@[\w.-]{1,64}[,:]?|(?!(?:Oui|Si|Sì|Sí|Ja|Nein|Non|No|Ok|Okay|Yes|Thanks|Sure|Great|Hello|Hi|Hey|Alright|"
        r"Perfect|Good|Sorry|"
        r"Actually|Fine|Sim|Certo|Well|So|Then|Now|Also|And|But|Again|First|Next|"
        r"Finally)\b)[A-ZÀ-Þ][a-zà-ÿ]{1,40}[,:]) please "
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
        r"ratio|"
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
    # a label and its value, as people note them
    Rule("fact", patterns.at_start_of_short(
        r"(?i:(?:new |final )?(?:deadline|budget|launch date|due date|release date|project name|code ?name|go-live|"
        r"venue|phone number)): (?P<rest>.+)", CLAUSE_CHARS), 0.75,
        patterns.in_short(rf"\d|\b(?:{_MONTHS_OR_DAYS})\b|^(?!(?i:today|tomorrow|next|this|end|asap|tbd|tba|n/a|"
                          rf"none)\b)"
                          r"[A-ZÀ-Þ][\w.-]*(?: [A-ZÀ-Þ][\w.-]*){0,2}[.!]*$", CLAUSE_CHARS)),
    # "The database is called orders"
    Rule("fact", patterns.at_start_of_short(
        r"(?i:the) (?:[\w'-]+ ){1,4}?(?i:is|are) (?i:called|named) (?P<rest>\w+[.!]*$)", CLAUSE_CHARS), 0.75),
    # "Budget for ads is 12,000 euros"
    Rule("fact", patterns.at_start_of_short(
        r"(?i:[\w-]+ )?(?i:deadline|budget|launch date|due date|release date|address|phone number|stand-?up|staging|"
        r"production|retro|kick-?off|check-?in|demo day|go-live)(?: (?i:for|of) "
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
    for one in (*_RULES, *_NAMED, *LIFE, *NAMED_LIFE):
        if one.fits(clause):
            return one.type, one.confidence, one.asks
    return None
