"""Claude Code's transcripts: a file of JSON lines for each session, in ~/.claude/projects."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from keepword.histories import json_stream
from keepword.histories.blocks import read_blocks
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
    text_or_none,
)
from keepword.histories.source import Source

_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}
_FLAGS = {
    "isMeta": "a line of the program's own",
    "isCompactSummary": "a machine's recap",
    "isSidechain": "a subagent's message",
    "forkedFrom": "a copy from another session",
}


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    seen: set[int] = set()
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            stem = name.rpartition("/")[2].removesuffix(".jsonl")
            yield from read_lines(json_stream.lines(file, where), stem, where, seen)


def read_lines(
    lines: Iterable[tuple[int, dict[str, Any]] | Omission], stem: str, where: str, seen: set[int] | None = None
) -> Iterator[Record]:
    """Yield what a transcript's lines hold. `stem` is the session of lines that name none."""
    seen = set() if seen is None else seen
    current: Thread | None = None
    for one in lines:
        if isinstance(one, Omission):
            yield one
            continue
        line = one[1]
        thread = _thread(line, stem, current)
        if thread != current:
            current = thread
            yield thread
        uuid = text_or_none(line.get("uuid")) or _digest(line)
        reason = _left_out(line)
        if reason is not None:
            yield from [Omission(reason, where)] if reason else []
        elif (key := _key(thread.id, uuid)) in seen:
            yield Omission("a line that is there twice", where)
        else:
            seen.add(key)
            yield from _message(thread.id, uuid, line, where)


def _thread(line: dict[str, Any], stem: str, current: Thread | None) -> Thread:
    session = text_or_none(line.get("sessionId")) or (current.id if current else stem)
    folder = text_or_none(line.get("cwd"))
    title = text_or_none(line.get(_TITLES.get(str(line.get("type")), "")))
    if current is None or current.id != session:
        return Thread(session, title=title, folder=folder)
    # a session stays where it began, whatever folder a command enters
    return replace(current, folder=current.folder or folder, title=title or current.title)


def _left_out(line: dict[str, Any]) -> str | None:
    """Return why a line is not imported; an empty text for a title, None if it is."""
    kind = line.get("type")
    if kind in _TITLES:
        return ""
    if kind not in {"user", "assistant"} or not mapping(line.get("message")):
        return f"a line of type {kind!r}"
    for flag, reason in _FLAGS.items():
        if line.get(flag):
            return reason
    return None


def _digest(line: dict[str, Any]) -> str:
    """Return an id for a line that has none: the same for the same line."""
    text = json.dumps(line, sort_keys=True)
    return f"line-{blake2b(text.encode(errors='replace'), digest_size=12).hexdigest()}"


def _key(thread: str, uuid: str) -> int:
    return int.from_bytes(blake2b(f"{thread}\n{uuid}".encode(errors="replace"), digest_size=8).digest(), "big")


def _message(thread: str, uuid: str, line: dict[str, Any], where: str) -> Iterator[Record]:
    message = mapping(line["message"])
    role = line["type"]
    metadata = given(model=message.get("model"), git_branch=line.get("gitBranch"))
    frame = HistoryMessage(thread, uuid, role, at=from_iso(line.get("timestamp")), metadata=metadata)
    for record in read_blocks(frame, message.get("content"), where):
        if not isinstance(record, HistoryMessage) or role == "assistant":
            yield record
            continue
        cleaned = replace(
            record,
            text=without_injected(record.text),
            tool_result=None if record.tool_result is None else without_injected(record.tool_result),
        )
        if cleaned.text or cleaned.tool_result is not None or cleaned.attachments:
            yield cleaned
        else:
            yield Omission("injected text", where)
