"""Extracts memories from messages: by rules, and by a model whose sentences must be supported by their sources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, get_args

import structlog

from keepword import tokens
from keepword.answers import MemoryType
from keepword.errors import ModelFailed, ModelUnreadable
from keepword.faithfulness import Sources, check_faithful
from keepword.llm.port import Model, Prompt
from keepword.memories import rules
from keepword.memories.consolidate import ValidMemory, contradicts, is_same
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.speech import own_words
from keepword.model import Message
from keepword.secret_text import HIDDEN
from keepword.slices import Runner, in_thread
from keepword.statements.meaning import meaning
from keepword.transcript.secrets_hidden import hide_secrets

NAME = "rules"
BUDGET_TOKENS = 2_000
MAX_TEXT_CHARS = 500
# a longer message is read in pieces, so that a source points into it
_PIECE_CHARS = 2_000
_LEAST_CHARS = 200
# tokens of messages in one prompt: with more, models overlook the middle
_ROOM_TOKENS = 12_000
_NUMBER_TOKENS = 6
# the share of a memory's words that its sources must contain: checking names and numbers alone lets inventions pass
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
class _Line:
    """A message, or a piece of a long one, as the model reads it."""

    message: Message
    text: str


@dataclass(frozen=True, slots=True)
class UnsupportedMemory:
    """What the model wrote and its sources do not say. `offending` are the items that no source names."""

    memory: ExtractedMemory
    offending: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """`model` extracted them; `reason` says why the configured model did not read all of the messages."""

    memories: Sequence[ExtractedMemory]
    model: str = NAME
    reason: str | None = None
    unsupported: Sequence[UnsupportedMemory] = ()


def prompt_text(name: str) -> str:
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


async def find(
    messages: Sequence[Message],
    context: Sequence[Message],
    model: Model | None,
    run: Runner = in_thread,
    *,
    keeps_secrets: bool = False,
) -> ExtractionResult:
    """Extract by the model and by the rules, so that a weak or failing model finds no less than the rules alone.

    Neither reads a secret, unless secrets are kept: not in the messages, and not in the context.
    """
    if not keeps_secrets:
        messages, context = await run(hide_secrets, messages), await run(hide_secrets, context)
    by_rules = await run(rules.extract, messages, context, keeps_secrets=keeps_secrets)
    if model is None or not any(_is_said(message) for message in messages):
        return ExtractionResult(by_rules)
    memories: list[ExtractedMemory] = []
    unsupported: list[UnsupportedMemory] = []
    name, reason = NAME, None
    try:
        for lines in _batches(messages, model):
            written, name = await _ask(lines, model)
            passed, refused = await run(check_support, written, lines)
            memories += passed
            unsupported += refused
    except ModelFailed as exc:
        reason = f"{type(exc).__name__}: {exc}"
        _log.warning("model did not read all messages, using rules", reason=reason)
    together = _together(memories, [replace(one, by=NAME) for one in by_rules])
    return ExtractionResult(together, name, reason, unsupported)


def _together(memories: Sequence[ExtractedMemory], by_rules: Sequence[ExtractedMemory]) -> list[ExtractedMemory]:
    """Merge both lists. Of two memories from the same message with the same meaning the model's stays.

    Of two that contradict each other the rules' stays, because rules only quote.
    """
    merged: list[ExtractedMemory] = []
    for one in memories:
        clashes = any(_share(one, rule) and contradicts(one, _as_valid(rule)) for rule in by_rules)
        if not clashes and not _is_known(one, merged):
            merged.append(one)
    return merged + [rule for rule in by_rules if not _is_known(rule, merged)]


def _is_known(one: ExtractedMemory, merged: Sequence[ExtractedMemory]) -> bool:
    return any(_share(one, other) and is_same(other.text, one.text) for other in merged)


def _share(one: ExtractedMemory, other: ExtractedMemory) -> bool:
    return not set(one.sources).isdisjoint(other.sources)


def _as_valid(one: ExtractedMemory) -> ValidMemory:
    return ValidMemory(one.sources[0], one.type, one.text, one.at)


def _is_said(message: Message) -> bool:
    """Tell whether a person said it, in their own words."""
    return message.role == "user" and not message.tool_name and not message.metadata.get("injected") and bool(
        own_words(message.content).strip()
    )  # fmt: skip


def _batches(messages: Sequence[Message], model: Model) -> Iterator[list[_Line]]:
    """Yield all lines of the messages in batches that fit into the model's window."""
    room = min(_ROOM_TOKENS, model.context_tokens * 3 // 5 - tokens.count(prompt_text("extract")))
    shown = (message for message in messages if _is_said(message) or (message.role == "assistant" and message.content))
    lines: list[_Line] = []
    tokens_left = room
    for line in (line for message in shown for line in _lines(message, max(_LEAST_CHARS, room // 2))):
        cost = tokens.count(line.text) + _NUMBER_TOKENS
        if lines and cost > tokens_left:
            yield lines
            lines, tokens_left = [], room
        lines.append(line)
        tokens_left -= cost
    if lines:
        yield lines


async def _ask(lines: Sequence[_Line], model: Model) -> tuple[list[ExtractedMemory], str]:
    text = "\n".join(f"[{number}] {line.text}" for number, line in enumerate(lines, 1))
    budget = min(BUDGET_TOKENS, model.context_tokens // 4)
    prompt = Prompt(prompt_text("extract"), text, budget, _SCHEMA)
    try:
        answer = await model.ask(prompt)
        memories = _read(answer.data, lines)
    except ModelUnreadable as exc:
        again = f"{text}\n\nYour last answer could not be read ({str(exc)[:_SHOWN_CHARS]}). Answer in JSON as asked."
        answer = await model.ask(replace(prompt, text=again))
        memories = _read(answer.data, lines)
    return [replace(one, by=answer.model) for one in memories], answer.model


def _lines(message: Message, most: int) -> Iterator[_Line]:
    who = message.user or "the user" if message.role == "user" else f"{message.agent} (assistant)"
    text = own_words(message.content) if message.role == "user" else message.content
    head = f"{message.created_at:%Y-%m-%d} {who}"
    for number, piece in enumerate(_pieces(" ".join(text.split()), min(_PIECE_CHARS, most))):
        yield _Line(message, f"{head}{' (goes on)' if number else ''}: {piece}")


def _pieces(text: str, most: int) -> Iterator[str]:
    """Cut a long text after a sentence, or else between words."""
    start = 0
    while len(text) - start > most:
        half, end = start + most // 2, start + most
        cut = text.rfind(". ", half, end) + 1 or text.rfind(" ", half, end) + 1 or end
        yield text[start:cut].strip()
        start = cut
    yield text[start:].strip()


def _read(data: Any, lines: Sequence[_Line]) -> list[ExtractedMemory]:
    """Parse the model's answer and skip items of a wrong form. Raises ModelUnreadable if nothing can be parsed."""
    if not isinstance(data, dict) or not isinstance(data.get("memories"), list):
        raise ModelUnreadable(f"the answer has no list `memories`: {str(data)[:_SHOWN_CHARS]}")
    memories = (_one(item, lines) for item in data["memories"])
    return [memory for memory in memories if memory is not None]


def _one(item: Any, lines: Sequence[_Line]) -> ExtractedMemory | None:
    if not isinstance(item, dict) or item.get("type") not in get_args(MemoryType):
        return None
    text, numbers = item.get("text"), item.get("sources")
    if isinstance(text, str) and HIDDEN in text:
        return None
    if not isinstance(text, str) or not isinstance(numbers, list) or not 0 < len(text.strip()) <= MAX_TEXT_CHARS:
        return None
    line_numbers = range(1, len(lines) + 1)
    sources = [lines[number - 1].message for number in numbers if isinstance(number, int) and number in line_numbers]
    messages = [message for message in sources if _is_said(message)]
    if not messages:
        return None
    last = max(messages, key=lambda message: message.created_at)
    ids = tuple(dict.fromkeys(message.id for message in messages))
    return ExtractedMemory(
        item["type"], " ".join(text.split()), _CONFIDENCE, last.created_at, ids, last.user, last.agent
    )


def check_support(
    written: Sequence[ExtractedMemory], lines: Sequence[_Line]
) -> tuple[list[ExtractedMemory], list[UnsupportedMemory]]:
    """Part what a person said in a memory's sources from what its sources do not say."""
    passed, refused = [], []
    for one in written:
        fault = _find_fault(one, lines)
        if fault is None:
            passed.append(one)
        else:
            refused.append(fault)
    return passed, refused


def _find_fault(one: ExtractedMemory, lines: Sequence[_Line]) -> UnsupportedMemory | None:
    """Return the fault of a memory that names what its sources do not, or has mostly other words than they."""
    texts = [line.text for line in lines if line.message.id in one.sources]
    verdict = check_faithful(one.text, Sources(texts))
    if not verdict.passes:
        return UnsupportedMemory(one, verdict.offending)
    stems, there = set(meaning(one.text).stems), {stem for line in texts for stem in meaning(line).stems}
    return None if not stems or len(stems & there) >= _LEAST_WORDS * len(stems) else UnsupportedMemory(one)
