"""Adds Keepword's MCP server to a host's settings, beside what is there, and takes exactly that out again."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepword.errors import InvalidInput
from keepword.hooks.changes import Change, parse_object, read_text

NAME = "keepword"
_JSON_KEY = "mcpServers"
_TOML_HEAD = f"[mcp_servers.{NAME}]"


@dataclass(frozen=True, slots=True)
class McpCommand:
    """What a host starts. A secret is never among these: `key_file` names where it is."""

    program: str
    url: str | None = None
    key_file: str | None = None

    def entry(self) -> dict[str, Any]:
        more = ["--key-file", self.key_file] if self.key_file else []
        return {"command": self.program, "args": ["mcp", *more]} | (
            {"env": {"KEEPWORD_URL": self.url}} if self.url else {}
        )


def mcp_file(host: str, home: Path, project: Path | None = None) -> Path:
    """Return where a host's MCP servers are: the user's, or with `project` that folder's own."""
    base = project or home
    if host == "claude-code":
        return base / ".mcp.json" if project else home / ".claude.json"
    return base / {"codex": ".codex/config.toml", "gemini": ".gemini/settings.json", "cursor": ".cursor/mcp.json"}[host]


def mcp_changes(host: str, file: Path, command: McpCommand | None) -> list[Change]:
    """Return what is to be written so that the host starts this command; None takes it out.

    Raises InvalidInput for a file that can't be read, or that has another server of this name: it stays as it is.
    """
    before = read_text(file)
    if before is None and command is None:
        return []
    entry = None if command is None else command.entry()
    if entry is not None and host == "claude-code":
        entry = {"type": "stdio"} | entry
    after = _in_toml(file, before, entry) if host == "codex" else _in_json(file, before, entry)
    change = Change(file, before, after)
    return [change] if change.is_needed else []


def _in_json(file: Path, before: str | None, entry: dict[str, Any] | None) -> str:
    value = parse_object(file, before)
    servers = value.get(_JSON_KEY, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"`{_JSON_KEY}` in {file} is no object; the file was not changed")
    _require_ours(file, servers.get(NAME))
    if servers.get(NAME) == entry:
        return before or ""
    others = {name: one for name, one in servers.items() if name != NAME}
    value[_JSON_KEY] = others | ({NAME: entry} if entry is not None else {})
    if not value[_JSON_KEY]:
        del value[_JSON_KEY]
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _in_toml(file: Path, before: str | None, entry: dict[str, Any] | None) -> str:
    try:
        value = tomllib.loads(before or "")
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInput(f"{file} is no TOML ({exc}); it was not changed") from exc
    servers = value.get("mcp_servers", {})
    stored = servers.get(NAME) if isinstance(servers, dict) else servers
    _require_ours(file, stored)
    if stored == entry:
        return before or ""
    lines = (before or "").splitlines()
    if stored is not None:
        lines = _without_table(file, lines)
    if entry is not None:
        lines += [*([""] if lines else []), _TOML_HEAD, *_toml_lines(entry)]
    return "\n".join(lines) + os.linesep if lines else ""


def _without_table(file: Path, lines: list[str]) -> list[str]:
    heads = [number for number, line in enumerate(lines) if line.strip() == _TOML_HEAD]
    if len(heads) != 1:
        raise InvalidInput(f"{file} writes mcp_servers.{NAME} in a way that is not changed here; take it out yourself")
    after = heads[0] + 1
    end = next(
        (number for number, line in enumerate(lines[after:], after) if line.lstrip().startswith("[")), len(lines)
    )
    kept = lines[: heads[0]]
    while kept and not kept[-1].strip():
        kept.pop()
    return [*kept, *([""] if kept and end < len(lines) else []), *lines[end:]]


def _toml_lines(entry: Mapping[str, Any]) -> list[str]:
    # JSON's strings and lists are TOML's as well
    lines = [f"{name} = {json.dumps(entry[name])}" for name in ("command", "args")]
    if "env" in entry:
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in entry["env"].items())
        lines.append(f"env = {{ {pairs} }}")
    return lines


def is_ours(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    args = entry.get("args")
    return Path(entry["command"]).name == NAME and isinstance(args, list) and args[:1] == ["mcp"]


def _require_ours(file: Path, entry: Any) -> None:
    if entry is not None and not is_ours(entry):
        raise InvalidInput(f"{file} has another MCP server that is called {NAME}; it was not changed. Rename that one")
