"""The attribute that a memory gives a value for: two values of one attribute can't both be true."""

from dataclasses import dataclass
from functools import lru_cache

from keepword import patterns
from keepword.statements.forms import FORM_CHARS, find_value
from keepword.statements.meaning import bare, meaning

# longer texts give no single value
SLOT_CHARS = 500
_FLAGS = patterns.IGNORECASE

# what has no age
_SINGLE_THINGS = (
    "name|birthday|birth date|age|address|phone number|phone|number|e-?mail(?: address)?|time ?zone|job|profession|"
    "deadline|budget|port|version|database|language|framework|title|role|office|home town|hometown|nationality|salary|"
    "username|user name|capital|launch date|due date|release date|price|location|venue|size|region"
)
_SINGLE = rf"{_SINGLE_THINGS}|employer|boss|manager|wife|husband|partner|doctor|dentist|landlord|owner|maintainer"
_ABOUT = r"(?P<about>(?:the|our|my|[\w.@'-]+'s) [\w' /.-]{1,60}?)"
_HOW = r"(?P<how> (?:on(?: port)?|at|in|by|called|named|spelled|due(?: on)?|planned for|scheduled for|set for))?"
_ATTRIBUTE = patterns.at_start_of_short(
    rf"{_ABOUT} (?:(?:is|are) )?(?P<verb>is|are|was|starts|begins|ends|runs|lies|lands|leaves|opens|closes|expires|"
    rf"costs|listens|points|takes place|goes live|launches|ships)(?: now| currently)?{_HOW}(?: to)? (?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
# without an article: "Budget for ads is 12,000 euros", "Deadline: 4 May"
_NOTED = patterns.at_start_of_short(
    r"(?P<about>(?:[\w-]+ )?(?:deadline|budget|launch date|due date|release date|address|phone number|stand-?up|"
    r"staging|"
    r"production|retro|kick-?off|go-live|venue|project name|code ?name)"
    r"(?: (?:for|of) [\w' -]{1,40}?)?)(?: (?P<verb>is|was|remains|stays)(?: now)?(?: at| on)?|:) (?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
# without an article: "Beta slips to 26 November"
_BARE_ABOUT = r"(?P<about>[\w.@'/-]+(?: [\w.@'/-]+){0,5}?)"
_CHANGING = (
    "moves?|moved|slips?|slipped|shifts?|shifted|changes|changed|switches|switched|postponed|delayed|rescheduled|"
    "brought forward|pushed(?: back)?|cut|reduced|lowered|raised|raises|increases|increased|rises|rose|drops|dropped|"
    "falls|fell|grows|grew|went (?:up|down)|goes (?:up|down)|extended|renamed|bumped|upgraded|updated|corrected|set"
)
_CHANGE = patterns.at_start_of_short(
    rf"{_BARE_ABOUT} (?:(?:is|are|was|were|has|have|had|been|being|got|gets|now|just) )*(?:{_CHANGING})(?: out)?"
    r"(?: (?:by|from) [^,]{1,40}?)? to (?:on |at )?(?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_NOW = patterns.in_short(r"\b(?:is|are) now\b", SLOT_CHARS, _FLAGS)
# "ann changed their number to 555-2"
_CONTACTS = (
    r"(?:(?:mobile|cell|phone|work|private|new|home) )*(?:number|phone|address|e-?mail(?: address)?|name|surname|"
    r"username|job|bank|doctor|dentist)"
)
_CHANGED = patterns.at_start_of_short(
    rf"(?P<who>.+?) (?:(?:has|have|just|recently|now) )*(?:changed|updated) (?:their|our|my) (?P<what>{_CONTACTS})"
    r"(?: from [^,]+?)? to (?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
# "Lena is ann's manager"
_ROLE = patterns.at_start_of_short(
    r"(?P<value>[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?) is (?P<now>now )?(?P<who>[\w.@-]+'s|our) (?P<new>new )?"
    r"(?P<what>manager|boss|(?P<spouse>wife|husband)|partner|doctor|dentist|landlord|landlady|supervisor|therapist)"
    r"(?P<late> now)?$",
    SLOT_CHARS,
)
_AGE = patterns.at_start_of_short(
    r"(?P<who>(?!the |our |my )[\w.@-]+(?:'s [\w -]{1,40}?)?) (?:(?:has|just|now|is|are|recently) )*(?:turned|"
    r"turning|turns|is|will be)(?: now| already)? (?P<value>1[0-2]\d|\d{1,2})(?: years old)?"
    r"(?:$|,? (?:in|on|last|this|next|today|now|tomorrow)\b.*)",
    SLOT_CHARS,
    _FLAGS,
)
_PHONE = patterns.in_short(
    r"(?:\b(?:tele)?phone|\b(?:mobile|cell)(?: phone)?|(?<='s)|(?<=our)|(?<=my)) number$",
    SLOT_CHARS,
    _FLAGS,
)
_BARE_PHONE = patterns.in_short(r"(?<='s) phone$", SLOT_CHARS, _FLAGS)
# of a phone that is no thing
_DIGITS = patterns.at_start(r"[+(]{0,2}\d(?:[ ()/.-]{0,2}\d){2,}+")
_EMAIL = patterns.in_short(r"\be-?mail(?: address)?$", SLOT_CHARS, _FLAGS)
# before a sentence that does not name its speaker, and before a label
_SAID_BY = patterns.in_short(r"^[\w.@-]{1,60}: (?=[A-Z])|^(?:decision|decided|update): ", SLOT_CHARS, _FLAGS)
_WHOSE = patterns.in_short(r"^(?:the|our|my|[\w.@'-]+'s) ", SLOT_CHARS, _FLAGS)
_RENEWED = patterns.in_short(
    r"\b(?:the|our|new|newer|current|latest|revised|updated|final|actual|correct|right|real) ", SLOT_CHARS, _FLAGS
)
_SINGLE_THING = patterns.in_short(rf"'s (?:[\w-]+ )*(?:{_SINGLE_THINGS})$", SLOT_CHARS, _FLAGS)
_SINGLE_NOUN = patterns.in_short(rf"favou?rite .|\b(?:{_SINGLE})(?: (?:for|of) .+)?$", SLOT_CHARS, _FLAGS)
# of an office or a budget: no value that another one ends
_STATE = patterns.at_start(
    r"(?:closed|open|full|empty|busy|quiet|big|small|nice|great|old|too|very|really|so|not|tight|being|getting|always)\b",
    _FLAGS,
)
_ENDING = frozenset({"ends", "closes", "expires", "costs", "leaves", "lands"})
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight|next \w+|"
    r"january|february|march|april|may|june|july|august|september|october|november|december"
)
_KINDS = (
    ("clock", patterns.at_start_of_short(r"\d{1,2}(?::\d\d|\s?[ap]m\b| o'clock)|noon\b|"
                                         r"midnight\b", SLOT_CHARS, _FLAGS)),
    ("day", patterns.at_start_of_short(
        rf"(?:the )?(?:{_DAY})\b|\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_DAY})\b",
        SLOT_CHARS, _FLAGS)),
    ("place", patterns.at_start_of_short(
        r"https?://|[\w-]+(?:\.[\w-]+)+(?:[:/]\S*)?$|[/~][\w./-]+$|\S+@\S+$", SLOT_CHARS, _FLAGS)),
    ("amount", patterns.at_start_of_short(r"(?:[#$€£]|port )?\d", SLOT_CHARS, _FLAGS)),
)  # fmt: skip
_UNIT = patterns.at_start_of_short(r"[#$€£]?[\d.,]+[km%]? ?(?P<unit>[a-z]+)?", SLOT_CHARS, _FLAGS)
_HOME = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:now )?lives? in|(?:has |have )?(?:moved|relocated) (?:from [^,]+? )?to|is (?:now )?based in) "
    r"(?P<value>[^,]+)",
    SLOT_CHARS,
    _FLAGS,
)
_WORK = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:(?:now )?works?|started(?: working| a new job)?|(?:has )?got a (?:new )?job) (?P<how>at|for|"
    r"as) (?P<value>[^,]+)",
    SLOT_CHARS,
    _FLAGS,
)
_USE = patterns.at_start_of_short(
    r"(?P<who>.*?)\b(?:use|uses|using|go with|going with|switch(?:ed)? to) (?P<value>.+?) (?:for|as) (?P<what>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_PREFER = patterns.at_start_of_short(
    r"(?P<who>.+?) prefers? (?P<value>.+?) (?:over|to|than) (?P<other>.+)", SLOT_CHARS, _FLAGS
)
_MANNER = patterns.at_start_of_short(
    r"(?P<who>.+?) asks: (?:(?:always|only|from now on),? )*(?:answer|reply|respond|write|speak|talk)"
    r"(?: (?:to|with) \w+| them)?(?: only)? in (?P<value>[\w ]+?)(?: from now on| please| only| always)*"
    # "German, French or English" names no single one
    r"(?:$|,(?! \w+,? (?:or|and)\b)| (?:because|since)\b)",
    SLOT_CHARS,
    _FLAGS,
)
_LENGTH = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:asks: (?:(?:always|from now on),? )*keep (?:\w+ )?|prefers |wants |would like |likes "
    r")(?P<value>short|brief|concise|long|"
    r"detailed|terse)? ?(?:answers|replies|responses)(?P<after> (?:short|brief|concise|long|detailed|terse))?$",
    SLOT_CHARS,
    _FLAGS,
)
_CALL = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:asks: (?:always |from now on,? )*call them|wants to be called|"
    r"goes by(?! (?:bus|car|train|tram|bike|bicycle|taxi|cab|plane|boat|ferry|ship|metro|subway|underground|foot)\b))"
    r" (?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_NAMED = ((_HOME, "home"), (_WORK, "work"), (_CALL, "call"), (_MANNER, "manner"), (_AGE, "age"))


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute and its value. `about` and `kind` are what another wording of the attribute is compared by.

    `adds`: it may be a further value, which ends no other: "Globex is our partner".
    """

    key: str
    value: str
    about: str = ""
    kind: str = ""
    changes: bool = False
    adds: bool = False


@lru_cache(maxsize=20_000)
def slot(text: str) -> Slot | None:
    """Return the attribute that a memory gives a value for, and the value; None if it may have several values."""
    plain = _SAID_BY.sub("", bare(text)) if len(text) <= SLOT_CHARS else text
    if len(plain) > SLOT_CHARS or meaning(plain).denies:
        return None
    for pattern, name in _NAMED:
        if (match := pattern.match(plain)) and not _is_of_a_thing(name, match):
            parts = match.groupdict()
            return Slot(_key(name, parts["who"], parts.get("how", "")), _key(parts["value"]))
    if match := _LENGTH.match(plain):
        return Slot(_key("length", match["who"]), _key(match["value"] or match["after"] or ""))
    if match := _PREFER.match(plain):
        pair = sorted((_key(match["value"]), _key(match["other"])))
        return Slot(_key("prefer", match["who"], *pair), _key(match["value"]))
    if match := _USE.match(plain):
        return Slot(_key("use", match["what"]), _key(match["value"]))
    return _foreign(text) or _owned(plain) or _attribute(plain)


def _is_of_a_thing(name: str, match: patterns.Match) -> bool:
    """Tell whether it is said of a thing: "the standup moved to 10:00" tells no home, "ann's budget is 900" no age."""
    return bool((name == "home" and _kind(match["value"])) or (name == "age" and _SINGLE_THING.search(match["who"])))


def _owned(plain: str) -> Slot | None:
    """Return the attribute of "ann changed their number to 555-2" and "Lena is ann's manager"."""
    if match := _ROLE.match(plain):
        about, changes = f"{match['who']} {match['what']}", any(match.group("now", "new", "spouse", "late"))
    elif match := _CHANGED.match(plain):
        about, changes = _one_name(f"{match['who']}'s {match['what']}", match["value"]), True
    else:
        return None
    return Slot(_key("the", about), _key(match["value"]), about, _kind(match["value"]), changes, not changes)


def _one_name(about: str, value: str) -> str:
    """Return an attribute of several names under one: "mobile number" is a phone number, a phone that is one, too."""
    named = _PHONE.sub(" phone number", about)
    if _DIGITS.match(value):
        named = _BARE_PHONE.sub(" phone number", named)
    return _EMAIL.sub("email", named)


def _foreign(text: str) -> Slot | None:
    found = find_value(bare(text)) if len(text) <= FORM_CHARS else None
    return Slot(_key(found[0], found[1]), _key(found[2])) if found else None


def _attribute(plain: str) -> Slot | None:
    change = _CHANGE.match(plain)
    match = change or _ATTRIBUTE.match(plain) or _NOTED.match(plain)
    if not match:
        return None
    parts = match.groupdict()
    about, value, verb, how = parts["about"], parts["value"], parts.get("verb") or "", (parts.get("how") or "").strip()
    kind = _kind(value)
    bare_about = _one_name(_RENEWED.sub("", about), value)
    changes = change is not None or bool(_NOW.search(plain))
    if _SINGLE_NOUN.search(_WHOSE.sub("", about, 1)) and not _STATE.match(value):
        return Slot(_key("the", bare_about), _key(value), bare_about, kind, changes)
    if how in {"called", "named", "spelled"}:
        return Slot(_key("named", bare_about), _key(value), bare_about, "name")
    if not kind:
        return None
    ending = verb.lower() if verb.lower() in _ENDING else ""
    return Slot(_key("of", bare_about, ending, kind), _key(value), bare_about, kind + ending, changes)


def _kind(value: str) -> str:
    kind = next((name for name, pattern in _KINDS if pattern.match(value)), "")
    unit = _UNIT.match(value) if kind == "amount" else None
    return f"{kind} {unit['unit'] or ''}".strip() if unit else kind


def _key(*parts: str) -> str:
    return " | ".join(" ".join(meaning(part).stems) for part in parts if part)
