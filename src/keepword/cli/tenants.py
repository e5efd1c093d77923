"""keepword tenants: on which server each lives."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from keepword.cli.server_list import connected, doubled, tenants_of
from keepword.cli.server_list import place as place_tenant
from keepword.cli.tenant_moves import add_move
from keepword.config import read_settings
from keepword.model import check_name
from keepword.postgres import directory

app = typer.Typer(help="Tenants, and the servers that they live on.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the tenants of all servers; exits 1 if one is away, or a tenant is on two."""
    settings = read_settings().settings
    with connected(settings) as servers:
        places = tenants_of(servers)
        is_first_up = settings.servers[0].name in servers.connections
        placed = directory.placed_names(servers.first) if is_first_up else []
        faults = dict(servers.faults)
    table = Table()
    for heading in ("tenant", "server", "keys", "made"):
        table.add_column(heading, overflow="fold")
    for one in places:
        table.add_row(one.tenant.name, one.server, str(one.tenant.keys), f"{one.tenant.created_at:%Y-%m-%d}")
    for name, server in placed:
        table.add_row(name, server, "0", "not yet")
    Console(markup=False).print(table)
    for name, fault in faults.items():
        typer.echo(f"the tenants of {name} are not shown: {fault}", err=True)
    twice = doubled(places)
    for tenant in twice:
        typer.echo(f"{tenant} is on two servers; see docs/howto/production.md, Several servers", err=True)
    raise typer.Exit(1 if faults or twice else 0)


@app.command()
def place(
    tenant: Annotated[str, typer.Argument(help="The name of a tenant that is not there yet.")],
    on: Annotated[str | None, typer.Option(help="The server; default: the emptiest that is not drained.")] = None,
) -> None:
    """Decide on which server a tenant is made by its first `keepword keys create` or `keepword import`."""
    check_name(tenant, "name")
    chosen = place_tenant(read_settings().settings, tenant, on)
    print(f"{tenant} will be made on {chosen}")


add_move(app)
