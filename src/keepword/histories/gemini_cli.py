"""Gemini CLI's chats: one JSON object, or JSON lines with corrections, in ~/.gemini/tmp."""

from collections.abc import Iterable, Iterator
from typing import Any

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


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            if name.endswith(".jsonl"):
                yield from read_lines(json_stream.lines(file, where), where)
                continue
            yield from read_object(json_stream.elements(file, where, ""), where)


def read_object(elements: Iterable[Any], where: str) -> Iterator[Record]:
    """Yield what a session that is one object holds."""
    for one in elements:
        if isinstance(one, Omission):
            yield one
        else:
            session = mapping(one)
            yield from _session(session, sequence(session.get("messages")), where)


def read_lines(lines: Iterable[tuple[int, dict[str, Any]] | Omission], where: str) -> Iterator[Record]:
    """Yield a session as its corrections leave it: a message that came again replaces, a rewind takes back."""
    header: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for one in lines:
        if isinstance(one, Omission):
            yield one
            continue
        line = one[1]
        if "$rewindTo" in line:
            taken = _rewind(messages, line["$rewindTo"])
            yield Omission("a message that was taken back", where, taken)
        elif "$set" in line:
            changes = mapping(line["$set"])
            header |= {name: value for name, value in changes.items() if name != "messages"}
            if isinstance(changes.get("messages"), list):
                messages = {str(mapping(each).get("id")): each for each in changes["messages"]}
        elif "sessionId" in line and "type" not in line:
            header |= line
        elif text_or_none(line.get("id")):
            messages[str(line["id"])] = line
        else:
            yield Omission(f"a line of type {line.get('type')!r}", where)
    yield from _session(header, list(messages.values()), where)


def _rewind(messages: dict[str, Any], to: Any) -> int:
    ids = list(messages)
    begin = ids.index(to) if to in messages else 0
    for id_ in ids[begin:]:
        del messages[id_]
    return len(ids) - begin


def _session(header: Any, messages: list[Any], where: str) -> Iterator[Record]:
    thread = text_or_none(header.get("sessionId"))
    if thread is None:
        yield Omission("an object that is no session", where)
        return
    if header.get("kind") == "subagent":
        yield Omission("a subagent's session", where)
        return
    yield Thread(thread, title=text_or_none(header.get("summary")), project=text_or_none(header.get("projectHash")))
    for message in messages:
        yield from _message(thread, mapping(message), where)


def _message(thread: str, message: Any, where: str) -> Iterator[Record]:
    kind, id_ = message.get("type"), text_or_none(message.get("id"))
    if kind not in {"user", "gemini"} or id_ is None:
        yield Omission(f"a message of type {kind!r}", where)
        return
    at = from_iso(message.get("timestamp"))
    metadata = given(model=message.get("model"))
    text = _text(message.get("displayContent") or message.get("content"))
    if kind == "user":
        text = without_injected(text)
    if message.get("thoughts"):
        yield Omission("thinking", where, len(sequence(message["thoughts"])) or 1)
    if text.strip():
        role = "user" if kind == "user" else "assistant"
        yield HistoryMessage(thread, id_, role, text, at=at, metadata=metadata)  # type: ignore[arg-type]
    for number, call in enumerate(map(mapping, sequence(message.get("toolCalls")))):
        call_id = text_or_none(call.get("id")) or f"call-{number}"
        yield HistoryMessage(
            thread, f"{id_}:{call_id}", "assistant", at=at, tool_name=text_or_none(call.get("name")) or "tool",
            tool_args=call.get("args"), call_id=call_id, metadata=metadata,
        )  # fmt: skip
        if call.get("result") is not None:
            yield HistoryMessage(
                thread, f"{id_}:{call_id}:result", "tool", at=at, tool_name=text_or_none(call.get("name")),
                tool_result=result_text(call["result"]), call_id=call_id,
                metadata=given(is_error=call.get("status") == "error" or None),
            )  # fmt: skip


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return str(content.get("text") or "")
    parts = [part if isinstance(part, str) else mapping(part).get("text") for part in sequence(content)]
    return "\n".join(part for part in parts if isinstance(part, str) and part)
