"""What a sentence does: decide, commit, correct, ask, or only greet. By its words, without a label."""

from keepword import patterns
from keepword.compaction import sentence_forms

_FLAGS = patterns.IGNORECASE
# a decision or commitment is short, and begins with who makes it
_HEAD_CHARS = 400
_DAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow|january|february|march|april|may|june|july|"
    r"august|"
    r"september|october|november|december"
)
_BY_WHEN = patterns.in_short(
    rf"\b(?:by|until|before|on|at|till|this|next|end of) (?:the )?(?:(?:{_DAYS})|noon|midnight|week|weekend|month|eod|"
    rf"end of|\d)|\b(?:{_DAYS}|asap|right away|this (?:week|month|afternoon|evening))\b|\b\d{{1,2}}:\d\d\b",
    _HEAD_CHARS,
    _FLAGS,
)
_LEAD = (
    r"(?:(?:ok|okay|so|right|well|great|good|fine|yes|and|then|after (?:some|a long) \w+|in the end|finally)[,:]? )*"
)
_CHOSEN = (
    "decided|agreed|settled on|chose|opted|picked|went with|resolved|voted|ruled out|approved|rejected|signed off on"
)
_DECISION = patterns.at_start_of_short(
    rf"{_LEAD}(?:(?:we|the team|our team|management|the board|legal)(?:'ve| have| has)?(?: all| both| finally| just| "
    rf"now)? "
    rf"(?:{_CHOSEN})(?: (?:to|on|that|against|for|with|in favou?r of))? |"
    r"i(?:'ve| have)?(?: finally| just| now)? (?:decided|agreed|opted) (?:to|on|that|against|for) |"
    r"(?:agreed|decided|settled|decision|it's decided|it's settled)(?:: (?=\S)|[,.] (?=no [\w-]+s |never |only |from "
    r"now on|"
    r"we(?:'ll| will| won't| don't| use| go| stay| keep| do not) |let's (?!hope)))|"
    r"let's (?:go with|use|stick with|stick to|drop|switch to|adopt|ship|postpone|cancel) |"
    r"we(?:'re| are) (?:going with|dropping|switching to|moving to|migrating to|sticking with|adopting|cancell?ing) |"
    r"we(?:'ll| will|'re going to| are going to|'re not going to| won't)(?: not| never| always)? "
    r"(?:use|go with|stick with|switch to|adopt|drop|ship|support|deploy|migrate|release) |"
    r"we(?:'ve| have)? (?:switched|migrated|moved) (?:from [^,]{1,40} )?to |"
    rf"no (?:more )?[\w-]+s on (?:{_DAYS})s?\b)",
    _HEAD_CHARS,
    _FLAGS,
)
_COMMITMENT = patterns.at_start_of_short(
    rf"{_LEAD}(?:action items?\b|to-?do\b|i(?:'ll| will| am going to|'m going to| promise to| have to| need to| must) |"
    r"we(?:'ll| will| have to| need to| must) |@[\w.-]{1,64}[,:]? |"
    r"(?-i:[A-ZÀ-Þ])[\w'-]{1,30}(?:,? please | (?:will|has to|needs to|must|is going to|takes care of|promised to) )|"
    r"please (?=\w))",
    _HEAD_CHARS,
    _FLAGS,
)
_OF_MINE = patterns.at_start_of_short(rf"{_LEAD}i\b", _HEAD_CHARS, _FLAGS)
_DOES = r"(?!be\b|have\b|don't\b|do not\b|see\b|try\b|let\b|keep\b|know\b|say\b)[a-z][a-z-]+ (?!me\b)\S"
_MENTIONS = patterns.at_start_of_short(rf"{_LEAD}@[\w.-]{{1,64}}[,:]? (?:please|pls) {_DOES}", _HEAD_CHARS, _FLAGS)
_ASSIGNED = patterns.at_start_of_short(
    rf"{_LEAD}(?:action items?\b.{{0,40}}[:-] |i(?:'ll| will| promise to) {_DOES}|"
    r"(?!(?:it|this|that|he|she|they|we|you|there|what|who|which|if|when|then|so|and|but|everyone|nobody) )"
    rf"(?-i:[A-ZÀ-Þ])[\w'-]{{1,30}}(?:,? please | (?:will|has to|needs to|promised to) ){_DOES})",
    _HEAD_CHARS,
    _FLAGS,
)
_CORRECTION = patterns.at_start_of_short(
    rf"{_LEAD}(?:correction\b|actually, (?=the|my|our|we|i)|sorry, (?=the|my|our|we|it)|i (?:was wrong|misspoke)|"
    r"scratch that|update:)|"
    r".{0,200}?(?:\b(?:is|are) now (?=on\b|at\b|in\b|\d|(?-i:[A-Z]))|\b(?:moved|changed|switched) (?:from [^,]{1,40} "
    r")?to |"
    r"\bslips? (?:by [^,]{1,40} )?to |\bpostponed to |\b(?:is|was) cut to |\binstead of (?!\w+ing\b)|"
    r"\b(?:i|we|is|are|do|does) no longer |\bany ?more[.!]?\Z)",
    _HEAD_CHARS,
    _FLAGS,
)
_SUPPOSED = patterns.in_short(
    r"\b(?:if|unless|maybe|perhaps|might|could|would|should we|suppose|imagine|wish|not sure|what if|haven't|hasn't|"
    r"didn't (?:decide|agree)|yet to|thinking (?:of|about)|considering)\b",
    _HEAD_CHARS,
    _FLAGS,
)
# longer ones before what they begin with
_SMALL_WORDS = (
    r"hi|hello|hey|hiya|yo|dear|good (?:morning|afternoon|evening|night|day)|morning|thank you|thanks?|thx|ty|cheers|"
    r"much|so|very|a lot|lots|again|there|everyone|everybody|all|guys|folks|team|bye|goodbye|"
    r"see you(?: soon| later| tomorrow)?|talk (?:to you )?(?:soon|later)|take care|"
    r"have a (?:great|good|nice|lovely) (?:day|one|evening|weekend|week|time)|"
    r"got it|understood|noted|will do|sounds (?:good|great|fun|amazing)|no problem|no worries|you're welcome|you too|"
    r"my pleasure|of course|absolutely|definitely|exactly|right|true|same here|me too|welcome|congrats|congratulations|"
    r"(?:long|no) time no see|how are you(?: doing)?(?: today)?|how(?:'s| is) it going|how have you been|what's up|"
    r"what's new|nice to (?:meet|see|hear from) you|(?:it's )?(?:great|good) to (?:see|hear from) you|hope you're well|"
    rf"{sentence_forms.SMALL_WORDS}|"
    r"i(?:'m| am) (?:fine|good|ok|well|doing (?:well|good|great))|not much|bot|assistant|"
    r"ok|okay|k|sure|yes|yeah|yep|yup|no|nope|great|cool|nice|awesome|perfect|wow|lol|haha+|hehe|oh|ah|hm+|good|fine"
)
# whole sentences of such words, and names of who is addressed. Each part is atomic, and no name is such a word: what
# can be read in two ways would double the time with each repetition
_ADDRESSED = rf"(?:(?!(?:{_SMALL_WORDS})(?![\w'-]))(?-i:[A-ZÀ-Þ])[\w'-]{{1,30}}(?=\s*[,!.?]|\s*\Z)[\s,.!?:;()-]*)?"
_SMALL_TALK = patterns.at_start_of_short(
    rf"¿?(?>(?:{_SMALL_WORDS})\b[\s,.!?¿¡:;()-]*{_ADDRESSED}){{1,24}}[\s.!?:;()-]*\Z", 120, _FLAGS
)
_SMALL_CHARS = 120


