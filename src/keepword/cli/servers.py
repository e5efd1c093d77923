"""keepword servers: the PostgreSQL servers that share the tenants."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from keepword.cli.server_list import Connected, connected, tenants_of
from keepword.config import DatabaseServer, read_settings
from keepword.postgres import directory, migrate
from keepword.postgres.replicas import name_of

app = typer.Typer(help="The PostgreSQL servers of KEEPWORD_SERVERS.", no_args_is_help=True)


@app.command()
def status() -> None:
    """Show each server: whether it answers, its schema, its tenants, its size; exits 1 if one is away or behind."""
    settings = read_settings().settings
    table = Table()
    for heading in ("server", "at", "state", "schema", "tenants", "size"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "server")
    is_well = True
    with connected(settings) as servers:
        draining = directory.draining(servers.first) if settings.servers[0].name in servers.connections else frozenset()
        for server in settings.servers:
            row, is_fine = _describe(servers, server, is_draining=server.name in draining)
            table.add_row(*row)
            is_well = is_well and is_fine
        faults = dict(servers.faults)
    Console(markup=False).print(table)
    for name, fault in faults.items():
        typer.echo(f"{name}: {fault}", err=True)
    raise typer.Exit(0 if is_well else 1)


def _describe(servers: Connected, server: DatabaseServer, *, is_draining: bool) -> tuple[tuple[str, ...], bool]:
    url = server.url.get_secret_value()
    conn = servers.connections.get(server.name)
    if conn is None:
        return (server.name, name_of(url), "away", "", "", ""), False
    schema = migrate.status(url)
    behind = f"{len(schema.pending)} pending" if schema.pending else "newest"
    size, tenants = directory.fullness(conn)
    state = "draining" if is_draining else "up"
    return (server.name, name_of(url), state, behind, f"{tenants:,}", f"{size / 1e6:,.0f} MB"), not schema.pending


@app.command()
def drain(
    server: Annotated[str, typer.Argument(help="The server's name in KEEPWORD_SERVERS.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let new tenants be made there again.")] = False,
) -> None:
    """Make no new tenant on a server, and list those that are still there."""
    settings = read_settings().settings
    name = settings.server(server).name
    with connected(settings) as servers:
        if undo:
            directory.undrain(servers.first, name)
            print(f"new tenants are made on {name} again")
            return
        directory.drain(servers.first, name)
        here = [one.tenant.name for one in tenants_of(servers) if one.server == name]
        is_away = name in servers.faults
    for tenant in here:
        print(tenant)
    there = "it is away, so its tenants are not known" if is_away else f"{len(here)} tenants are still there"
    typer.echo(f"no new tenant is made on {name}; {there}", err=True)
