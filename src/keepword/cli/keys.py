"""keepword keys: make, list and revoke API keys."""

import shlex
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from keepword.access.keys import parse_lifetime
from keepword.cli.local import database
from keepword.errors import InvalidInput, NotFound
from keepword.model import check_name, check_slug
from keepword.postgres import migrate
from keepword.postgres.keys import KeyLine, NewKey, list_keys, make_key, revoke_key

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)

ROLES = ("admin", "agent", "reader")


@app.command()
def create(
    tenant: Annotated[str, typer.Option(help="The tenant; it is made if it is new.")],
    role: Annotated[str, typer.Option(help="admin, agent or reader.")],
    agent: Annotated[str | None, typer.Option(help="Bind the key to this agent's slug.")] = None,
    user: Annotated[str | None, typer.Option(help="Bind the key to this user; it is made if it is new.")] = None,
    expires: Annotated[str | None, typer.Option(help="How long it works, such as 90d, 12h or 1y.")] = None,
) -> None:
    """Make a key and show it, this once."""
    new = _new_key(tenant, role, agent, user, expires)
    with database() as conninfo:
        migrate.migrate(conninfo)
        with migrate.owner(conninfo) as conn:
            before = list_keys(conn)
            secret = make_key(conn, new)
    print(secret.text)
    typer.echo("This is the only time that it is shown. Send it as: Authorization: Bearer <key>", err=True)
    if new.expires_at:
        typer.echo(f"It works until {new.expires_at:%Y-%m-%d %H:%M} UTC.", err=True)
    if not before:
        typer.echo("It is the first: from now on every call needs a key, also on loopback.", err=True)
    if not _is_owners(new) and not any(_is_owners(line) and _works(line) for line in before if line.tenant == tenant):
        typer.echo(
            f"No key works that manages the tenant (users, rooms, projects, the whole of it); make one with: "
            f"keepword keys create --tenant {shlex.quote(tenant)} --role admin",
            err=True,
        )


@app.command("list")
def list_() -> None:
    """List all keys; secrets are not stored, so there are none to show."""
    with database() as conninfo, migrate.owner(conninfo) as conn:
        keys = list_keys(conn)
    table = Table()
    for heading in ("key", "tenant", "role", "agent", "user", "made", "state"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "key")
    for line in keys:
        created_on = f"{line.created_at:%Y-%m-%d}"
        table.add_row(
            line.id, line.tenant, line.role, line.agent or "any", line.user or "any", created_on, _state(line)
        )
    Console(markup=False).print(table)


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="The key's id, as `keepword keys list` shows it.")],
) -> None:
    """Stop a key from working, from the next request on."""
    with database() as conninfo, migrate.owner(conninfo) as conn:
        if not revoke_key(conn, key):
            raise NotFound(f"no key {key!r}; `keepword keys list` shows their ids")
        left = any(map(_works, list_keys(conn)))
    print(f"revoked {key}")
    if not left:
        typer.echo(
            "No key works any more, and calls without one stay refused; make one with: keepword keys create", err=True
        )


def _new_key(tenant: str, role: str, agent: str | None, user: str | None, expires: str | None) -> NewKey:
    check_name(tenant, "tenant")
    if agent is not None:
        check_slug(agent, "agent")
    if user is not None:
        check_name(user, "user")
    until = datetime.now(UTC) + parse_lifetime(expires) if expires is not None else None
    match role:
        case "admin" | "agent" | "reader":
            return NewKey(tenant, role, agent, user, until)
    raise InvalidInput(f"{role!r} is no role; known are: {', '.join(ROLES)}", "role")


def _is_owners(key: NewKey | KeyLine) -> bool:
    return key.role == "admin" and key.agent is None and key.user is None


def _works(line: KeyLine) -> bool:
    return not line.revoked_at and (line.expires_at is None or line.expires_at > datetime.now(UTC))


def _state(line: KeyLine) -> str:
    if line.revoked_at:
        return f"revoked {line.revoked_at:%Y-%m-%d}"
    if line.expires_at is None:
        return "works"
    return f"{'works until' if _works(line) else 'expired'} {line.expires_at:%Y-%m-%d}"
