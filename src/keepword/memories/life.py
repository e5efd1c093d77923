"""Rules for what people tell of their lives: what changed, what they do again and again, whom they live with."""

from collections.abc import Sequence

from keepword import patterns
from keepword.memories.rule import CLAUSE_CHARS, Rule, rule
from keepword.memories.speech import LY_ADVERB

_FLAGS = patterns.IGNORECASE

_LEAD = r"(?:(?:since|in|for|at|on|after|as of) [^,.:]{2,30},? )?"
_WHO = r"(?P<who>(?:my \w+ and )?i|we)"
_BE = r"(?:'m| am|'re| are)(?: (?:now|also|still|currently|just|actually|soon))?"
_HAVE = r"(?:'ve| have)?(?: (?:just|recently|finally|already|now|also))*"
_CONTACT = (
    r"(?:(?:mobile|cell|phone|work|private|new|home) )*(?:number|phone|address|e-?mail(?: address)?|name|surname|"
    r"username|job|bank|doctor|dentist|major)"
)
_NUMBER = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_BODY = (
    "leg|arm|wrist|ankle|foot|toe|finger|hand|knee|hip|back|shoulder|collarbone|elbow|nose|jaw|rib|ribs|tooth|neck|"
    "achilles tendon|meniscus|ligament|hamstring"
)
_OPERATIONS = (
    "surgery|operation|transplant|bypass|stroke|heart attack|miscarriage|c-section|chemo|concussion|burnout|appendix|"
    "tonsils|gallbladder|wisdom teeth"
)
_POSSESSIONS = (
    "car|bike|bicycle|motorbike|motorcycle|boat|house|flat|apartment|condo|cottage|farm|van|dog|cat|puppy|kitten|horse|"
    "piano|phone|laptop|camera|telescope|company|business|shop"
)
_AGAIN = (
    r"(?:(?:every|each) (?:other )?(?:\w+day|day|morning|evening|night|week|weekend|month|year|spring|summer|autumn|"
    r"fall|winter|january|february|march|april|may|june|july|august|september|october|november|december)|"
    r"on (?:\w+days|weekends|weekdays)|(?:once|twice|(?:\w+) times) (?:a|per|every) (?:day|week|month|year)|daily|"
    r"weekly|"
    r"at (?:night|dawn)|before \w+ (?:each|every) day)\b"
)
_IN_A_YEAR = (
    r"\d|\b(?:last|next|this) (?:year|month|week|spring|summer|autumn|fall|winter)\b|\byears? ago\b|\b(?:january|"
    r"february|"
    r"march|april|may|june|july|august|september|october|november|december)\b"
)
_KIN = (
    r"(?:mother|mum|mom|father|dad|parents?|sister|brother|wife|husband|partner|fiancée?|girlfriend|boyfriend|daughter|"
    r"son|child|children|kids?|baby|twins?|aunt|uncle|cousin|nephew|niece|grandmother|grandma|grandfather|grandpa|"
    r"grandson|granddaughter|boss|manager|colleague|landlord|neighbou?r|doctor|dentist|therapist|teacher|roommate|"
    r"flatmate|dog|cat|godson|goddaughter|stepson|stepdaughter|mother-in-law|father-in-law|sister-in-law|"
    r"brother-in-law|accountant|lawyer|supervisor|assistant|co-founder)"
)
_WORN = (
    "glasses|contact lenses|hearing aids?|size|braces|an? (?:hearing aid|insulin pump|pacemaker|hijab|kippah|"
    "prosthe\\w+)"
)
_LEARNT = (
    r"(?=[A-Z]|(?:to (?:play|sail|swim|drive|code|program|knit|sew|paint|fly|ski|cook|dive|draw|sing|dance|read|"
    r"speak)\b)|"
    r"(?:the )?(?:piano|violin|cello|guitar|drums|harp|flute|sign language))"
)
# what is done for longer than a day
_UNDER_WAY = (
    rf"(?:(?:re)?moving (?:to|in with|back to|out of) (?!that\b|the next\b|another\b)|relocating to |"
    rf"learning (?-i:{_LEARNT})|"
    r"(?:studying|training|saving(?: up| money)?|preparing|practi[sc]ing|fundraising) for (?=(?:a|an|my|our|the) )"
    r"(?!the (?:next|first|test)\b)|"
    r"studying (?!for\b|(?:the|this|that|it|hard|now)\b)(?=\w+)|"
    r"writing (?=(?:a|my) (?:\w+ )?(?:novel|book|thesis|dissertation|memoir|play|screenplay|phd|blog)\b)|"
    r"expecting (?=(?:a|our|my|twins|another) ?(?:\w+ )?(?:baby|child|son|daughter|boy|girl)?\b)|"
    r"getting (?=married|divorced|remarried)|(?:re)?starting (?=(?:a|my) (?:new )?(?:job|company|business|phd|"
    r"family)\b|"
    r"(?:at|as) )|recovering from |raising (?=(?:a|my|our|two|three) )|looking after (?=my|our)|caring for (?=my|our)|"
    rf"turning (?=\d)|taking (?=(?:antibiotics|insulin|painkillers|blood thinners|statins|medication for|a sabbatical|"
    r"parental leave|maternity leave|paternity leave)\b)|"
    r"(?:planning|organi[sz]ing) (?=(?:a|an|my|our) (?:[\w'-]+ ){0,3}(?:trip|wedding|party|holiday|vacation|move|"
    r"reunion|"
    r"renovation|honeymoon)\b.*(?:\b(?:to|in|for|on)\b))|commuting )"
)

