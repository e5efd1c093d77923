"""Tool calls of the transcript as chat APIs want them: each call with its result right behind it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from keepword import patterns, tokens
from keepword.answers import CalledFunction, ChatMessage, OpenAIToolCall
from keepword.compose.parts import ToolCall, ToolResult, TranscriptMessage
from keepword.compose.untrusted_text import indent_untrusted, sanitize, shorten

# the tokens of a chat's form beside ids, names and texts: `type`, `function`, brackets and quotes
_FRAME_TOKENS = 12
# the characters that both APIs allow in an id and in the name of a tool
_ID = patterns.at_start(r"[A-Za-z0-9_-]{1,64}\Z")
_NO_NAME = patterns.anywhere(r"[^A-Za-z0-9_-]")
_MAX_NAME_CHARS = 64
NO_RESULT = "(no result of this call is stored)"


def frame_tokens(call: ToolCall | None, result: ToolResult | None) -> int:
    """Return the tokens that a call or a result takes in a chat beyond its line: the form, and the id of each."""
    ids = [one.id for one in (call, result) if one is not None]
    return sum(_FRAME_TOKENS + tokens.count(id_ or "call_" + "0" * 20) for id_ in ids)


def arguments_of(value: Any, most_chars: int) -> dict[str, Any]:
    """Return arguments as the object that both APIs want, harmless and of bounded length."""
    if value is None:
        return {}
    arguments = _harmless(value) if isinstance(value, dict) else {"value": _harmless(value)}
    text = json.dumps(arguments, ensure_ascii=False)
    return arguments if len(text) <= most_chars else {"shortened": shorten(text, most_chars)}


def find_results(turns: Sequence[TranscriptMessage]) -> dict[int, int]:
    """Return where the result of each call stands: the one that names it, else the next one of the same tool."""
    answers: dict[int, int] = {}
    taken: set[int] = set()
    calls = [(number, turn.call) for number, turn in enumerate(turns) if turn.call is not None]
    for by_id in (True, False):
        for number, call in calls:
            if number not in answers:
                at = next((at for at in _candidates(turns, number, call, by_id=by_id) if at not in taken), None)
                if at is not None:
                    answers[number] = at
                    taken.add(at)
    return answers


def _candidates(turns: Sequence[TranscriptMessage], number: int, call: ToolCall, *, by_id: bool) -> Iterator[int]:
    for at in range(number, len(turns)):
        result = turns[at].result
        if result is None:
            continue
        is_named = call.id is not None and result.id == call.id
        is_next = not by_id and result.name in {None, call.name} and None in {call.id, result.id}
        if at == number or is_named or is_next:
            yield at


def as_calls(
    group: Sequence[TranscriptMessage], results: Sequence[ToolResult | None], taken_ids: set[str]
) -> list[ChatMessage]:
    """Return one message of an assistant that calls the group's tools, and a message with the result of each call."""
    ids = [_own_id(turn, taken_ids) for turn in group]
    calls = [_call(id_, turn.call) for id_, turn in zip(ids, group, strict=True) if turn.call is not None]
    spoken = "\n\n".join(indent_untrusted(turn.spoken, "") for turn in group if turn.spoken)
    speaking: ChatMessage = {"role": "assistant", "content": spoken, "tool_calls": calls}
    if not spoken:
        del speaking["content"]
    told: list[ChatMessage] = [
        {
            "role": "tool",
            "tool_call_id": id_,
            "content": NO_RESULT if result is None else indent_untrusted(result.text, ""),
        }
        for id_, result in zip(ids, results, strict=True)
    ]
    return [speaking, *told]


def _call(id_: str, call: ToolCall) -> OpenAIToolCall:
    name = _NO_NAME.sub("_", call.name)[:_MAX_NAME_CHARS]
    function: CalledFunction = {"name": name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"id": id_, "type": "function", "function": function}


def _own_id(turn: TranscriptMessage, taken: set[str]) -> str:
    """Return the call's id as it was stored, or one made of the message's own where that can't be sent."""
    id_ = turn.call.id if turn.call else None
    if id_ is None or not _ID.match(id_) or id_ in taken:
        id_ = f"call_{turn.item.id.replace('-', '')[-20:]}"
    taken.add(id_)
    return id_


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, dict):
        return {sanitize(name): _harmless(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_harmless(inner) for inner in value]
    return value
