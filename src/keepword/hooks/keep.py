"""Keeps what was said: reads a transcript from where the last call ended, and appends it line by line, each once."""

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepword.errors import Conflict, InvalidInput, NotFound
from keepword.histories import claude_code, codex, gemini_cli, json_stream
from keepword.histories.drafts import Draft
from keepword.histories.people import People
from keepword.histories.plan import Batch, Planner
from keepword.histories.records import HistoryMessage, Record, Thread
from keepword.histories.report import ImportReport
from keepword.hooks.configuration import state_folder
from keepword.hooks.session import HookSession

# of a transcript, read in one call of a hook: the next one goes on
MAX_READ_BYTES = 64 << 20
_CHUNK_BYTES = 4 << 20
_MAX_WHOLE_BYTES = 64 << 20


@dataclass(slots=True)
class _Progress:
    """How far a transcript was kept: `offset` and `lines` of one that grows, `sent` of one that is written anew."""

    offset: int = 0
    lines: int = 0
    sent: list[str] = field(default_factory=list)


def keep(session: HookSession, transcript: Path) -> int:
    """Append what is new in a transcript and return how many messages that were; a torn last line waits."""
    if not transcript.is_file():
        return 0
    with _locked(session) as (progress, save):
        if session.host.kind == "gemini-cli":
            return _keep_whole(session, transcript, progress, save)
        return _keep_growing(session, transcript, progress, save)


def keep_message(session: HookSession, role: Any, text: str, event_id: str) -> int:
    """Append one message that an event itself brought."""
    message = HistoryMessage(session.id, event_id, role, text)
    return _append(session, [Thread(session.id, folder=session.folder), message])


def _keep_growing(session: HookSession, transcript: Path, progress: _Progress, save: Any) -> int:
    kept = read = 0
    with transcript.open("rb") as file:
        # a transcript that shrank was written anew
        progress.offset = progress.offset if progress.offset <= os.fstat(file.fileno()).st_size else 0
        progress.lines = progress.lines if progress.offset else 0
        file.seek(progress.offset)
        while read < MAX_READ_BYTES and (chunk := _whole_lines(file)):
            kept += _append(session, _records(session, transcript, chunk, progress.lines + 1))
            read += len(chunk)
            progress.offset += len(chunk)
            progress.lines += chunk.count(b"\n")
            save()
    return kept


def _whole_lines(file: io.BufferedReader) -> bytes:
    """Return the next lines that are whole, at least one if there is one."""
    begin = file.tell()
    chunk = file.read(_CHUNK_BYTES)
    if b"\n" not in chunk:
        chunk += file.readline(json_stream.MAX_LINE_BYTES)
    whole = chunk[: chunk.rfind(b"\n") + 1]
    file.seek(begin + len(whole))
    return whole


def _records(session: HookSession, transcript: Path, chunk: bytes, first: int) -> Iterator[Record]:
    lines = json_stream.lines(io.BytesIO(chunk), transcript.name)
    yield Thread(session.id, folder=session.folder)
    if session.host.kind == "codex":
        yield from _of_session(session, codex.read_lines(lines, session.id, transcript.name, first))
    else:
        yield from _of_session(session, claude_code.read_lines(lines, session.id, transcript.name))


def _of_session(session: HookSession, records: Iterable[Record]) -> Iterator[Record]:
    """Yield what is of this session; one file may hold lines of another, which has hooks of its own."""
    for record in records:
        if isinstance(record, HistoryMessage) and record.thread == session.id:
            yield record


def _keep_whole(session: HookSession, transcript: Path, progress: _Progress, save: Any) -> int:
    if transcript.stat().st_size > _MAX_WHOLE_BYTES:
        return 0
    with transcript.open("rb") as file:
        if transcript.suffix == ".jsonl":
            records = list(gemini_cli.read_lines(json_stream.lines(file, transcript.name), transcript.name))
        else:
            records = list(gemini_cli.read_object(json_stream.elements(file, transcript.name, ""), transcript.name))
    sent = set(progress.sent)
    fresh = [one for one in _of_session(session, records) if isinstance(one, HistoryMessage) and _mark(one) not in sent]
    kept = _append(session, [Thread(session.id, folder=session.folder), *fresh])
    progress.sent += [_mark(one) for one in fresh]
    save()
    return kept


def _mark(message: HistoryMessage) -> str:
    return hashlib.sha256(f"{message.id}\n{message.text}".encode(errors="replace")).hexdigest()[:12]


def _append(session: HookSession, records: Iterable[Record]) -> int:
    options = session.options()
    report = ImportReport(options.kind)
    planner = Planner(options, People(options.kind, options.user, report), report)
    return sum(
        _send(session, list(item.drafts), may_make=True) for item in planner.items(records) if isinstance(item, Batch)
    )


def _send(session: HookSession, drafts: list[Draft], *, may_make: bool) -> int:
    """Append drafts; what is here with other content, or refused, is left out alone."""
    try:
        answer = session.service.call("POST", f"{session.path}/messages", drafts)
    except NotFound:
        if not may_make:
            raise
        session.make()
        return _send(session, drafts, may_make=False)
    except (Conflict, InvalidInput):
        if len(drafts) == 1:
            return 0
        middle = len(drafts) // 2
        return sum(_send(session, half, may_make=may_make) for half in (drafts[:middle], drafts[middle:]))
    return sum(1 for receipt in answer["messages"] if not receipt["duplicate"])


@contextmanager
def _locked(session: HookSession) -> Iterator[tuple[_Progress, Any]]:
    """Lend the progress of a session; two hooks of one session come one after the other."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(session.conversation.encode(errors="replace")).hexdigest()[:32]
    file = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress = _read(file)
        yield progress, lambda: _write(file, progress)


def _read(file: Path) -> _Progress:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        return _Progress(int(value["offset"]), int(value["lines"]), list(value["sent"]))
    except (OSError, ValueError, KeyError, TypeError):
        return _Progress()  # everything is sent again, and stored once


def _write(file: Path, progress: _Progress) -> None:
    partial = file.with_suffix(".partial")
    value = {"offset": progress.offset, "lines": progress.lines, "sent": progress.sent}
    partial.write_text(json.dumps(value), encoding="utf-8")
    partial.rename(file)
