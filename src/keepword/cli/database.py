"""keepword db: the schema."""

import typer

from keepword.cli.local import database
from keepword.erasure.tables import ERASED
from keepword.errors import Unavailable
from keepword.postgres import migrate as migrations
from keepword.postgres.erasures import rewrite_files

app = typer.Typer(help="The database's schema.", no_args_is_help=True)


@app.command()
def migrate() -> None:
    """Bring the database to the newest schema. Safe to run at any time, from several processes."""
    with database() as conninfo:
        before = migrations.status(conninfo)
        after = migrations.migrate(conninfo)
    for name in before.pending:
        print(f"applied  {name}")
    print(f"{len(after.applied)} migrations applied, {len(after.pending)} pending")


@app.command()
def rewrite() -> None:
    """Write the files of all tables anew that held words, whatever their size; each is locked meanwhile."""
    with database() as conninfo:
        if not rewrite_files(conninfo, ERASED, None):
            raise Unavailable("some tables are in use; nothing is lost by that. Run this again")
    print(f"{len(ERASED)} tables written anew")


@app.command()
def status() -> None:
    """List the migrations; exits 1 if some are pending."""
    with database() as conninfo:
        migration_status = migrations.status(conninfo)
    for name in migration_status.applied:
        print(f"applied  {name}")
    for name in migration_status.pending:
        print(f"pending  {name}")
    raise typer.Exit(1 if migration_status.pending else 0)