# each tells of the speaker, the team or somebody of theirs
LIFE: Sequence[Rule] = (
    rule("fact", rf"{_WHO}{_HAVE} (?:changed|updated) (?:my|our) (?={_CONTACT}(?: from [^,]+?)? to \S)", 0.85),
    rule("fact", rf"{_WHO}{_HAVE} (?:turned|reached) (?=\d{{1,3}}(?:[.!]*$|,? (?:in|on|last|this|yesterday|today|"
                 rf"just|and|so)\b))", 0.85),
    rule("fact", rf"{_LEAD}{_WHO}{_BE} {_UNDER_WAY}", 0.75),
    rule("fact", rf"{_LEAD}{_WHO}{_HAVE} (?:broke|broken|sprained|fractured|dislocated|tore|torn|injured|twisted) "
                 rf"(?=(?:my|our) (?:\w+ )?(?:{_BODY})\b)", 0.85),
    rule("fact", rf"{_WHO}{_HAVE} (?:had|having|underwent) (?=(?:[\w'-]+ ){{0,4}}(?:{_OPERATIONS})\b)", 0.8),
    rule("fact", rf"{_WHO}{_HAVE} (?:lost|quit|left|resigned from) (?=my (?:\w+ )?(?:job|position|parents)\b|"
                 r"(?-i:[A-Z]\w+)(?:$|[ .,](?!and i\b)))", 0.8),
    rule("fact", rf"{_WHO}{_HAVE} (?:sold|bought|got|adopted|inherited) (?:a|an|my|our|another) "
                 rf"(?=(?:(?!few\b)[\w'-]+ ){{0,3}}(?:{_POSSESSIONS})\b)(?!cat scan\b)", 0.8),
    rule("fact", rf"{_WHO}{_HAVE} (?:got|been|was|were) (?=(?:promoted|engaged|divorced|laid off|fired|hired|accepted|"
                 r"elected)\b|a (?:new )?(?:job|scholarship|promotion|offer from)\b(?! for you))", 0.8),
    rule("fact", rf"{_WHO}{_HAVE} (?=(?:retired(?! (?:the|a|an|my|our|it)\b)|separated|divorced|emigrated|immigrated|"
                 rf"enrolled|enlisted|converted "
                 rf"to)\b)"
                 r"(?=\w+(?: \w|[.!]*$))", 0.8),
    rule("fact", rf"{_WHO}{_HAVE} (?:finished|completed|started|began|defended) (?=(?:my|a) (?:\w+ )?(?:phd|ph\.d\.?|"
                 rf"master's|"
                 r"masters|degree|bachelor's|apprenticeship|doctorate|mba|training as|new job|internship|studies|"
                 r"residency)"
                 r"\b)", 0.8),
    rule("fact", rf"{_WHO} (?:wear|wears) (?=(?:[\w-]+ )?(?:{_WORN})\b)", 0.8),
    rule("fact", rf"{_WHO} (?:weigh|collect|breed|grow|keep) (?=\w)(?:(?<=collect )old )?(?!up\b|on\b|in\b|going\b|"
                 rf"forgetting\b|thinking\b|"
                 r"getting\b|it\b|that\b|the\b|you\b|track\b|my (?:mind|eye|eyes|head)\b|trying\b|hearing\b|seeing\b|"
                 r"as\b|a (?:list|record|note|journal|log|close)\b|\w+ing\b|old\b|more\b|into\b|asking\b)", 0.75),
    rule("preference", rf"{_WHO} (?:always |usually |generally )?(?:avoid|skip) (?=\w+)(?!it\b|that\b|this\b|them\b|"
                       rf"the\b|"
                       r"any\b|these\b|those\b|having\b|being\b|getting\b|making\b|problems?\b|confusion\b)", 0.75),
    rule("preference", rf"{_WHO}{_BE} (?:not )?(?:really |very |so )?(?:into|keen on|a (?:huge |big )?fan of|scared of|"
                       r"afraid of|terrified of|obsessed with|addicted to|passionate about|crazy about) (?!the (?:idea|"
                       r"details?|whole)\b|what\b|how\b|losing\b|missing\b|making\b|the\b|being\b|getting\b)", 0.75),
    rule("fact", rf"{_WHO} (?:can't|cannot|can not) (?=(?:swim|drive|fly|ride a bike|climb|hear|see) ?(?:[.!]*$|at "
                 rf"all\b|"
                 r"well\b|on my\b|with my\b|in my\b))", 0.8),
    rule("fact", rf"{_WHO} (?:do not|don't|never) (?=(?:fly|drive|cook|swim|dance|drink|smoke|watch tv)[.!]*$|"
                 r"(?:fly|drive|cook|swim|eat|work) (?:on|after|before|at) \w+)", 0.8),
    rule("fact", rf"{_WHO} (?:(?:always|often|sometimes|{LY_ADVERB}) )*+(?=(?:[a-z]+(?<!ed)) .*{_AGAIN})"
                 r"(?!(?:(?:really|especially|also|particularly) )?(?:have to|need to|want to|would|will|should|can|"
                 r"could|think|feel|see|like|love|do|try|"
                 r"hear|thought|saw|felt|look|"
                 r"wonder|went|got|was|were|had|did|been|am|are|is)\b)[a-z]+ ", 0.7),
    rule("fact", rf"{_WHO}(?:'ve| have) (?:also |now |both )?(?=(?:been (?:(?:a|an|in|at|with|on) |married|sober|vegan|"
                 r"vegetarian|divorced|retired|diabetic|single)|lived|worked|owned|played|taught|used|had)\b.* "
                 r"(?:for (?:over "
                 r"|almost |more than |about |nearly )?(?:\w+|a few|a couple of|two and a half) (?:years?|months|"
                 r"weeks|decades)|since "
                 r"\w+))(?!been (?:in|on) an? (?:meeting|call|hurry|loop)\b)(?!\w+ (?:a (?:bit|lot|while|great|hard|"
                 r"tough)|in (?:touch|contact)))\w+ ", 0.8),
    rule("fact", rf"{_WHO}(?:'ve got|'ve| have| have got) (?:got )?(?=(?:kids|children|twins|grandchildren|epilepsy)\b"
                 r"(?! (?:in|on) mind))", 0.75),
    rule("fact", rf"{_WHO}{_BE} (?:working on|building|developing|renovating|designing) (?=(?:a|an|my|our) (?:[\w-]+ "
                 rf"){{0,3}}"
                 r"(?:thesis|book|novel|app|startup|game|tool|website|house|podcast|dissertation|kitchen|boat|plugin|"
                 r"film|"
                 r"album|garden|library|paper)(?:[.!]*$| (?:about|for|on|in|called|that)\b))", 0.75),
    rule("fact", r"you can (?:reach|call|email|text|write to|find) me (?=(?:on|at|via|by|under) )", 0.8, asks=True),
    rule("fact", rf"{_WHO} go by (?=(?-i:[A-Z]))", 0.85),
    rule("preference", r"(?:everyone|everybody|people|my friends|friends|most people|they all) calls? me "
                       r"(?=(?-i:[A-Z]))", 0.85),
    rule("fact", rf"{_WHO}{_BE} (?=a (?:team|family|group|couple|company|household) of \w|{_NUMBER} (?:people|"
                 rf"developers|engineers)\b)", 0.8),
    rule("fact", r"we(?:'re| are)(?: both| all| now)? (?=(?:based|located|from|vegan|vegetarian|married|engaged|"
                 r"divorced|"
                 r"self-employed|open (?:from|on|until)|closed (?:on|between|in)) ?)(?=\w+(?: \w|[.!]*$))", 0.8),
    rule("fact", rf"{_WHO}{_BE} (?=(?:hosted|hosting) (?:on|at|with|by) \w)", 0.8),
    rule("fact", rf"{_WHO}{_BE} on (?=(?-i:[A-Z])[\w.+#-]+(?: \d[\w.]*| now| plan| leave)?[.!]*$|(?:an?|the) "
                 rf"(?:[\w-]+ )"
                 r"{1,3}(?:diet|plan|medication|pill|tariff|contract|visa|sabbatical|waiting list)\b|"
                 r"(?:parental|maternity|paternity|sick) leave\b|(?:insulin|antidepressants|antibiotics|statins|"
                 r"blood thinners)\b)", 0.8),
    rule("fact", rf"{_WHO}(?: all|'re all| both)? speak (?=(?:[\w]+ )?(?-i:[A-Z]))", 0.85),
    rule("fact", rf"{_WHO} (?:know|understand) (?=(?-i:[A-Z])[\w+#.]+ (?:well|very well|inside out|fluently|a "
                 rf"bit)\b)", 0.7),
    rule("fact", rf"{_WHO}{_BE} (?:new to|bad at|good at|good with|bad with|in charge of|responsible for|fluent in|"
                 rf"qualified "
                 r"as|certified in) (?!this\b|that\b|it\b|these\b|making\b|the\b)", 0.7),
    rule("fact", rf"(?:{_LEAD})(?:my|our) (?:[\w-]+ )?{_KIN}(?: [A-Z]\w+)?(?:'s| is| are|'re) (?=(?:called|"
                 rf"named) )", 0.85),
    rule("fact", rf"(?:my|our) (?:[\w-]+ )?{_KIN}(?: [A-Z]\w+)?(?:'s| is| are|'re) "
                 r"(?=(?:getting|turning|expecting|moving|visiting|allergic|vegan|vegetarian|coming|diabetic|pregnant|"
                 r"starting|retiring|graduating|marrying|learning|studying) )", 0.8),
    rule("fact", rf"(?:my|our) (?:[\w-]+ )?{_KIN}(?: [A-Z]\w+)? (?:died|passed away|was born|were born|broke|"
                 rf"suffers? from|"
                 r"prefers?|loves?|hates?|likes?|teaches|drives|owns|wants|needs|comes?|visits?|joins?|left|quit|"
                 r"adopted|"
                 r"bought|sings|collects|can't|cannot|doesn't|don't|never|only eats?|eats?) (?=\w)", 0.8),
    rule("fact", rf"(?:(?:my|our|the) (?:kids|children|twins|daughters|sons|girls|boys)) (?:are|turn) "
                 rf"(?=(?:now )?{_NUMBER}\b|allergic\b|vegan\b|vegetarian\b|in (?:kindergarten|school)\b)", 0.8),
    rule("fact", r"my (?:birthday|anniversary|name|surname|number|email|e-mail|address|size|pronouns|flight|train|"
                 r"appointment|"
                 r"wedding|interview|exam)'s (?=\w)(?!coming\b|soon\b|today\b)", 0.85),
)  # fmt: skip

