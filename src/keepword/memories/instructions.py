"""Rules for what a person asks of the agent for good: how to answer, what to use, what never to do."""

from collections.abc import Sequence

from keepword.memories.rule import Rule, rule

# "never been there" and "always running around" are no instructions
_ORDER = (
    r"(?!\w+(?:ing|ed|en)\b|(?:a|an|the|so|been|had|saw|knew|thought|felt|heard|got|did|good|on|by|in|at|with|for|up|"
    r"down|to|of|from|into|about|here|there|love|like|enjoy|feel|seem|look|happy|glad|great|nice|fun|ready|keen|more|"
    r"worth|my|our|your|too|better|best|say)\b)"
)
_LANGUAGES = (
    "english|german|french|spanish|portuguese|italian|dutch|polish|swedish|danish|norwegian|finnish|czech|greek|"
    "turkish|"
    "russian|ukrainian|chinese|mandarin|japanese|korean|arabic|hebrew|hindi|swiss german|latin"
)
_FORMS = (
    r"bullet points?|bullets|full sentences|short sentences|plain text|plain english|simple words|markdown|tables?|"
    r"json|"
    r"yaml|metric|imperial|(?:british|american) english|(?:one|two|three|a few) (?:sentences?|words|lines|paragraphs?)|"
    r"(?:the )?(?:imperative|past tense|present tense|first person|third person)|lower ?case|euros|dollars|celsius"
)
_CONVENTIONS = (
    r"(?:metric|imperial) units|(?:the )?metric system|tabs|spaces|(?:two|four|\d) spaces|type hints|snake_case|"
    r"camelcase|kebab-case|british (?:english|spelling)|american (?:english|spelling)|iso dates?|iso 8601|"
    r"(?:the )?24[- ]hour (?:clock|format|time)|formal language|plain (?:english|language)|bullet points|"
    r"simple (?:words|language)|conventional commits|dark mode|light mode|celsius|kilometers|kilometres|first names"
)
_SIZES = "short|brief|concise|terse|to the point|under|below|simple|formal|informal|polite|long|detailed|technical"
# what can be done again and again; "don't worry" is no rule
_DEEDS = (
    "use|add|write|include|deploy|push|commit|merge|call|email|mail|text|ping|send|book|schedule|mention|share|suggest|"
    "recommend|change|touch|delete|remove|ask|explain|repeat|apologi[sz]e|answer|reply|translate|summari[sz]e|install|"
    "assume|invent|guess|round|order|buy|invite|notify|format|refactor|rename|commit|print|log|store|save|post|sign|"
    "start|plan|disturb|interrupt|wake|address|shorten|abbreviate|quote|cite"
)
_REPLIES = (
    "(?:answers?|replies|responses?|explanations?|messages?|summaries|texts?|emails?|code comments|commit messages)"
)

INSTRUCTIONS: Sequence[Rule] = (
    rule("preference", rf"(?:please |only |always )*(?:answer|reply|respond|write|speak|talk|communicate)(?: to me| "
                       rf"with me| (?:all |your )?{_REPLIES}|"
                       rf" me)?(?: only| always)? (?=in (?:(?:{_LANGUAGES}|{_FORMS})\b)(?!.*\b(?:a|an|the following|"
                       rf"this)\b))",
         0.9, asks=True),
    rule("preference", rf"(?:please )?(?:always )?keep (?:your |all |the |my )?(?={_REPLIES} "
                       rf"(?:{_SIZES})\b)", 0.9, asks=True),
    rule("preference", rf"(?:please )?(?:always |only )?use (?=(?:{_CONVENTIONS})\b)(?!.*\b(?:here|this|"
                       rf"these)\b)", 0.85,
         asks=True),
    rule("preference", r"(?:please )?(?:always )?(?:use|write|prefer|choose|take) (?=[^,]{2,60}"
                       r"(?:, not (?!only\b|even\b|sure\b|because\b)|,? instead of |,? rather than "
                       r")\S)", 0.85, asks=True),
    rule("preference", rf"(?:please )?(?:don't|do not|never|stop|avoid)(?: ever)? (?=(?:{_DEEDS}|using|adding|writing|"
                       r"sending|calling|asking|apologi[sz]ing|repeating)\b \w)(?!.*\b(?:yet|now|today|tonight|unless|"
                       r"until|"
                       r"here|this|these|anything|yourself)\b)", 0.8, asks=True),
    rule("preference", rf"you (?:should|must|can) (?:always|never|only) (?={_DEEDS})", 0.8, asks=True),
    rule("preference", r"(?P<who>i|we) want (?:you to |(?=(?:your |all |the "
                       r")?" + _REPLIES + r" (?:in|to be)\b))", 0.75),
    rule("preference", r"(?:from now on|in (?:the )?future)\b,? (?!i\b|we\b|my\b|our\b)(?:please )?", 0.9, asks=True),
    rule("preference", rf"(?:please )?(?:always|never) {_ORDER}(?=[a-z]+ )", 0.9, asks=True),
    rule("preference", r"please (?:don't|do not|avoid|stop) (?=\w+)", 0.75, asks=True),
    rule("preference", r"(?:please )?(?:call me) (?=[A-Z])", 0.9, asks=True),
    rule("preference", r"when(?:ever)? you [^,]{3,60}, (?:please )?(?=[a-z]+ )", 0.8, asks=True),
)  # fmt: skip
