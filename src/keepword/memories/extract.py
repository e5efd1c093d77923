"""Finding memories in messages: with a model, each supported by its sources; where there is none, by rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, get_args

import structlog

from keepword.compaction.gate import Sources, judge
from keepword.errors import ModelFailed, ModelUnreadable
from keepword.llm.port import Model, Prompt
from keepword.memories import rules
from keepword.memories.consolidate import meaning
from keepword.memories.found import Found, MemoryType
from keepword.memories.speech import own_words
from keepword.model import Message

NAME = "rules"
BUDGET_TOKENS = 2_000
MAX_TEXT_CHARS = 500
_MESSAGE_CHARS = 2_000
# so many of a memory's words must be in its sources: a gate of names and numbers alone lets a free invention through
_LEAST_WORDS = 0.5
_CONFIDENCE = 0.8
_SHOWN_CHARS = 200
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "text", "sources"],
                "properties": {
                    "type": {"enum": list(get_args(MemoryType))},
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Extracted:
    """`model` made them; `reason` says why it was not the one that was set."""

    memories: Sequence[Found]
    model: str = NAME
    reason: str | None = None


def prompt_text(name: str) -> str:
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


async def find(messages: Sequence[Message], context: Sequence[Message], model: Model | None) -> Extracted:
    """Never fails for a model's sake: what it can't do, the rules do."""
    if model is None or not any(_is_said(message) for message in messages):
        return Extracted(rules.extract(messages, context))
    try:
        return await _ask(messages, model)
    except ModelFailed as exc:
        reason = f"{type(exc).__name__}: {exc}"
        _log.warning("model extracted nothing, the rules do", reason=reason)
        return Extracted(rules.extract(messages, context), NAME, reason)


def _is_said(message: Message) -> bool:
    """Tell whether a person said it, in their own words."""
    return message.role == "user" and not message.tool_name and not message.metadata.get("injected") and bool(
        own_words(message.content).strip()
    )  # fmt: skip


async def _ask(messages: Sequence[Message], model: Model) -> Extracted:
    shown = [message for message in messages if _is_said(message) or (message.role == "assistant" and message.content)]
    text = "\n".join(f"[{number}] {_line(message)}" for number, message in enumerate(shown, 1))
    prompt = Prompt(prompt_text("extract"), text, BUDGET_TOKENS, _SCHEMA)
    try:
        answer = await model.ask(prompt)
        found = _read(answer.data, shown)
    except ModelUnreadable as exc:
        again = f"{text}\n\nYour last answer could not be read ({str(exc)[:_SHOWN_CHARS]}). Answer in JSON as asked."
        answer = await model.ask(Prompt(prompt.system, again, BUDGET_TOKENS, _SCHEMA))
        found = _read(answer.data, shown)
    return Extracted([one for one in found if is_supported(one, shown)], answer.model)


def _line(message: Message) -> str:
    who = message.user or "the user" if message.role == "user" else f"{message.agent} (assistant)"
    said = own_words(message.content) if message.role == "user" else message.content
    return f"{message.created_at:%Y-%m-%d} {who}: {' '.join(said.split())[:_MESSAGE_CHARS]}"


def _read(data: Any, shown: Sequence[Message]) -> list[Found]:
    """Take what has the form that was asked for. Raises ModelUnreadable if the whole has not."""
    if not isinstance(data, dict) or not isinstance(data.get("memories"), list):
        raise ModelUnreadable(f"the answer has no list `memories`: {str(data)[:_SHOWN_CHARS]}")
    made = (_one(item, shown) for item in data["memories"])
    return [found for found in made if found is not None]


def _one(item: Any, shown: Sequence[Message]) -> Found | None:
    if not isinstance(item, dict) or item.get("type") not in get_args(MemoryType):
        return None
    text, numbers = item.get("text"), item.get("sources")
    if not isinstance(text, str) or not isinstance(numbers, list) or not 0 < len(text.strip()) <= MAX_TEXT_CHARS:
        return None
    known = range(1, len(shown) + 1)
    sources = [shown[number - 1] for number in numbers if isinstance(number, int) and number in known]
    said = [message for message in sources if _is_said(message)]
    if not said:
        return None
    last = max(said, key=lambda message: message.created_at)
    ids = tuple(dict.fromkeys(message.id for message in said))
    return Found(item["type"], " ".join(text.split()), _CONFIDENCE, last.created_at, ids, last.user, last.agent)


def is_supported(one: Found, shown: Sequence[Message]) -> bool:
    """Tell whether what a memory names, and most of its words, were said by a person in its sources."""
    said = [_line(message) for message in shown if message.id in one.sources]
    if not judge(one.text, Sources(said)).passes:
        return False
    stems, there = set(meaning(one.text).stems), set(meaning(" ".join(said)).stems)
    return not stems or len(stems & there) >= _LEAST_WORDS * len(stems)
