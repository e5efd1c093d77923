"""The hosts: how each names its events, and what its answers look like."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Event = Literal["session-start", "prompt", "stop"]
EVENTS: tuple[Event, ...] = ("session-start", "prompt", "stop")

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Host:
    """`kind` is that of the history its transcripts have, `session_field` where an event names the session."""

    name: str
    title: str
    kind: str
    events: Mapping[Event, str]
    session_field: str
    context: Callable[[str, str], Answer]
    notice: Callable[[str], Answer]


def _specific(event: str, text: str) -> Answer:
    # hosts discard an additionalContext that stands alone
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _system_message(text: str) -> Answer:
    return {"systemMessage": text}


def _cursor_context(_: str, text: str) -> Answer:
    return {"continue": True, "additional_context": text}


def _nothing(_: str) -> Answer:
    return {}


HOSTS = {
    host.name: host
    for host in (
        Host(
            "claude-code", "Claude Code", "claude-code",
            {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop"},
            "session_id", _specific, _system_message,
        ),
        Host(
            "codex", "Codex", "codex",
            {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop"},
            "session_id", _specific, _system_message,
        ),
        Host(
            "gemini", "Gemini CLI", "gemini-cli",
            {"session-start": "SessionStart", "prompt": "BeforeAgent", "stop": "AfterAgent"},
            "session_id", _specific, _system_message,
        ),
        Host(
            "cursor", "Cursor", "cursor",
            {"session-start": "sessionStart", "prompt": "beforeSubmitPrompt", "stop": "stop"},
            "conversation_id", _cursor_context, _nothing,
        ),
    )
}  # fmt: skip