_NAME = (
    r"(?P<name>(?!(?:This|That|It|He|She|They|We|You|There|Here|What|Who|Which|One|Everything|Nothing|Today)\b)"
    r"[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"
)
# matched with case, because they begin with a name
NAMED_LIFE: Sequence[Rule] = (
    Rule("fact", patterns.at_start_of_short(
        rf"{_NAME} is (?P<rest>(?i:(?:my|our) (?:[\w-]+ )?{_KIN}).*)", CLAUSE_CHARS), 0.85),
    Rule("fact", patterns.at_start_of_short(
        rf"{_NAME} is (?P<rest>(?:allergic to|intolerant|responsible for|in charge of|on (?:\w+ )?leave|vegan|"
        rf"vegetarian|"
        r"pregnant|left-handed|diabetic|deaf|blind|away until|out until|back on|back from) ?.*)", CLAUSE_CHARS), 0.8),
    Rule("fact", patterns.at_start_of_short(
        rf"{_NAME} (?:joins|joined|leaves|owns|maintains|leads|handles|takes over) (?P<rest>(?:us|the|our|my) ?.+)",
        CLAUSE_CHARS), 0.75, patterns.in_short(rf"\b(?:team|company|repo\w*|project|us|department|account|support)\b|"
                                               rf"{_IN_A_YEAR}", CLAUSE_CHARS, _FLAGS)),
)  # fmt: skip