def is_decision(sentence: str) -> bool:
    """Tell whether the sentence says what was decided, not what may be."""
    return (_begins(_DECISION, sentence) or sentence_forms.is_decision(sentence)) and not is_question(sentence)


def is_joint_decision(sentence: str) -> bool:
    """Tell whether it is a decision of more than the speaker alone."""
    return is_decision(sentence) and not _OF_MINE.match(_head(sentence))


def is_assignment(sentence: str) -> bool:
    """Tell whether a named person is asked to do something, or promised it, or the speaker did, by a time.

    "@karl please rotate the key" needs no time: a mention calls somebody.
    """
    head = _head(sentence)
    if is_question(sentence) or _SUPPOSED.search(head):
        return False
    if _MENTIONS.match(head):
        return True
    return _ASSIGNED.match(head) is not None and _BY_WHEN.search(head) is not None


def is_commitment(sentence: str) -> bool:
    """Tell whether somebody says, or is asked, to do something by a time; a label or a mention needs none."""
    if is_question(sentence):
        return False
    if not _begins(_COMMITMENT, sentence):
        return sentence_forms.is_commitment(sentence)
    head = _head(sentence)
    return head.lower().startswith(("action", "todo", "to-do", "@")) or _BY_WHEN.search(head) is not None


def is_correction(sentence: str) -> bool:
    return (_begins(_CORRECTION, sentence) or sentence_forms.is_correction(sentence)) and not is_question(sentence)


def is_question(sentence: str) -> bool:
    return sentence.rstrip("\"”’')*_ ").endswith(("?", "\uff1f"))


def is_small_talk(sentence: str) -> bool:
    """Tell whether the sentence only greets, thanks or agrees."""
    return len(sentence) <= _SMALL_CHARS and _SMALL_TALK.match(sentence) is not None


def _head(sentence: str) -> str:
    return sentence[:_HEAD_CHARS].replace("\u2019", "'")


def _begins(pattern: patterns.ShortStart, sentence: str) -> bool:
    head = _head(sentence)
    return pattern.match(head) is not None and _SUPPOSED.search(head) is None
