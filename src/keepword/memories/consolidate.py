"""Consolidates new memories with known ones: equal ones merge, contradictions supersede. Deterministic."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from uuid import UUID, uuid5

from keepword import patterns
from keepword.answers import MemoryType, SaidBy
from keepword.ids import new_id
from keepword.memories.extracted import ExtractedMemory, standing
from keepword.statements.meaning import meaning
from keepword.statements.replacing import READ_AGAIN, is_replaced, likeness_of_subjects
from keepword.statements.slots import slot

# two sentences are the same if the longer one shares this many of its words with the shorter
_NEAR = 0.75
# a correction replaces a memory with which it shares this many of the words of both
_ALIKE = 0.5
# the instant space's likeness of two subjects from which they count as one
_ALIKE_SUBJECTS = 0.7
_HAS_DIGIT = patterns.anywhere(r"\d")


@dataclass(frozen=True, slots=True)
class ValidMemory:
    """A memory that is valid now; `said_at` is when it was said last, `vouched`, `said_by` as in ExtractedMemory."""

    id: UUID
    type: MemoryType
    text: str
    said_at: datetime
    vouched: bool = True
    said_by: SaidBy = "user"

    @property
    def standing(self) -> int:
        return standing(self.said_by, vouched=self.vouched)


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
    current = {
        existing.id: existing for existing in sorted(valid, key=lambda existing: (existing.said_at, existing.id))
    }
    seen = set(known)
    for one in sorted(candidates, key=lambda memory: memory.at):
        digest = meaning(one.text).digest
        fresh = [source for source in one.sources if (source, digest) not in seen]
        seen.update((source, digest) for source in one.sources)
        if fresh or not one.sources:
            _take(changes, current, replace(one, sources=tuple(fresh)), digest)
    return changes


def _take(changes: MemoryChanges, current: dict[UUID, ValidMemory], one: ExtractedMemory, digest: bytes) -> None:
    same = next((existing for existing in current.values() if is_same(existing.text, one.text)), None)
    if same is not None and same.standing >= one.standing:
        if same.said_by != one.said_by:
            return  # a person said it: that the agent says so as well adds nothing
        changes.merged.append((same.id, one))
        current[same.id] = replace(same, said_at=max(same.said_at, one.at))
        return
    id_ = name(one, digest)
    against = [existing for existing in current.values() if _gives_way(existing, one)] or _corrected(
        current.values(), one
    )
    later = [existing for existing in against if existing.said_at > one.at and existing.standing == one.standing]
    newer = min(later, key=lambda existing: existing.said_at, default=None)
    if newer is not None:
        changes.added.append(NewMemory(id_, one, newer.said_at, newer.id))
        return
    changes.added.append(NewMemory(id_, one))
    for existing in against:
        _supersede(changes, SupersededMemory(existing.id, id_, one.at))
        del current[existing.id]
    current[id_] = ValidMemory(id_, one.type, one.text, one.at, one.vouched, one.said_by)


def _gives_way(existing: ValidMemory, one: ExtractedMemory) -> bool:
    """Tell whether the new memory ends the stored one. A vouched memory replaces one that is not vouched.

    Never the other way round: whoever does not vouch for a user must not change what the user said, nor must an agent.
    """
    if existing.standing != one.standing:
        return one.standing > existing.standing and (contradicts(one, existing) or is_same(existing.text, one.text))
    return contradicts(one, existing)


def _corrected(valid: Iterable[ValidMemory], one: ExtractedMemory) -> list[ValidMemory]:
    """Return the one older memory that a correction or a change means in other words: the most alike of its kind."""
    alike = [
        (likeness_of_subjects(one.type, one.text, existing.text), existing)
        for existing in valid
        if existing.said_at <= one.at and existing.standing == one.standing
    ]
    likeness, best = max(alike, key=lambda pair: (pair[0], pair[1].said_at, pair[1].id), default=(0.0, None))
    return [best] if best and likeness >= _ALIKE_SUBJECTS else []


def _supersede(changes: MemoryChanges, gone: SupersededMemory) -> None:
    for number, new in enumerate(changes.added):
        if new.id == gone.id:  # stored and superseded in the same batch
            changes.added[number] = replace(new, valid_to=gone.at, superseded_by=gone.by)
            return
    changes.superseded.append(gone)


def name(one: ExtractedMemory, digest: bytes) -> UUID:
    """Return the id of a memory: the same message and meaning give the same id."""
    return uuid5(one.sources[0], digest.hex()) if one.sources else new_id()


def is_same(existing: str, text: str) -> bool:
    """Tell whether both mean the same, one of them perhaps with a few more words."""
    one, other = meaning(existing), meaning(text)
    if one == other:
        return True
    less, more = sorted((_stems(existing), _stems(text)), key=len)
    # a few more words are allowed, another number or a negation is not
    return (
        one.denies == other.denies
        and less < more
        and len(less) >= _NEAR * len(more)
        and not any(_HAS_DIGIT.search(word) for word in more - less)
        and _in_order(one.stems, other.stems)
        and slot(existing) == slot(text)
    )


@lru_cache(maxsize=READ_AGAIN)
def _stems(text: str) -> frozenset[str]:
    return frozenset(meaning(text).stems)


def _in_order(one: Sequence[str], other: Sequence[str]) -> bool:
    both = set(one) & set(other)
    return [stem_ for stem_ in one if stem_ in both] == [stem_ for stem_ in other if stem_ in both]


def contradicts(one: ExtractedMemory, existing: ValidMemory) -> bool:
    """Tell whether both can't be true: another value of the same attribute, or one negates the other."""
    new, old = meaning(one.text), meaning(existing.text)
    if new.stems == old.stems:
        return new.denies != old.denies
    here, there = slot(one.text), slot(existing.text)
    if here and there and here.key == there.key:
        newer_slot = here if existing.said_at <= one.at else there
        return here.value != there.value and (one.type == "correction" or not newer_slot.adds)
    newer, older = (one.text, existing.text) if existing.said_at <= one.at else (existing.text, one.text)
    if is_replaced(newer, older):
        return True
    return one.type == "correction" and _is_alike(new.stems, old.stems)


def _is_alike(new: Sequence[str], old: Sequence[str]) -> bool:
    shared = set(new) & set(old)
    return new[:2] == old[:2] and len(shared) >= _ALIKE * len(set(new) | set(old)) and len(new) > len(shared)
