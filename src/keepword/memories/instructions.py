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
    "give me|show me|sugarcoat|lecture|flatter|patroni[sz]e|start|plan|disturb|interrupt|wake|address|shorten|"
    "abbreviate|quote|cite"
)
# behind "going forward": what begins in another way tells what will be
_IMPERATIVE = (
    rf"(?:always|never|only|no|don't|do not|{_DEEDS}|respond|speak|talk|communicate|keep|be|make|put|give|show|tell|"
    r"treat|take|choose|prefer|avoid|stop|skip|let|try|check|run|read|say|refer|leave|remember|consider|focus|limit|"
    r"prioriti[sz]e|provide|follow|respect|ensure|verify|test|search|convert|track|tag|label|list|omit|drop|stick|"
    r"switch|call|draft|attach|insert|include|propose|offer|look|think|work|act|assign|link|name|set)\b"
    r"(?! (?:is|are|was|were|will|of|goes?|results?)\b)"
)
# who or what a statement is about
_SUBJECT = (
    r"(?:i|we|my|our|the|an?|this|that|these|those|there|it|its|he|she|his|her|they|their|everyone|everybody|nobody|"
    r"(?-i:[A-Z])[\w-]+ (?:is|are|will|has|works|leads|runs|owns|handles|reports|manages))\b"
)
_REPLIES = (
    "(?:answers?|replies|responses?|explanations?|messages?|summaries|texts?|emails?|code comments|commit messages)"
)

_UNWANTED = (
    "emojis?|emoticons|small talk|jargon|bullet points|bullets|tables|markdown|apologies|disclaimers|exclamation marks|"
    "headings|headlines|buzzwords|slang|abbreviations|code comments|footnotes|flattery|hashtags|anglicisms|semicolons|"
    "em dashes|swear words|long answers|long explanations|follow-up questions|filler"
)
_MEASURES = (
    "prices|amounts|dates|times|units|measurements|distances|temperatures|answers|replies|weights|lengths|code "
    "examples|"
    "examples|quantities"
)

INSTRUCTIONS: Sequence[Rule] = (
    rule("preference", rf"(?:please |only |always )*(?:answer|reply|respond|write|speak|talk|communicate)(?: to me| "
                       rf"with me| (?:all |your )?{_REPLIES}|"
                       rf" me)?(?: only| always)? (?=in (?:(?:{_LANGUAGES}|{_FORMS})\b(?! language\b))(?!.*\b(?:a|an|"
                       rf"the following|"
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
    rule("preference", rf"(?:from now on|in (?:the )?future)\b,? (?!{_SUBJECT})(?:please )?", 0.9, asks=True),
    rule("preference", rf"(?:please )?(?:always|never) {_ORDER}(?=[a-z]+ )", 0.9, asks=True),
    rule("preference", rf"(?:please,? )?(?=(?:no|no more|avoid|stop|skip|without|less|fewer) (?:any |the "
                       rf")?(?:{_UNWANTED})\b"
                       rf"(?:,? please| in (?:your|my|the) \w+| any ?more| from now on|,? |[.!]*$))", 0.85, asks=True),
    rule("preference", r"(?:please )?(?:always )?be (?=(?:more |less |very )?(?:brief|concise|direct|blunt|honest|"
                       r"polite|formal|"
                       r"informal|specific|critical|precise|strict|patient)(?: and \w+)? (?:with me|in your \w+|to "
                       r"me)\b)",
         0.85, asks=True),
    rule("preference", r"(?:please )?stop (?=(?:apologi[sz]ing|rambling|flattering|repeating "
                       r"yourself)[.!]*$)", 0.85, asks=True),
    rule("preference", rf"(?P<who>i|we) (?:do not|don't) (?:want|need|like) (?:any |the )?(?=(?:{_UNWANTED})\b|"
                       r"you to |explanations,)", 0.8),
    rule("preference", rf"(?P<who>i|we)(?:'d like| would like|'d prefer| want| need) (?=(?:only |just |all |your "
                       rf")?(?:{_SIZES})? ?"
                       rf"{_REPLIES}(?:[.!]*$| in | with | without )|(?:all )?(?:the )?(?:{_MEASURES}) in )"
                       r"(?!.*\b(?:this|these)\b)", 0.85),
    rule("preference", rf"(?:please )?(?:give me |show me |put |write )?(?:all )?(?:the )?(?=(?:{_MEASURES}) in "
                       r"[\w -]{2,30},? (?:please|always|only)[.!]*$)", 0.85, asks=True),
    rule("preference", rf"(?=(?:{_SIZES}) {_REPLIES}(?:,? (?:please|only)\b))", 0.85, asks=True),
    rule("preference", rf"(?:please |let's |you can |only )*(?:speak|talk|write|chat) (?:in )?(?=(?:{_LANGUAGES})(?: "
                       rf"(?:with|to) "
                       r"me|[.!]*$))", 0.85, asks=True),
    rule("preference", r"(?:please )?(?:address me as|you can call me|sign (?:my|all my) (?:e-?mails|letters|"
                       r"messages|texts) "
                       r"(?:with|as)) (?=(?-i:[A-Z]))", 0.85, asks=True),
    rule("preference", r"(?:please )?explain (?:things|everything) (?=(?:like|as if|in|with|simply|to "
                       r"me) ?)", 0.8, asks=True),
    rule("preference", r"(?:going forward|from here on|from today on|as of (?:now|today)),? "
                       rf"(?=please |{_IMPERATIVE})(?:please )?", 0.85, asks=True),
    rule("preference", rf"(?:please )?(?:let's )use (?=(?:{_CONVENTIONS})\b)(?!.*\b(?:here|this|these)\b)", 0.85,
         asks=True),
    rule("preference", r"(?:please )?(?:don't|do not|never) (?=(?:suggest|recommend|offer|give me|send me|serve|"
                       r"propose) "
                       r"(?:me )?(?:anything|something|recipes|dishes|places) (?:with|containing|made of|that (?:has|"
                       r"contains)) )",
         0.85, asks=True),
    rule("preference", r"please (?:don't|do not|avoid|stop) (?=\w+)", 0.75, asks=True),
    rule("preference", r"(?:please )?(?:call me) (?=[A-Z])", 0.9, asks=True),
    rule("preference", r"when(?:ever)? you [^,]{3,60}, (?:please )?(?=[a-z]+ )", 0.8, asks=True),
)  # fmt: skip
