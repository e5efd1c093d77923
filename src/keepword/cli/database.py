"""keepword db: the schema."""

from collections.abc import Mapping

import typer

from keepword.cli.local import on_each
from keepword.config import read_settings
from keepword.erasure.tables import ERASED
from keepword.errors import Unavailable
from keepword.postgres import migrate as migrations
from keepword.postgres.erasures import rewrite_files

app = typer.Typer(help="The database's schema.", no_args_is_help=True)


@app.command()
def migrate() -> None:
    """Bring the database to the newest schema. Safe to run at any time, from several processes."""
    states = on_each(lambda conninfo: (migrations.status(conninfo), migrations.migrate(conninfo)))
    for server, (before, after) in states.items():
        for name in before.pending:
            print(f"{_named(server)}applied  {name}")
        print(f"{_named(server)}{len(after.applied)} migrations applied, {len(after.pending)} pending")
    raise typer.Exit(0 if _are_all(states) else 1)


@app.command()
def rewrite() -> None:
    """Write the files of all tables anew that held words, whatever their size; each is locked meanwhile."""
    written = on_each(lambda conninfo: rewrite_files(conninfo, ERASED, None))
    if not all(written.values()):
        raise Unavailable("some tables are in use; nothing is lost by that. Run this again")
    for server in written:
        print(f"{_named(server)}{len(ERASED)} tables written anew")


@app.command()
def status() -> None:
    """List the migrations; exits 1 if some are pending."""
    states = on_each(migrations.status)
    for server, state in states.items():
        for name in state.applied:
            print(f"{_named(server)}applied  {name}")
        for name in state.pending:
            print(f"{_named(server)}pending  {name}")
    is_done = _are_all(states) and not any(state.pending for state in states.values())
    raise typer.Exit(0 if is_done else 1)


def _named(server: str) -> str:
    return f"{server}  " if server else ""


def _are_all(answers: Mapping[str, object]) -> bool:
    """Tell whether no server was left out."""
    return len(answers) == max(1, len(read_settings().settings.servers))
