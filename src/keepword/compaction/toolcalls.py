"""Writes one sentence for a tool call without content, so that search finds it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keepword import patterns
from keepword.compaction.render import read_prompt
from keepword.errors import ModelFailed
from keepword.faithfulness import Sources, check_faithful
from keepword.llm.port import Model, Prompt

MAX_WORDS = 25
TEMPLATE = "template"
# one sentence, and some thinking before it
_BUDGET_TOKENS = 2_000
_MAX_VALUE_CHARS = 120
_MAX_ARGS_CHARS = 8_000
_PAST = {
    "bring": "Brought", "build": "Built", "buy": "Bought", "choose": "Chose", "do": "Did", "draw": "Drew",
    "find": "Found", "get": "Got", "give": "Gave", "go": "Went", "grep": "Searched", "keep": "Kept", "ls": "Listed",
    "make": "Made", "pay": "Paid", "put": "Put", "read": "Read", "run": "Ran", "say": "Said", "search": "Searched",
    "see": "Saw", "sell": "Sold", "send": "Sent", "set": "Set", "speak": "Spoke", "split": "Split", "take": "Took",
    "tell": "Told", "think": "Thought", "understand": "Understood", "write": "Wrote",
}  # fmt: skip
_REGULAR = frozenset(
    (
        "add analyze append apply ask assign book browse calculate call cancel change check clear click close "
        "commit compare compile complete convert copy count create deploy delete describe diff disable "
        "download edit enable evaluate exchange execute export extract fetch filter fix format generate "
        "import insert inspect install invite launch list load look merge modify move navigate notify open "
        "parse patch ping plan post publish pull push query release remove rename replace reply report "
        "request reserve reset restart restore retrieve return review revert save scan schedule show start "
        "stop store submit summarize switch sync test transfer translate turn update upgrade upload use "
        "validate verify view wait watch "
    ).split()
)
_PARTS = patterns.anywhere(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class ToolSentence:
    """`model` says who wrote it; `reason` why it was not the model that was asked."""

    text: str
    model: str
    reason: str | None = None


def describe(name: str, arguments: Any) -> str:
    """Say in the past tense what was called with what, from a template: at most 25 words, nothing invented."""
    words = _opening(name).split()
    for argument in _arguments(arguments):
        parts = argument.split()
        if len(words) + len(parts) > MAX_WORDS:
            # a long value may end early, if it says so
            room = MAX_WORDS - len(words)
            return (
                " ".join([*words, *parts[:room]]).rstrip(",") + "…" if room > 1 else " ".join(words).rstrip(",") + "."
            )
        words += parts
    return " ".join(words).rstrip(",") + "."


async def synthesize(model: Model | None, name: str, arguments: Any) -> ToolSentence:
    """Ask the model for the sentence; the template serves where there is none, or its sentence is not faithful."""
    if model is None:
        return ToolSentence(describe(name, arguments), TEMPLATE)
    given = f"tool: {name}\narguments: {_json(arguments)[:_MAX_ARGS_CHARS]}"
    try:
        answer = await model.ask(Prompt(read_prompt("tool"), given, min(_BUDGET_TOKENS, model.context_tokens // 3)))
    except ModelFailed as exc:
        return ToolSentence(describe(name, arguments), TEMPLATE, str(exc))
    text = " ".join(answer.text.split()).strip("\"'`")
    if fault := _fault(text, given):
        return ToolSentence(describe(name, arguments), TEMPLATE, fault)
    return ToolSentence(text, answer.model)


def _fault(text: str, given: str) -> str | None:
    if not 1 < len(text.split()) <= MAX_WORDS:
        return f"the model wrote {len(text.split())} words, not 2 to {MAX_WORDS}"
    verdict = check_faithful(text, Sources([given, *_PARTS.findall(given)]))
    return None if verdict.passes else f"the model named what is not in the call: {', '.join(verdict.offending)}"


def _opening(name: str) -> str:
    parts = [part.lower() for part in _PARTS.findall(name)]
    past = _past(parts[0]) if parts else None
    if past is None:
        return f"Called {name}"
    rest = " ".join(parts[1:])
    return f"{past} {rest} ({name})" if rest else f"{past} ({name})"


def _past(verb: str) -> str | None:
    if verb in _PAST:
        return _PAST[verb]
    if verb not in _REGULAR:
        return None
    if verb.endswith("e"):
        return verb.capitalize() + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1].capitalize() + "ied"
    return (verb + _DOUBLED.get(verb, "")).capitalize() + "ed"


_DOUBLED = {"commit": "t", "plan": "n", "scan": "n", "stop": "p", "submit": "t", "transfer": "r"}


def _arguments(arguments: Any) -> Iterator[str]:
    if arguments in (None, {}, []):
        return
    if not isinstance(arguments, dict):
        yield f"with {_value(arguments)}"
        return
    for number, (name, value) in enumerate(arguments.items()):
        yield f"{'with ' if number == 0 else ''}{name} {_value(value)},"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    text = " ".join(text.split())
    return text if len(text) <= _MAX_VALUE_CHARS else text[:_MAX_VALUE_CHARS].rstrip() + "…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
