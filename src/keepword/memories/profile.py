"""A user's profile from their memories: rewritten by a model, or the memories themselves, grouped by type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from keepword import tokens
from keepword.compaction.gate import Sources, judge
from keepword.errors import ModelFailed
from keepword.llm.port import Model, Prompt
from keepword.memories.extract import prompt_text
from keepword.memories.found import MemoryType
from keepword.memories.ports import Known

BUDGET_TOKENS = 1_000
_HEADINGS: dict[MemoryType, str] = {
    "preference": "Preferences",
    "correction": "Corrections",
    "fact": "Facts",
    "decision": "Decisions",
    "task": "Tasks",
    "action": "Action items",
}

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Blob:
    """The whole text of a profile, as of the time of its newest source."""

    text: str
    source_time: datetime


async def write(known: Sequence[Known], model: Model | None) -> Blob | None:
    """Return None if nothing was ever known that could be in it."""
    if not known:
        return None
    grouped = group([one for one in known if one.counts])
    text = await _rewrite(grouped, model) if model is not None and grouped else grouped
    return Blob(text, max(one.changed_at for one in known))


def group(known: Sequence[Known]) -> str:
    """List the memories by type, the most important and newest first, as many as the budget has room for."""
    room = BUDGET_TOKENS - tokens.count("\n".join(_HEADINGS.values()))
    kept: dict[MemoryType, list[str]] = {type_: [] for type_ in _HEADINGS}
    for one in sorted(known, key=lambda one: (-one.importance, -one.said_at.timestamp(), one.content)):
        room -= tokens.count(f"- {one.content}\n")
        if room < 0:
            break
        kept[one.type].append(f"- {one.content}")
    return "\n".join(_lines(kept))


def _lines(kept: dict[MemoryType, list[str]]) -> Iterator[str]:
    for type_, lines in kept.items():
        if lines:
            yield _HEADINGS[type_]
            yield from lines


async def _rewrite(grouped: str, model: Model) -> str:
    """Ask once; what is too long, or names what no memory names, is not used."""
    try:
        answer = await model.ask(Prompt(prompt_text("profile").format(tokens=BUDGET_TOKENS), grouped, BUDGET_TOKENS))
    except ModelFailed as exc:
        _log.warning("model wrote no profile, the memories stand as they are", reason=f"{type(exc).__name__}: {exc}")
        return grouped
    text = answer.text.strip()
    fits = bool(text) and tokens.count(text) <= BUDGET_TOKENS and judge(text, Sources([grouped])).passes
    return text if fits else grouped
