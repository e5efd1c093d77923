"""keepword hooks: coding agents get memory, and their sessions are kept."""

import difflib
import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from keepword.cli.service import address
from keepword.config import read_settings
from keepword.errors import InvalidInput, KeepwordError
from keepword.hooks import install as installing
from keepword.hooks.changes import Change
from keepword.hooks.configuration import URL, config_file, read_hook_settings, state_folder
from keepword.hooks.hosts import EVENTS, HOSTS
from keepword.hooks.mcp_entry import McpCommand, mcp_changes, mcp_file
from keepword.hooks.service import Service
from keepword.terminal import visible

app = typer.Typer(
    help="Hooks of coding agents: memory for their prompts, and what was said is kept.", no_args_is_help=True
)

HostName = Annotated[str, typer.Argument(help=f"{', '.join(HOSTS)}.")]
InProject = Annotated[
    Path | None, typer.Option("--project", help="In this folder's own settings instead of the user's.")
]
_LOG_LINES = 5


@app.command("install")
def install(
    host: HostName,
    project: InProject = None,
    user: Annotated[str | None, typer.Option(help="Who speaks; default: who is logged in here.")] = None,
    key_file: Annotated[str | None, typer.Option(help="A file with the API key that the hooks send.")] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="Add the MCP server as well: tools that the agent calls.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change.")] = False,
) -> None:
    """Add the hooks to a host's settings. What is there stays; the first time a backup is made."""
    place = installing.installation(host, Path.home(), project)
    needed = installing.changes(place, installing.command_of(program()))
    own = installing.hook_settings(address(read_settings().settings), user or getpass.getuser(), key_file)
    _apply([*needed, *([own] if own else [])], dry_run=dry_run)
    if not needed:
        print(f"{HOSTS[host].title} has the hooks already: {place.file}")
    if mcp:
        _install_mcp(host, project, key_file, dry_run=dry_run)


@app.command("uninstall")
def uninstall(
    host: HostName,
    project: InProject = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change.")] = False,
) -> None:
    """Take exactly these hooks, and the MCP server, out of a host's settings."""
    place = installing.installation(host, Path.home(), project)
    needed = installing.changes(place, None)
    _apply(needed, dry_run=dry_run)
    # a file may hold both
    entries = mcp_changes(host, mcp_file(host, Path.home(), project), None)
    _apply(entries, dry_run=dry_run)
    if not (needed or entries):
        print(f"{HOSTS[host].title} has no hooks of Keepword: {place.file}")


@app.command("status")
def status() -> None:
    """Say which hosts have the hooks, whether the service answers, and what the hooks did last."""
    for name, host in HOSTS.items():
        place = installing.installation(name, Path.home())
        try:
            state = "installed" if installing.is_installed(place) else "not installed"
        except InvalidInput as exc:
            state = str(exc)
        print(f"{host.title:12} {state}  {place.file}")
    settings = read_hook_settings()
    try:
        Service(settings.url, settings.key, 5).call("GET", "/v1/conversations")
        print(f"service      answers at {settings.url}; mode {settings.mode}, user {settings.user}  {config_file()}")
    except KeepwordError as exc:
        print(f"service      {exc}")
    log = state_folder() / "hooks.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    for line in lines[-_LOG_LINES:]:
        print(visible(line))


def hook(
    host: HostName,
    event: Annotated[str, typer.Argument(help=f"{', '.join(EVENTS)}.")],
) -> None:
    """Answer one event of a host, as JSON on the standard output; what the host says comes by the standard input."""
    raise InvalidInput(f"`keepword hook {host} {event}` must be the first words of the command line")


def program() -> Path:
    """Return the command of this installation, by its whole path: a host has a PATH of its own."""
    beside = Path(sys.executable).with_name("keepword")
    return beside if beside.exists() else Path(sys.argv[0]).resolve()


def _install_mcp(host: str, project: Path | None, key_file: str | None, *, dry_run: bool) -> None:
    url = address(read_settings().settings)
    command = McpCommand(str(program()), url if url != URL else None, key_file)
    file = mcp_file(host, Path.home(), project)
    needed = mcp_changes(host, file, command)
    _apply(needed, dry_run=dry_run)
    if not needed:
        print(f"{HOSTS[host].title} has the MCP server already: {file}")


def _apply(needed: list[Change], *, dry_run: bool) -> None:
    for change in needed:
        if dry_run:
            before, after = (change.before or "").splitlines(), change.after.splitlines()
            print("\n".join(difflib.unified_diff(before, after, str(change.file), str(change.file), lineterm="")))
        else:
            change.write()
            print(f"wrote {change.file}")
