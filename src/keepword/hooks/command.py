"""`keepword hook HOST EVENT`: what a host calls. It loads no service, answers in time, and never fails its host."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from keepword.errors import KeepwordError
from keepword.hooks import recall
from keepword.hooks.configuration import read_hook_settings, state_folder
from keepword.hooks.hosts import EVENTS, HOSTS, Host
from keepword.hooks.keep import keep, keep_message
from keepword.hooks.service import Service
from keepword.hooks.session import HookSession

# a host waits 5 s for a prompt; nobody should notice
CONTEXT_SECONDS = 1.5
KEEP_SECONDS = 25
_LOG_BYTES = 256 * 1024
_MAX_EVENT_BYTES = 16 << 20


class _OutOfTime(Exception):
    pass


def main() -> None:
    """Answer one event. Whatever happens, the answer is JSON and the exit status 0."""
    answer: dict[str, Any] = {}
    arguments = sys.argv[2:]
    try:
        answer = _answer(arguments)
    except _OutOfTime:
        _log(arguments, "out of time")
    except Exception as exc:  # noqa: BLE001 - the outermost handler: a host must not fail because of its memory
        _log(arguments, f"{type(exc).__name__}: {exc}")
        answer = _notice(arguments, exc)
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    # nothing is left to tidy up, and that would take time
    os._exit(0)


def _answer(arguments: list[str]) -> dict[str, Any]:
    host, event = _named(arguments)
    seconds = KEEP_SECONDS if event == "stop" else CONTEXT_SECONDS
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    event_fields = json.loads(sys.stdin.buffer.read(_MAX_EVENT_BYTES) or b"{}")
    settings = read_hook_settings()
    folder = _folder(event_fields)
    session_id = event_fields.get(host.session_field)
    if settings.mode == "off" or not settings.takes(folder) or not isinstance(session_id, str) or not session_id:
        return {}
    session = HookSession(host, session_id, folder, settings, Service(settings.url, settings.key, seconds))
    name = str(event_fields.get("hook_event_name") or host.events[event])
    if event == "stop":
        _keep(session, event_fields)
        return {}
    return _context(session, event, name, event_fields)


def _context(session: HookSession, event: str, name: str, event_fields: dict[str, Any]) -> dict[str, Any]:
    prompt = event_fields.get("prompt")
    if session.host.name == "cursor" and event == "prompt" and isinstance(prompt, str):
        # its transcripts have no known form: the prompts are what there is
        _keep_prompt(session, prompt, event_fields)
    if session.settings.mode == "store":
        return {}
    begin = time.monotonic()
    text = (
        recall.for_prompt(session, prompt if isinstance(prompt, str) else "")
        if event == "prompt"
        else recall.for_start(session, event_fields.get("source"))
    )
    _log([session.host.name, event], f"{len(text or '')} characters in {time.monotonic() - begin:.3f} s")
    return session.host.context(name, text) if text else {}


def _keep(session: HookSession, event_fields: dict[str, Any]) -> None:
    transcript = event_fields.get("transcript_path")
    if session.settings.mode == "recall" or not isinstance(transcript, str) or session.host.name == "cursor":
        return
    kept = keep(session, Path(transcript).expanduser())
    _log([session.host.name, "stop"], f"kept {kept} messages of {session.conversation}")


def _keep_prompt(session: HookSession, prompt: str, event_fields: dict[str, Any]) -> None:
    generation = event_fields.get("generation_id")
    if session.settings.mode != "recall" and prompt.strip() and isinstance(generation, str):
        keep_message(session, "user", prompt, f"{generation}:prompt")


def _named(arguments: list[str]) -> tuple[Host, Any]:
    host, event, *_ = [*arguments, "", ""]
    if host not in HOSTS or event not in EVENTS:
        raise ValueError(f"keepword hook is called as HOST EVENT, with {', '.join(HOSTS)} and {', '.join(EVENTS)}")
    return HOSTS[host], event


def _folder(event_fields: dict[str, Any]) -> str | None:
    roots = event_fields.get("workspace_roots")
    folder = event_fields.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return folder if isinstance(folder, str) else None


def _notice(arguments: list[str], exc: Exception) -> dict[str, Any]:
    """Say once, at the beginning, that a session has no memory: it must not pass for one that has."""
    if (
        len(arguments) > 1
        and arguments[0] in HOSTS
        and arguments[1] == "session-start"
        and isinstance(exc, KeepwordError)
    ):
        return HOSTS[arguments[0]].notice(f"Keepword: this session has no memory: {exc}")
    return {}


def _ring(_: int, __: object) -> NoReturn:
    raise _OutOfTime


def _log(arguments: list[str], text: str) -> None:
    """Note what happened, in a file that does not grow for ever: hooks have no terminal."""
    try:
        file = state_folder() / "hooks.log"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file.exists() and file.stat().st_size > _LOG_BYTES:
            file.rename(file.with_suffix(".log.1"))
        with file.open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {' '.join(arguments[:2])}: {text[:500]}\n")
    except OSError:
        return
