"""Writes the hooks into a host's settings, beside what is there, and takes exactly these out again."""

import json
import os
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepword.errors import InvalidInput
from keepword.hooks.changes import Change, parse_object, read_text
from keepword.hooks.configuration import config_file
from keepword.hooks.hosts import HOSTS

_MARK = "hook"

Hooks = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Installation:
    """`file` holds a host's hooks. `make_hooks` returns them, for the command that they call."""

    host: str
    file: Path
    make_hooks: Callable[[str], Hooks]
    has_version: bool = False


def installation(host: str, home: Path, project: Path | None = None) -> Installation:
    """Return where a host's hooks are: the user's, or with `project` that folder's own."""
    base = project or home
    if host == "claude-code":
        return Installation(host, base / ".claude" / "settings.json", _claude_code)
    if host == "codex":
        return Installation(host, base / ".codex" / "hooks.json", _codex)
    if host == "gemini":
        return Installation(host, base / ".gemini" / "settings.json", _gemini)
    if host == "cursor":
        return Installation(host, base / ".cursor" / "hooks.json", _cursor, has_version=True)
    raise InvalidInput(f"{host!r} is no host with hooks; there are: {', '.join(HOSTS)}", "host")


def changes(place: Installation, command: str | None) -> list[Change]:
    """Return what is to be written so that the hooks call this command; None takes them out.

    Raises InvalidInput for a file that can't be read: it stays as it is.
    """
    before = read_text(place.file)
    value = parse_object(place.file, before)
    hooks = _hooks(place, value)
    for event in list(hooks):
        hooks[event] = [kept for one in hooks[event] if (kept := _without_ours(one)) is not None]
        if not hooks[event]:
            del hooks[event]
    for event, entries in (place.make_hooks(command) if command else {}).items():
        hooks.setdefault(event, []).extend(entries)
    if hooks or "hooks" in value:
        value["hooks"] = hooks
    if not hooks:
        value.pop("hooks", None)
    if place.has_version and hooks:
        value = {"version": value.pop("version", 1)} | value
    after = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    is_same = before is not None and json.loads(before or "{}") == value
    found = [Change(place.file, before, before if is_same and before is not None else after)]
    if place.host == "codex" and command:
        found.append(_codex_feature(place.file.with_name("config.toml")))
    return [one for one in found if one.is_needed and not (one.before is None and command is None)]


def is_installed(place: Installation) -> bool:
    hooks = _hooks(place, parse_object(place.file, read_text(place.file)))
    return any(_is_ours(inner) for entries in hooks.values() for one in entries for inner in _commands(one))


def hook_settings(url: str, user: str, key_file: str | None) -> Change | None:
    """Return the hooks' own settings, where there are none yet."""
    file = config_file()
    if file.exists():
        return None
    lines = [f"url = {json.dumps(url)}", f"user = {json.dumps(user)}"]
    lines += [f"key_file = {json.dumps(key_file)}"] if key_file else []
    lines += [
        'mode = "on"                # on, store, recall, off',
        "folders = []               # only below these; none: all",
    ]
    return Change(file, None, "\n".join(lines) + "\n")


def command_of(program: Path) -> str:
    return shlex.quote(str(program))


def _hooks(place: Installation, value: dict[str, Any]) -> Hooks:
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise InvalidInput(f"`hooks` in {place.file} is no object of lists; the file was not changed")
    return {event: list(entries) for event, entries in hooks.items()}


def _commands(entry: Any) -> list[Any]:
    """Return what an entry calls: some hosts nest commands below a matcher, some do not."""
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    return inner if isinstance(inner, list) else [entry]


def _is_ours(inner: Any) -> bool:
    command = inner.get("command") if isinstance(inner, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return len(words) > 1 and Path(words[0]).name == "keepword" and words[1] == _MARK


def _without_ours(entry: Any) -> Any:
    if not isinstance(entry, dict) or not isinstance(entry.get("hooks"), list):
        return None if _is_ours(entry) else entry
    kept = [inner for inner in entry["hooks"] if not _is_ours(inner)]
    return {**entry, "hooks": kept} if kept or not entry["hooks"] else None


def _called(command: str, host: str, event: str, seconds: int, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": f"{command} {_MARK} {host} {event}", "timeout": seconds, **more}


def _claude_code(command: str) -> Hooks:
    def called(event: str, seconds: int, **more: Any) -> list[Any]:
        return [_called(command, "claude-code", event, seconds, **more)]

    return {
        "SessionStart": [{"matcher": "startup|resume|clear|compact", "hooks": called("session-start", 5)}],
        "UserPromptSubmit": [{"hooks": called("prompt", 5)}],
        "Stop": [{"hooks": called("stop", 30, **{"async": True})}],
        "PreCompact": [{"hooks": called("stop", 30)}],
        "SessionEnd": [{"hooks": called("stop", 10)}],
    }


def _codex(command: str) -> Hooks:
    def called(event: str, seconds: int) -> list[Any]:
        return [{"hooks": [_called(command, "codex", event, seconds)]}]

    return {
        "SessionStart": called("session-start", 5), "UserPromptSubmit": called("prompt", 5), "Stop": called("stop", 30),
        "PreCompact": called("stop", 30), "SessionEnd": called("stop", 10),
    }  # fmt: skip


def _gemini(command: str) -> Hooks:
    def called(event: str, seconds: int) -> list[Any]:
        # this host counts milliseconds
        return [{"hooks": [_called(command, "gemini", event, seconds * 1000, name=f"keepword-{event}")]}]

    return {
        "SessionStart": called("session-start", 5),
        "BeforeAgent": called("prompt", 5),
        "AfterAgent": called("stop", 30),
        "PreCompress": called("stop", 30),
        "SessionEnd": called("stop", 10),
    }


def _cursor(command: str) -> Hooks:
    def called(event: str, seconds: int) -> list[Any]:
        return [{"command": f"{command} {_MARK} cursor {event}", "timeout": seconds}]

    return {
        "sessionStart": called("session-start", 5),
        "beforeSubmitPrompt": called("prompt", 5),
        "stop": called("stop", 30),
    }


def _codex_feature(file: Path) -> Change:
    """Return config.toml with hooks switched on; its other lines stay as they are."""
    before = read_text(file)
    try:
        value = tomllib.loads(before or "")
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInput(f"{file} is no TOML ({exc}); nothing was changed") from exc
    features = value.get("features", {})
    if not isinstance(features, dict) or features.get("hooks") is True:
        return Change(file, before, before or "")
    if "hooks" in features:
        raise InvalidInput(
            f"{file} says hooks = false under [features]; nothing was changed. Set it to true, or leave it"
        )
    lines = (before or "").splitlines()
    heads = [number for number, line in enumerate(lines) if line.strip() == "[features]"]
    if heads:
        lines.insert(heads[0] + 1, "hooks = true")
    elif "features" in value:
        raise InvalidInput(f"{file} writes features in a way that is not changed here; add hooks = true to it")
    else:
        lines += [*([""] if lines else []), "[features]", "hooks = true"]
    return Change(file, before, "\n".join(lines) + os.linesep)
