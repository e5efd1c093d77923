"""Messages as the OpenAI and Anthropic APIs write them, as drafts: one for each tool call and each tool's result."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keepword.errors import InvalidInput
from keepword.model import Draft

# where a message keeps the id by which a tool's result names its call
CALL_ID = "tool_call_id"
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MAX_URL_CHARS = 2_000
_MAX_LABEL_CHARS = 200


@dataclass(slots=True)
class _Pieces:
    """The text, tool calls, results and attachments of one message's parts, in order."""

    texts: list[str] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Draft] = field(default_factory=list)
    results: list[Draft] = field(default_factory=list)


def to_drafts(
    draft: Draft, content: str | Sequence[Mapping[str, Any]], tool_calls: Sequence[Any] = (), call_id: str | None = None
) -> list[Draft]:
    """Return the drafts of one message: itself, and one more for each further tool call or result.

    Calls follow the text that they came with, results stand before it. Raises InvalidInput.
    """
    if isinstance(content, str) and not tool_calls and call_id is None:
        return [draft]
    pieces = _read(content)
    pieces.calls += [_openai_call(call, f"tool_calls.{number}") for number, call in enumerate(tool_calls)]
    _require_role(draft, pieces)
    text = "\n".join(pieces.texts)
    attachments = [*draft.attachments, *pieces.attachments]
    if draft.role == "tool" and call_id is not None and draft.tool_result is None and not pieces.results:
        own = replace(draft, content="", tool_result=text, attachments=attachments)
    else:
        own = replace(draft, content=text, attachments=attachments)
    return _numbered(draft, _ordered(_with_call_id(own, call_id), pieces))


def name_results(drafts: Sequence[Draft]) -> list[Draft]:
    """Give results the name of their tool, where the call is among the messages before them."""
    names: dict[str, str] = {}
    named = []
    for draft in drafts:
        call_id = draft.metadata.get(CALL_ID)
        if isinstance(call_id, str) and draft.tool_name is not None:
            names[call_id] = draft.tool_name
        elif isinstance(call_id, str) and draft.tool_result is not None and call_id in names:
            draft = replace(draft, tool_name=names[call_id])  # noqa: PLW2901
        named.append(draft)
    return named


def _require_role(draft: Draft, pieces: _Pieces) -> None:
    if pieces.calls and draft.role != "assistant":
        raise InvalidInput(f"role is {draft.role!r}, but only an 'assistant' calls tools", "role")
    if pieces.calls and draft.tool_name is not None:
        raise InvalidInput("tool_name names a tool and tool_calls another; send one of them", "tool_name")
    if pieces.results and draft.role not in {"user", "tool"}:
        raise InvalidInput(f"role is {draft.role!r}, but only 'user' and 'tool' bring results of tools", "role")


def _ordered(own: Draft, pieces: _Pieces) -> list[Draft]:
    if pieces.results:
        results = [_beside(own, "tool", result) for result in pieces.results]
        return [*results, own] if own.content or own.attachments else results
    if not pieces.calls:
        return [own]
    first, *others = pieces.calls
    with_text = replace(
        own, tool_name=first.tool_name, tool_args=first.tool_args, metadata=own.metadata | first.metadata
    )
    return [with_text, *(_beside(own, "assistant", call) for call in others)]


def _beside(own: Draft, role: Any, part: Draft) -> Draft:
    return replace(part, role=role, agent=own.agent, created_at=own.created_at)


def _numbered(draft: Draft, drafts: Sequence[Draft]) -> list[Draft]:
    """Give each its own event, so that a retry of the message is a retry of all of them."""
    if draft.event_id is None:
        return list(drafts)
    events = [draft.event_id, *(f"{draft.event_id}#{number}" for number in range(2, len(drafts) + 1))]
    return [replace(one, event_id=event) for one, event in zip(drafts, events, strict=True)]


def _with_call_id(draft: Draft, call_id: str | None) -> Draft:
    return draft if call_id is None else replace(draft, metadata={**draft.metadata, CALL_ID: call_id})


def _read(content: str | Sequence[Mapping[str, Any]]) -> _Pieces:
    if isinstance(content, str):
        return _Pieces([content] if content else [])
    pieces = _Pieces()
    for number, part in enumerate(content):
        _read_part(pieces, part, f"content.{number}")
    return pieces


