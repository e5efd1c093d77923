"""A source's message as the API takes it: within its limits, without what it can't store."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from keepword.histories import names
from keepword.histories.records import HistoryMessage, Omission, given

MAX_TEXT_BYTES = 1024 * 1024
# an escaped sign takes more bytes in JSON than in the text; a part stays below all limits of one message
PART_BYTES = 500_000
# how UTF-8 marks a byte that continues a character
_FIRST_BITS, _CONTINUES = 0b1100_0000, 0b1000_0000
_MAX_DEPTH = 60
_MAX_ATTACHMENTS = 1000

Draft = dict[str, Any]


def to_drafts(message: HistoryMessage) -> Iterator[Draft | Omission]:
    """Yield the draft of a message, several for a text over the limit; and a word on what was cut."""
    text = _clean(message.text)
    result = None if message.tool_result is None else _clean(message.tool_result)
    if text != message.text or (result or "") != (message.tool_result or ""):
        yield Omission("signs that can't be stored: they were taken out", message.id)
    if result is not None and len(result.encode()) > MAX_TEXT_BYTES:
        result = _parts(result)[0]
        yield Omission("a tool's result over 1 MiB: its beginning is kept", message.id)
    arguments = _clean_json(message.tool_args, 0)
    if arguments is not None and _size(arguments) > MAX_TEXT_BYTES:
        arguments = {"cut": _parts(json.dumps(arguments, ensure_ascii=False))[0]}
        yield Omission("a tool call over 1 MiB: its beginning is kept", message.id)
    metadata = _clean_json(dict(message.metadata) | given(tool_call_id=message.call_id), 0)
    parts = _parts(text)
    if len(parts) > 1:
        yield Omission("a message over 1 MiB: it is kept in parts", message.id)
    draft = {
        "role": message.role, "content": parts[0], "tool_name": message.tool_name and _clean(message.tool_name)[:200],
        "tool_args": arguments, "tool_result": result, "metadata": metadata,
        "attachments": _clean_json(list(message.attachments[:_MAX_ATTACHMENTS]), 0),
        "event_id": names.event_id(message.id), "created_at": message.at and message.at.isoformat(),
    }  # fmt: skip
    yield {name: value for name, value in draft.items() if value is not None and value not in ("", [], {})} | (
        {"tool_result": result} if result is not None else {}
    )
    for number, part in enumerate(parts[1:], 2):
        yield next(
            one for one in to_drafts(replace(
                message, id=f"{names.event_id(message.id)}#part{number}", text=part, tool_name=None, tool_args=None,
                tool_result=None, call_id=None, attachments=(),
            )) if isinstance(one, dict)
        )  # fmt: skip


def _clean(text: str) -> str:
    """Return the text without NUL and without halves of characters, which PostgreSQL and JSON refuse."""
    text = text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean_json(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if depth > _MAX_DEPTH:
        return _clean(str(value)[:PART_BYTES])
    if isinstance(value, dict):
        return {_clean(str(name)): _clean_json(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(one, depth + 1) for one in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        return str(value)
    return value if isinstance(value, int | float | None) else str(value)


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _parts(text: str) -> list[str]:
    if len(text) * 4 <= MAX_TEXT_BYTES or len(encoded := text.encode()) <= MAX_TEXT_BYTES:
        return [text]
    cuts = [_cut(encoded, end) for end in range(PART_BYTES, len(encoded), PART_BYTES)]
    return [encoded[begin:end].decode() for begin, end in pairwise([0, *cuts, len(encoded)])]


def _cut(encoded: bytes, end: int) -> int:
    """Return where the character begins in which a part would end."""
    while encoded[end] & _FIRST_BITS == _CONTINUES:
        end -= 1
    return end
