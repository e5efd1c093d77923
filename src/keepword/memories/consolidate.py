"""Consolidates new memories with known ones: equal ones merge, contradictions supersede. Deterministic."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from uuid import UUID, uuid5

from keepword import patterns
from keepword.answers import MemoryType
from keepword.embedding.words import stem, surfaces
from keepword.ids import new_id
from keepword.language.names import fold
from keepword.memories.extracted import ExtractedMemory

# two sentences are the same if the longer one shares this many of its words with the shorter
_NEAR = 0.75
# a correction replaces a memory with which it shares this many of the words of both
_ALIKE = 0.5
# longer texts give no single value
SLOT_CHARS = 500
# the longest text that is compared; a memory is far shorter
_MEANING_CHARS = 128 * 1024
_FLAGS = patterns.IGNORECASE

_ASIDE = patterns.anywhere(r" \(said on [\d-]+\)")
_INSTEAD = patterns.in_short(
    r",? (?:and )?\b(?:not|no longer)\b (?:on |at |in |with )?[\w' -]{1,40}(?=[.,]|$| for\b)", _MEANING_CHARS, _FLAGS
)
_SHORT_NOT = patterns.in_short(
    r"\b(?:(?:does|do|did|is|are|was|has|have|ca|can|wo|would)n't|cannot)\b", _MEANING_CHARS, _FLAGS
)
_NEGATIONS = frozenset({"not", "never"})
_FILLERS = frozenset(
    "a an the really very now any more anymore please just also still currently does do did is are am be been "
    "has have had "
    "always usually actually absolutely truly of that to".split()
)
_SAME = {
    "loves": "like", "love": "like", "likes": "like", "enjoys": "like", "enjoy": "like", "adores": "like",
    "like": "like", "favorite": "favourit", "favourite": "favourit", "colour": "color", "rather": "prefer",
    "would": "", "named": "call", "called": "call",
}  # fmt: skip
_AGAINST = {
    "hates": "like",
    "hate": "like",
    "dislikes": "like",
    "dislike": "like",
    "loathes": "like",
    "detests": "like",
}
_NAMES_OLD = patterns.anywhere(r",? (?:and )?(?:not|no longer) ")
_ADDS_OLD = patterns.anywhere(r", (?:and )?(?:not|no longer) ", _FLAGS)
_HAS_DIGIT = patterns.anywhere(r"\d")
_STAND = patterns.anywhere(r"\b(?:can't|cannot|can not) stand\b", _FLAGS)
_GONE = patterns.anywhere(r"\bno longer\b", _FLAGS)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A sentence without stop words: its stems in order, and whether it is negated."""

    stems: tuple[str, ...]
    denies: bool

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{'-' if self.denies else '+'}{' '.join(self.stems)}".encode()).digest()


@lru_cache(maxsize=20_000)
def meaning(text: str) -> Meaning:
    """Return the meaning of a memory's text; equal meanings have equal digests."""
    plain = _GONE.sub("not", _STAND.sub("not like", _bare(text)))
    words = surfaces(fold(_SHORT_NOT.sub("not", plain)))
    denies = sum(word in _NEGATIONS or word in _AGAINST for word in words) % 2 == 1
    stems = [_stem(word) for word in words if word not in _FILLERS and word not in _NEGATIONS]
    return Meaning(tuple(one for one in stems if one), denies)


def _stem(word: str) -> str:
    known = _AGAINST.get(word, _SAME.get(word))
    return known if known is not None else stem(word) or word


def _bare(text: str) -> str:
    """Return the text without the time when it was said, and without the old value that a correction names."""
    text = _ASIDE.sub("", text[:_MEANING_CHARS].replace("’", "'")).rstrip(" .!")
    shorter = _INSTEAD.sub("", text, count=1)
    # "ann does not live there" is a negation; "on Thursday, not on Friday" only adds the old value
    return shorter if shorter != text and _NAMES_OLD.search(text) and _is_added(text) else text


def _is_added(text: str) -> bool:
    return bool(_ADDS_OLD.search(text))