def _read_part(pieces: _Pieces, part: Mapping[str, Any], where: str) -> None:
    kind = part["type"]
    if kind in _TEXTS:
        pieces.texts.append(_text(part, _TEXTS[kind], where))
    elif kind == "tool_use":
        metadata = {CALL_ID: _label(part, "id", where)}
        pieces.calls.append(
            Draft("assistant", tool_name=_label(part, "name", where), tool_args=part.get("input"), metadata=metadata)
        )
    elif kind == "tool_result":
        pieces.results.append(_anthropic_result(part, where))
    else:
        pieces.attachments.append(_attachment(kind, part))


def _openai_call(call: Any, where: str) -> Draft:
    kind = call.get("type", "function") if isinstance(call, dict) else None
    called = call.get(kind) if isinstance(call, dict) and kind in {"function", "custom"} else None
    if not isinstance(called, dict):
        raise InvalidInput(
            f'{where} is no tool call; one is {{"id": ..., "type": "function", "function": {{"name": ..., '
            '"arguments": "..."}}',
            where,
        )
    inside = f"{where}.{kind}"
    arguments = called.get("arguments" if kind == "function" else "input")
    return Draft(
        "assistant", tool_name=_label(called, "name", inside), tool_args=_parsed(arguments),
        metadata={CALL_ID: _label(call, "id", where)},
    )  # fmt: skip


def _parsed(arguments: Any) -> Any:
    """Return arguments as JSON; models now and then write some that are none, and these stay as they are."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, parse_constant=_refuse) if arguments else {}
    except (ValueError, RecursionError):
        return arguments


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _anthropic_result(part: Mapping[str, Any], where: str) -> Draft:
    content = part.get("content") or ""
    if not isinstance(content, str) and not is_parts(content):
        raise InvalidInput(f"{where}.content must be a text or a list of content parts", f"{where}.content")
    pieces = _read(content)
    metadata: dict[str, Any] = {CALL_ID: _label(part, "tool_use_id", where)}
    if part.get("is_error"):
        metadata["is_error"] = True
    return Draft(
        "tool", tool_result="\n".join(pieces.texts), attachments=list(pieces.attachments), metadata=metadata
    )  # fmt: skip


def is_parts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )


def _attachment(kind: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a part by its type and size; its content is not kept, only the address where it can be fetched."""
    shown: dict[str, Any] = {"type": kind[:_MAX_LABEL_CHARS]}
    for name, value in _described(part):
        shown.setdefault(name, value)
    if "bytes" not in shown and "url" not in shown and "file_id" not in shown:
        shown["bytes"] = len(json.dumps(part, ensure_ascii=False).encode())
    return shown


def _described(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a file that the formats know, wherever they stand: media type, name, size, address."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _described(inner)
        elif not isinstance(inner, str) or name == "type":
            continue
        elif name in {"url", "image_url", "file_url"}:
            yield from _address(inner)
        elif name in {"data", "file_data"}:
            yield from _data(inner, is_text=value.get("type") == "text")
        elif name in {"media_type", "format", "file_id"}:
            yield name, inner[:_MAX_LABEL_CHARS]
        elif name in {"filename", "title", "name"}:
            yield "name", inner[:_MAX_LABEL_CHARS]


def _data(data: str, *, is_text: bool) -> Iterator[tuple[str, Any]]:
    if data.startswith("data:"):
        yield from _address(data)
    else:
        yield "bytes", len(data.encode()) if is_text else _decoded_bytes(data)


def _address(url: str) -> Iterator[tuple[str, Any]]:
    if not url.startswith("data:"):
        yield "url", url[:_MAX_URL_CHARS]
        return
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    if media_type:
        yield "media_type", media_type[:_MAX_LABEL_CHARS]
    yield "bytes", _decoded_bytes(data) if encoding.endswith("base64") else len(data.encode())


def _decoded_bytes(base64_text: str) -> int:
    return len(base64_text) * 3 // 4 - base64_text[-2:].count("=")


def _text(part: Mapping[str, Any], name: str, where: str) -> str:
    value = part.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"{where}.{name} must be a text", f"{where}.{name}")
    return value


def _label(part: Mapping[str, Any], name: str, where: str) -> str:
    value = _text(part, name, where)
    if not 1 <= len(value) <= _MAX_LABEL_CHARS:
        raise InvalidInput(
            f"{where}.{name} must have 1 to {_MAX_LABEL_CHARS} characters, not {len(value)}", f"{where}.{name}"
        )
    return value
