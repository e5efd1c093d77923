"""Content blocks of Anthropic's API, as Claude Code and Claude.ai keep them: one message for each call and result."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from keepword.histories.records import HistoryMessage, Omission, Record, given, mapping, sequence, text_or_none

THINKING = frozenset({"thinking", "redacted_thinking"})
_BOOKKEEPING = frozenset({"token_budget", "flag", "fallback"})


@dataclass(slots=True)
class _Pieces:
    texts: list[str] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    tools: list[HistoryMessage] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)


def read_blocks(message: HistoryMessage, content: Any, where: str) -> Iterator[Record]:
    """Yield what a message holds: results before its text, calls behind it. Ids count on from the message's own."""
    if isinstance(content, str):
        yield replace(message, text=content)
        return
    pieces = _Pieces(attachments=[dict(one) for one in message.attachments])
    for block in sequence(content):
        _read_block(pieces, message, mapping(block), where)
    yield from pieces.omissions
    own = replace(message, text="\n".join(pieces.texts), attachments=tuple(pieces.attachments))
    results = [one for one in pieces.tools if one.role == "tool"]
    calls = [one for one in pieces.tools if one.role != "tool"]
    kept = [*results, *([own] if own.text.strip() or own.attachments else []), *calls]
    for number, one in enumerate(kept, 1):
        yield replace(one, id=message.id if number == 1 else f"{message.id}#{number}")


def _read_block(pieces: _Pieces, message: HistoryMessage, block: Any, where: str) -> None:
    kind = block.get("type")
    if kind == "text":
        pieces.texts += [block["text"]] if isinstance(block.get("text"), str) else []
    elif kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
        pieces.tools.append(
            HistoryMessage(
                message.thread, message.id, "assistant", at=message.at, tool_name=text_or_none(block.get("name")),
                tool_args=block.get("input"), call_id=text_or_none(block.get("id")), metadata=message.metadata,
            )
        )  # fmt: skip
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        pieces.tools.append(_result(message, block))
    elif kind in {"image", "document", "file"}:
        pieces.attachments.append(attachment(kind, block))
    elif kind in THINKING:
        pieces.omissions.append(Omission("thinking", where))
    elif kind not in _BOOKKEEPING:
        pieces.omissions.append(Omission(f"a block of type {kind!r}", where))


def _result(message: HistoryMessage, block: Any) -> HistoryMessage:
    content = block.get("content")
    attachments = tuple(
        attachment(one.get("type"), one)
        for one in map(mapping, sequence(content))
        if one.get("type") in {"image", "document"}
    )
    return HistoryMessage(
        message.thread, message.id, "tool", at=message.at, tool_name=text_or_none(block.get("name")),
        tool_result=result_text(content), call_id=text_or_none(block.get("tool_use_id")), attachments=attachments,
        metadata={**message.metadata, **given(is_error=block.get("is_error") or None)},
    )  # fmt: skip


def result_text(content: Any) -> str:
    """Return a tool's result as text; what is neither text nor blocks of text is kept as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(one, dict) for one in content):
        texts = [one["text"] for one in content if isinstance(one.get("text"), str)]
        others = [one for one in content if "text" not in one and one.get("type") not in {"image", "document"}]
        return "\n".join([*texts, *(json.dumps(one, ensure_ascii=False) for one in others)])
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def attachment(kind: Any, block: Any) -> dict[str, Any]:
    """Say what a file is and how large; its bytes are not kept."""
    source = mapping(block.get("source"))
    data = source.get("data")
    return given(
        type=kind, media_type=source.get("media_type"), name=block.get("file_name") or block.get("title"),
        url=source.get("url"), file_id=source.get("file_id"),
        bytes=len(data) * 3 // 4 if isinstance(data, str) else None,
    )  # fmt: skip
