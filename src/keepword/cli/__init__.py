"""The command line: thin commands that parse, call and print."""

import sys

import typer

from keepword import __version__
from keepword.cli import (
    agents,
    archive,
    composing,
    database,
    demo,
    facts,
    keys,
    mcp,
    memory,
    messages,
    searching,
    serving,
)
from keepword.errors import KeepwordError

app = typer.Typer(
    name="keepword",
    help="Keepword: a memory service for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serving.serve)
app.command("worker")(serving.worker)
app.command("embed")(serving.embed)
app.command("doctor")(serving.doctor)
app.command("append")(messages.append)
app.command("browse")(messages.browse)
app.command("search")(searching.search)
app.command("stats")(searching.stats)
app.command("mcp")(mcp.mcp)
app.command("compose")(composing.compose)
app.command("demo")(demo.demo)
app.command("export")(archive.export)
app.command("import")(archive.import_)
app.add_typer(facts.app, name="facts")
app.add_typer(agents.app, name="agents")
app.add_typer(memory.app, name="memory")
app.add_typer(keys.app, name="keys")
app.add_typer(database.app, name="db")


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    try:
        app()
    except KeepwordError as exc:
        print(f"keepword: {exc}", file=sys.stderr)
        sys.exit(1)
