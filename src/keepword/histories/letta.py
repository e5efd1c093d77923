"""Letta's agent files (.af): agents with their messages and memory blocks."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from keepword.errors import TooLarge
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryFile,
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

MAX_BYTES = 256 << 20
_TALK = "user_message"
_SAID_BY = "send_message"


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise TooLarge(f"{where} is over {MAX_BYTES >> 20} MiB; an agent file is read as a whole")
        try:
            value = json.loads(raw)
            # some were encoded twice
            value = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError) as exc:
            yield Omission(f"a file that is no JSON ({exc})", where)
            continue
        yield from _file(mapping(value), where)


def _file(value: Mapping[str, Any], where: str) -> Iterator[Record]:
    blocks = {str(mapping(one).get("id")): mapping(one) for one in sequence(value.get("blocks"))}
    agents = sequence(value.get("agents")) or ([value] if "messages" in value else [])
    for number, raw in enumerate(agents):
        agent = mapping(raw)
        own = [blocks[str(one)] for one in sequence(agent.get("block_ids")) if str(one) in blocks]
        own += [mapping(one) for one in sequence(agent.get("core_memory"))]
        yield from _agent(agent, own, f"{where} {agent.get('name') or number}")
    if not agents:
        yield Omission("a file without agents", where)
    for name in ("files", "sources", "tools", "mcp_servers", "skills"):
        if sequence(value.get(name)):
            yield Omission(f"{name} of the agent file", where, len(value[name]))


def _agent(agent: Mapping[str, Any], blocks: list[Mapping[str, Any]], where: str) -> Iterator[Record]:
    name = text_or_none(agent.get("name")) or text_or_none(agent.get("id")) or "agent"
    for block in blocks:
        if isinstance(block.get("value"), str) and block["value"].strip():
            yield HistoryFile(name, f"{block.get('label') or block.get('id')}.md", block["value"])
    yield Thread(name, title=text_or_none(agent.get("description")) or name)
    for number, raw in enumerate(sequence(agent.get("messages"))):
        yield from _message(name, number, mapping(raw), where)


def _message(thread: str, number: int, message: Mapping[str, Any], where: str) -> Iterator[Record]:
    role, at = message.get("role"), from_iso(message.get("created_at"))
    id_ = text_or_none(message.get("id")) or f"message-{number}"
    text = _text(message)
    if role == "system":
        yield Omission("a system prompt", where)
    elif role == "tool":
        yield _result(thread, id_, message, text, at)
    elif role == "user":
        spoken_text = _said(text)
        yield HistoryMessage(thread, id_, "user", spoken_text, at=at) if spoken_text else Omission("a heartbeat", where)
    elif role == "assistant":
        if text.strip() and not sequence(message.get("tool_calls")):
            yield HistoryMessage(thread, id_, "assistant", text, at=at)
        elif text.strip():
            yield Omission("thinking", where)  # what it says beside its calls nobody was shown
        for call in map(mapping, sequence(message.get("tool_calls"))):
            yield _call(thread, id_, call, at)
    else:
        yield Omission(f"a message of role {role!r}", where)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    texts = [mapping(part).get("text") for part in sequence(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(text: str) -> str:
    """Return what a person said: Letta wraps it into JSON, and writes its own heartbeats the same way."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = mapping(json.loads(text))
    except (ValueError, RecursionError):
        return text
    if "type" not in value:
        return text
    return str(value.get("message") or "") if value["type"] == _TALK else ""


def _call(thread: str, id_: str, call: Mapping[str, Any], at: Any) -> HistoryMessage:
    function = mapping(call.get("function"))
    name, arguments = text_or_none(function.get("name")) or "tool", function.get("arguments")
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        arguments = {"input": arguments}
    call_id = text_or_none(call.get("id"))
    if name == _SAID_BY and isinstance(said := mapping(arguments).get("message"), str):
        return HistoryMessage(thread, f"{id_}:{call_id}", "assistant", said, at=at)
    return HistoryMessage(
        thread, f"{id_}:{call_id}", "assistant", at=at, tool_name=name, tool_args=arguments, call_id=call_id
    )


def _result(thread: str, id_: str, message: Mapping[str, Any], text: str, at: Any) -> HistoryMessage:
    returned = [mapping(one) for one in sequence(message.get("tool_returns"))]
    call_id = text_or_none(message.get("tool_call_id")) or next(
        (text_or_none(one.get("tool_call_id")) for one in returned), None
    )
    return HistoryMessage(
        thread, id_, "tool", at=at, tool_name=text_or_none(message.get("name")), tool_result=text, call_id=call_id,
        metadata=given(status=next((one.get("status") for one in returned), None)),
    )  # fmt: skip
