"""keepword tenants move and clean: a tenant goes to another server while it is used."""

from typing import Annotated

import typer

from keepword.config import Settings, read_settings
from keepword.errors import BadSettings, InvalidInput
from keepword.postgres import moving

KEEP_DAYS = 7


def add_move(app: typer.Typer) -> None:
    """Add the commands to `keepword tenants`."""
    app.command("move")(move)
    app.command("clean")(clean)


def move(
    name: Annotated[str, typer.Argument(help="The tenant's name.")],
    to: Annotated[str | None, typer.Option(help="The server that shall have it, of those in KEEPWORD_SERVERS.")] = None,
    keep: Annotated[
        int, typer.Option(min=0, max=365, help="For how many days the old server keeps its copy; 0 drops it at once.")
    ] = KEEP_DAYS,
    undo: Annotated[bool, typer.Option("--undo", help="Take a move back that has not changed over yet.")] = False,
    through: Annotated[
        str | None, typer.Option(help="The old server's URL as the new server reaches it, where that is another one.")
    ] = None,
) -> None:
    """Move a tenant to another server while it is used, or go on with a move that was interrupted."""
    settings = read_settings().settings
    if undo:
        if to is not None:
            raise InvalidInput("--undo takes a move back, and needs no --to", "to")
        moving.undo(_servers(settings, None), name, _tell)
        return
    if to is None:
        raise InvalidInput("--to names the server that shall have the tenant", "to")
    closed_seconds = moving.move(_servers(settings, through), name, to, keep, _tell)
    print(
        f"{name} lives on {to}" + ("" if closed_seconds is None else f"; closed to writes for {closed_seconds:.2f} s")
    )


def clean(
    name: Annotated[str | None, typer.Argument(help="The tenant's name; default: all that are due.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Don't wait for the days that --keep gave them.")] = False,
) -> None:
    """Drop the copies that moved tenants left on their old servers, when their days are over."""
    dropped = moving.clean(_servers(read_settings().settings, None), name, now=now, report=_tell)
    print(f"dropped {dropped} old copies")


def _servers(settings: Settings, through: str | None) -> moving.Servers:
    if not settings.servers[1:]:
        raise BadSettings(
            "a tenant moves between the servers of KEEPWORD_SERVERS, which names fewer than two; set it to "
            "name=url name=url, the first one being that of the directory"
        )
    return moving.make_servers(
        [moving.ServerAddress(server.name, server.url.get_secret_value(), through) for server in settings.servers]
    )


def _tell(line: str) -> None:
    typer.echo(line, err=True)
