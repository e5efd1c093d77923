"""Codex' rollouts: a file of JSON lines for each session, in ~/.codex/sessions."""

import importlib
import importlib.util
import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from keepword.histories import json_stream
from keepword.histories.blocks import result_text
from keepword.histories.injected import without_injected
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryMessage,
    Omission,
    Record,
    Thread,
    from_iso,
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

PACKED = ".jsonl.zst"
_INJECTED = (
    "<environment_context",
    "# AGENTS.md",
    "<user_instructions", "<INSTRUCTIONS", "<permissions", "<skill", "<turn_aborted",
    "<subagent_notification", "<user_shell_command", "<personality_spec",
)  # fmt: skip
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_ITEMS = _CALLS | _OUTPUTS | {"message", "reasoning"}


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            if name.endswith(PACKED):
                unpacked = _unpacked(file)
                if unpacked is None:
                    yield Omission("a packed file; `pip install zstandard` lets it be read", where)
                    continue
                file = unpacked  # noqa: PLW2901
            yield from read_lines(json_stream.lines(file, where), session_of(name), where)


def session_of(name: str) -> str:
    """Return the session that a rollout's name ends with: rollout-<time>-<id>.jsonl."""
    stem = name.rpartition("/")[2].removesuffix(".zst").removesuffix(".jsonl")
    return stem[-36:] if stem.startswith("rollout-") else stem


def _unpacked(file: IO[bytes]) -> Any:
    if importlib.util.find_spec("zstandard") is None:
        return None
    return importlib.import_module("zstandard").ZstdDecompressor().stream_reader(file, read_size=1 << 18)


def read_lines(
    lines: Iterable[tuple[int, dict[str, Any]] | Omission], stem: str, where: str, first: int = 1
) -> Iterator[Record]:
    """Yield what a rollout's lines hold; `first` is the number of the first of them."""
    thread: Thread | None = None
    seen_ids: set[str] = set()
    for number, one in enumerate(lines, first):
        if isinstance(one, Omission):
            yield one
            continue
        kind, payload = _payload(one[1])
        if kind == "session_meta" and thread is None:
            if "subagent" in mapping(payload.get("source")):
                yield Omission("a subagent's session", where)
                return
            thread = Thread(text_or_none(payload.get("id")) or stem, folder=text_or_none(payload.get("cwd")))
            yield thread
        elif kind != "response_item":
            yield from [Omission(_word(kind), where)] if kind != "session_meta" else []
        else:
            if thread is None:
                thread = Thread(stem)
                yield thread
            at = one[1].get("timestamp") or payload.get("timestamp")
            for record in _item(thread.id, number, payload, at, where):
                if isinstance(record, HistoryMessage) and record.id in seen_ids:
                    yield Omission("an item that is there twice", where)
                    continue
                seen_ids |= {record.id} if isinstance(record, HistoryMessage) else set()
                yield record


def _payload(line: dict[str, Any]) -> tuple[str, Any]:
    """Return a line's type and what it carries; older files have no envelope."""
    kind = line.get("type")
    if isinstance(line.get("payload"), dict):
        return str(kind), line["payload"]
    if kind in _ITEMS:
        return "response_item", line
    if kind is None and "id" in line and "timestamp" in line:
        return "session_meta", line
    return f"state {line['record_type']}" if "record_type" in line else str(kind), line


def _word(kind: str) -> str:
    return {"event_msg": "an event that repeats others", "compacted": "a machine's recap"}.get(
        kind, f"a line of type {kind!r}"
    )


def _item(thread: str, number: int, item: Any, time: Any, where: str) -> Iterator[Record]:
    kind = item.get("type")
    at = from_iso(time)
    call_id = text_or_none(item.get("call_id"))
    if kind == "message":
        yield from _message(thread, number, item, at, where)
    elif kind in _CALLS:
        name = text_or_none(item.get("name")) or str(kind).removesuffix("_call")
        arguments = item.get("arguments", item.get("input", item.get("action")))
        id_ = call_id or text_or_none(item.get("id")) or f"line-{number}"
        yield HistoryMessage(
            thread, id_, "assistant", at=at, tool_name=name, tool_args=_parsed(arguments), call_id=call_id
        )
    elif kind in _OUTPUTS:
        output = item.get("output", item.get("tools"))
        text = result_text(mapping(output).get("content", output))
        yield HistoryMessage(
            thread, f"{call_id or f'line-{number}'}:output", "tool", at=at, tool_result=text, call_id=call_id
        )
    elif kind == "reasoning":
        yield Omission("thinking", where)
    else:
        yield Omission(f"an item of type {kind!r}", where)


def _message(thread: str, number: int, item: Any, at: Any, where: str) -> Iterator[Record]:
    role = item.get("role")
    parts = [mapping(part) for part in sequence(item.get("content"))]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    if role not in {"user", "assistant"}:
        yield Omission(f"a message of role {role!r}", where)
        return
    if role == "user":
        own = [without_injected(text) for text in texts if not text.lstrip().startswith(_INJECTED)]
        if len(own) < len(texts):
            yield Omission("injected text", where, len(texts) - len(own))
        texts = own
    attachments = tuple(
        given(type="image", url=_address(part)) for part in parts if part.get("type") in {"input_image", "output_image"}
    )
    text = "\n".join(text for text in texts if text)
    if text or attachments:
        id_ = text_or_none(item.get("id")) or f"line-{number}"
        yield HistoryMessage(thread, id_, role, text, at=at, attachments=attachments)


def _address(part: Any) -> str | None:
    url = part.get("image_url")
    return url[:2000] if isinstance(url, str) and not url.startswith("data:") else None


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return {"input": arguments}