_SINGLE = (
    "name|birthday|birth date|age|address|phone number|number|e-?mail(?: address)?|time ?zone|job|profession|employer|"
    "boss|manager|deadline|budget|password|port|version|database|language|framework|title|role|office|home town|"
    "hometown|nationality|salary|username|user name|capital|launch date|due date|release date|wife|husband|partner|"
    "doctor|dentist|landlord"
)
_ATTRIBUTE = patterns.at_start_of_short(
    r"(?P<about>(?:the|our|my|[\w.@'-]+'s) [\w' /-]{1,60}?) "
    r"(?P<verb>is|are|was|starts|ends|runs|lands|leaves|opens|closes|expires|costs|listens)"
    r"(?P<how> (?:on(?: port)?|at|in|by|called|named|spelled|due(?: on)?))? (?P<value>.+)",
    SLOT_CHARS,
    _FLAGS,
)
_WHOSE = patterns.in_short(r"^(?:the|our|my|[\w.@'-]+'s) ", SLOT_CHARS, _FLAGS)
_SINGLE_NOUN = patterns.in_short(rf"favou?rite .|(?:{_SINGLE})(?: (?:for|of) .+)?$", SLOT_CHARS, _FLAGS)
_MEASURE = patterns.in_short(
    r"^[#$€£]?\d|\b\d{1,2}:\d\d\b|^(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|"
    r"^(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    SLOT_CHARS,
    _FLAGS,
)
_HOME = patterns.at_start_of_short(
    r"(?P<who>.+?) (?:lives? in|moved to|is based in) (?P<value>[^,]+)", SLOT_CHARS, _FLAGS
)
_WORK = patterns.at_start_of_short(r"(?P<who>.+?) works? (?P<how>at|for|as) (?P<value>[^,]+)", SLOT_CHARS, _FLAGS)
_USE = patterns.at_start_of_short(
    r"(?P<who>.*?)\b(?:use|uses|using|go with|going with) (?P<value>.+?) (?:for|as) (?P<what>.+)", SLOT_CHARS, _FLAGS
)
_PREFER = patterns.at_start_of_short(
    r"(?P<who>.+?) prefers? (?P<value>.+?) (?:over|to|than) (?P<other>.+)", SLOT_CHARS, _FLAGS
)
_MANNER = patterns.at_start_of_short(
    r"(?P<who>.+?) asks: (?:always |from now on,? )*(?P<what>answer|reply|respond|write|speak|"
    r"talk)(?: to \w+)? in (?P<value>[\w ]+)",
    SLOT_CHARS,
    _FLAGS,
)
_CALL = patterns.at_start_of_short(
    r"(?P<who>.+?) asks: (?:always |from now on,? )*call them (?P<value>.+)", SLOT_CHARS, _FLAGS
)


@lru_cache(maxsize=20_000)
def slot(text: str) -> tuple[str, str] | None:
    """Return the attribute that a memory gives a value for, and the value; None if it may have several values."""
    plain = _bare(text)
    if len(plain) > SLOT_CHARS or meaning(text).denies:
        return None
    for pattern, name in ((_HOME, "home"), (_WORK, "work"), (_CALL, "call"), (_MANNER, "manner")):
        if match := pattern.match(plain):
            parts = match.groupdict()
            return _key(name, parts["who"], parts.get("how", ""), parts.get("what", "")), _key(parts["value"])
    if match := _PREFER.match(plain):
        pair = sorted((_key(match["value"]), _key(match["other"])))
        return _key("prefer", match["who"], *pair), _key(match["value"])
    if match := _USE.match(plain):
        return _key("use", match["what"]), _key(match["value"])
    return _attribute(plain)


def _attribute(plain: str) -> tuple[str, str] | None:
    match = _ATTRIBUTE.match(plain)
    if not match:
        return None
    about, how, value = match["about"], (match["how"] or "").strip(), match["value"]
    if _SINGLE_NOUN.search(_WHOSE.sub("", about, 1)):
        return _key("the", about), _key(value)
    if how in {"called", "named", "spelled"} or _MEASURE.search(value):
        return _key("of", about, match["verb"] if how not in {"called", "named"} else "", how), _key(value)
    return None


def _key(*parts: str) -> str:
    return " | ".join(" ".join(meaning(part).stems) for part in parts if part)


