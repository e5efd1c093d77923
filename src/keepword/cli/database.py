"""keepword db: the schema."""

import typer

from keepword.cli.local import database
from keepword.postgres import migrate as migrations

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
def status() -> None:
    """List the migrations; exits 1 if some are pending."""
    with database() as conninfo:
        migration_status = migrations.status(conninfo)
    for name in migration_status.applied:
        print(f"applied  {name}")
    for name in migration_status.pending:
        print(f"pending  {name}")
    raise typer.Exit(1 if migration_status.pending else 0)
