"""keepword keys: make, list and revoke API keys."""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from rich.table import Table

from keepword.access.keys import parse_lifetime
from keepword.cli.local import database_of_new, on_each_as_owner
from keepword.errors import InvalidInput, KeepwordError, NotFound, Unavailable
from keepword.model import check_name, check_slug
from keepword.postgres import migrate
from keepword.postgres.keys import KeyLine, NewKey, list_keys, make_key, moved_key, revoke_key

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
    with database_of_new(tenant) as conninfo:
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
    keys = on_each_as_owner(list_keys)
    table = Table()
    headings = ("key", "tenant", "role", "agent", "user", "made", "state", *([] if "" in keys else ["server"]))
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "key")
    for server, line in [(server, line) for server, lines in keys.items() for line in lines]:
        created_on = f"{line.created_at:%Y-%m-%d}"
        where = [server] if server else []
        table.add_row(
            line.id, line.tenant, line.role, line.agent or "any", line.user or "any", created_on, _state(line), *where
        )
    Console(markup=False).print(table)


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="The key's id, as `keepword keys list` shows it.")],
) -> None:
    """Stop a key from working, from the next request on."""
    answers = on_each_as_owner(lambda conn: _revoke(conn, key)).values()
    if not any(answer.is_done for answer in answers):
        raise _not_revoked(key, next((answer.moved_to for answer in answers if answer.moved_to), None))
    print(f"revoked {key}")
    if not any(answer.is_one_left for answer in answers):
        typer.echo(
            "No key works any more, and calls without one stay refused; make one with: keepword keys create", err=True
        )


@dataclass(frozen=True, slots=True)
class _Revocation:
    """What one server says of a key that is to be revoked."""

    is_done: bool
    moved_to: str | None
    is_one_left: bool


def _revoke(conn: psycopg.Connection[Any], key: str) -> _Revocation:
    return _Revocation(revoke_key(conn, key), moved_key(conn, key), any(map(_works, list_keys(conn))))


def _not_revoked(key: str, moved_to: str | None) -> KeepwordError:
    if moved_to is None:
        return NotFound(f"no key {key!r}; `keepword keys list` shows their ids")
    return Unavailable(
        f"the key {key!r} is not revoked: its tenant lives on the server {moved_to!r}, which does not answer, or is on "
        "its way to another server; wait for the server, or finish the move (keepword tenants move), and try again"
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
