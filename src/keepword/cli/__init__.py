"""The command line: thin commands that parse, call and print."""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from keepword import __version__
from keepword.errors import KeepwordError
from keepword.terminal import visible

# where each command is; only the one that is asked for is loaded, because all together take most of a second
COMMANDS = {
    "serve": "serve.serve",
    "worker": "serve.worker",
    "embed": "serve.embed",
    "doctor": "serve.doctor",
    "append": "transcript.append",
    "browse": "transcript.browse",
    "retract": "transcript.retract",
    "erase": "erase.app",
    "search": "search.search",
    "stats": "search.stats",
    "mcp": "mcp.mcp",
    "compose": "compose.compose",
    "demo": "demo.demo",
    "export": "archive.export",
    "import": "archive.import_",
    "import-from": "import_from.import_from",
    "watch": "found_histories.watch",
    "init": "init.init",
    "hooks": "hooks.app",
    "hook": "hooks.hook",
    "version": "version.version",
    "facts": "facts.app",
    "agents": "agents.app",
    "users": "places.users",
    "rooms": "places.rooms",
    "projects": "places.projects",
    "conversations": "places.conversations",
    "memories": "memories.app",
    "jobs": "jobs.app",
    "memory": "jobs.memory",
    "keys": "keys.app",
    "settings": "settings.settings",
    "audit": "audit.audit",
    "webhooks": "webhooks.app",
    "db": "database.app",
    "servers": "servers.app",
    "tenants": "tenants.app",
}


def make_app(*names: str) -> typer.Typer:
    """Make the command line with these commands; without a name, with all."""
    app = typer.Typer(name="keepword", no_args_is_help=True, pretty_exceptions_enable=False, callback=_keepword)
    for name in names or COMMANDS:
        module, _, attribute = COMMANDS[name].partition(".")
        command = getattr(import_module(f"keepword.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(__version__)
        raise typer.Exit


def _keepword(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Keepword: a memory service for AI agents."""


def main() -> None:
    command_names = [name for name in sys.argv[1:2] if name in COMMANDS]
    try:
        # without a command it shows the list of commands, which is no failure
        make_app(*command_names)(sys.argv[1:] or ["--help"])
    except KeepwordError as exc:
        print(f"keepword: {visible(str(exc))}", file=sys.stderr)
        sys.exit(1)
    except SystemExit as exc:
        # a reader of a pipe, such as `head`, may stop early: that is no failure
        is_cut = isinstance(exc.__context__, BrokenPipeError)
        if is_cut or not _flushed():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0 if is_cut else exc.code)


def _flushed() -> bool:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return False
    return True