@dataclass(frozen=True, slots=True)
class ValidMemory:
    """A memory that is valid now; `said_at` is when it was said last, `vouched` as in ExtractedMemory."""

    id: UUID
    type: MemoryType
    text: str
    said_at: datetime
    vouched: bool = True


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to insert; one with `valid_to` was superseded before it was stored."""

    id: UUID
    extracted: ExtractedMemory
    valid_to: datetime | None = None
    superseded_by: UUID | None = None

    @property
    def digest(self) -> bytes:
        return meaning(self.extracted.text).digest


@dataclass(frozen=True, slots=True)
class SupersededMemory:
    id: UUID
    by: UUID
    at: datetime


@dataclass(slots=True)
class MemoryChanges:
    """What to write: new memories, further sources of stored ones, and memories that end."""

    added: list[NewMemory] = field(default_factory=list)
    merged: list[tuple[UUID, ExtractedMemory]] = field(default_factory=list)
    superseded: list[SupersededMemory] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.merged or self.superseded)


def consolidate(
    valid: Sequence[ValidMemory],
    candidates: Sequence[ExtractedMemory],
    known: Collection[tuple[UUID, bytes]] = frozenset(),
) -> MemoryChanges:
    """Decide for each extracted memory: insert, merge or supersede. `known` are pairs of message and memory."""
    changes = MemoryChanges()
    current = {held.id: held for held in sorted(valid, key=lambda held: (held.said_at, held.id))}
    seen = set(known)
    for one in sorted(candidates, key=lambda memory: memory.at):
        digest = meaning(one.text).digest
        fresh = [source for source in one.sources if (source, digest) not in seen]
        seen.update((source, digest) for source in one.sources)
        if fresh or not one.sources:
            _take(changes, current, replace(one, sources=tuple(fresh)), digest)
    return changes


def _take(changes: MemoryChanges, current: dict[UUID, ValidMemory], one: ExtractedMemory, digest: bytes) -> None:
    same = next((held for held in current.values() if is_same(held.text, one.text)), None)
    if same is not None and (same.vouched or not one.vouched):
        changes.merged.append((same.id, one))
        current[same.id] = replace(same, said_at=max(same.said_at, one.at))
        return
    id_ = name(one, digest)
    against = [held for held in current.values() if _gives_way(held, one)]
    later = [held for held in against if held.said_at > one.at and held.vouched == one.vouched]
    newer = min(later, key=lambda held: held.said_at, default=None)
    if newer is not None:
        changes.added.append(NewMemory(id_, one, newer.said_at, newer.id))
        return
    changes.added.append(NewMemory(id_, one))
    for held in against:
        _supersede(changes, SupersededMemory(held.id, id_, one.at))
        del current[held.id]
    current[id_] = ValidMemory(id_, one.type, one.text, one.at, one.vouched)


def _gives_way(held: ValidMemory, one: ExtractedMemory) -> bool:
    """Tell whether the new memory ends the stored one. A vouched memory replaces one that is not vouched.

    Never the other way round: whoever does not vouch for a user must not change what the user said.
    """
    if held.vouched != one.vouched:
        return one.vouched and (contradicts(one, held) or is_same(held.text, one.text))
    return contradicts(one, held)


def _supersede(changes: MemoryChanges, gone: SupersededMemory) -> None:
    for number, new in enumerate(changes.added):
        if new.id == gone.id:  # stored and superseded in the same batch
            changes.added[number] = replace(new, valid_to=gone.at, superseded_by=gone.by)
            return
    changes.superseded.append(gone)


def name(one: ExtractedMemory, digest: bytes) -> UUID:
    """Return the id of a memory: the same message and meaning give the same id."""
    return uuid5(one.sources[0], digest.hex()) if one.sources else new_id()


def is_same(held: str, text: str) -> bool:
    """Tell whether both mean the same, one of them perhaps with a few more words."""
    one, other = meaning(held), meaning(text)
    if one == other:
        return True
    less, more = sorted((set(one.stems), set(other.stems)), key=len)
    # a few more words are allowed, another number or a negation is not
    return (
        one.denies == other.denies
        and less < more
        and len(less) >= _NEAR * len(more)
        and not any(_HAS_DIGIT.search(word) for word in more - less)
        and _in_order(one.stems, other.stems)
        and slot(held) == slot(text)
    )


def _in_order(one: Sequence[str], other: Sequence[str]) -> bool:
    both = set(one) & set(other)
    return [stem_ for stem_ in one if stem_ in both] == [stem_ for stem_ in other if stem_ in both]


def contradicts(one: ExtractedMemory, held: ValidMemory) -> bool:
    """Tell whether both can't be true: another value of the same attribute, or one negates the other."""
    new, old = meaning(one.text), meaning(held.text)
    if new.stems == old.stems:
        return new.denies != old.denies
    here, there = slot(one.text), slot(held.text)
    if here and there and here[0] == there[0]:
        return here[1] != there[1]
    return one.type == "correction" and _is_alike(new.stems, old.stems)


def _is_alike(new: Sequence[str], old: Sequence[str]) -> bool:
    shared = set(new) & set(old)
    return new[:2] == old[:2] and len(shared) >= _ALIKE * len(set(new) | set(old)) and len(new) > len(shared)
