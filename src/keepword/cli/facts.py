"""keepword facts: exact values under a key."""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepword.cli.service import AsAgent, AsUser, service
from keepword.client.transport import segment
from keepword.errors import InvalidInput
from keepword.facts.text import items, members
from keepword.terminal import shown, visible

app = typer.Typer(help="Facts: exact values under a key.", no_args_is_help=True)

ScopeKind = Annotated[str, typer.Argument(help="user, project, room or global.")]
ScopeId = Annotated[str, typer.Argument(help="The user's, project's or room's id; - for global.")]
Key = Annotated[str, typer.Argument(help="The fact's key.")]
Place = Annotated[str | None, typer.Option("--conversation", help="Do it in this conversation's place.")]

_PAGE = 200


@app.command()
def get(
    scope_kind: ScopeKind, scope_id: ScopeId, key: Key,
    conversation: Place = None, agent: AsAgent = None, user: AsUser = None,
) -> None:  # fmt: skip
    """Print a fact's value, as JSON."""
    with service(agent, user) as kw:
        fact = kw.request("GET", _path(scope_kind, scope_id, key), query={"conversation": conversation})
    print(shown(members(fact)["value"]))


@app.command("set")
def set_(
    scope_kind: ScopeKind,
    scope_id: ScopeId,
    key: Key,
    value: Annotated[str | None, typer.Argument(help="The value as JSON; without it, it is read from a pipe.")] = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="Declare: string, number, integer, boolean, object or array.")
    ] = None,
    version: Annotated[int | None, typer.Option(help="Only if it is at this version; 0: only if it is new.")] = None,
    source: Annotated[str | None, typer.Option(help="The id of the message that it comes from.")] = None,
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    conversation: Place = None,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Write a fact and print it."""
    options = {"type": type_, "version": version, "source": source, "confidence": confidence}
    body = _body(_json(value), {name: part for name, part in options.items() if part is not None})
    with service(agent, user) as kw:
        query = {"conversation": conversation}
        print(shown(kw.request("PUT", _path(scope_kind, scope_id, key), body=body, query=query)))


@app.command("list")
def list_(
    scope_kind: ScopeKind, scope_id: ScopeId, conversation: Place = None, agent: AsAgent = None, user: AsUser = None
) -> None:
    """List all facts of a scope: a table on a terminal, JSON lines in a pipe."""
    with service(agent, user) as kw:
        read = partial(kw.request, "GET", _path(scope_kind, scope_id))
        lines = list(_all(read, conversation))
    if sys.stdout.isatty():
        _show(lines)
    else:
        for fact in lines:
            print(fact)


def _path(*parts: str) -> str:
    return "/".join(("/v1/facts", *(segment(part, "name") for part in parts)))


def _all(read: Callable[..., str], conversation: str | None) -> Iterator[str]:
    """Yield the facts of all pages, each as the text that it has."""
    cursor = None
    while True:
        page = members(read(query={"conversation": conversation, "limit": _PAGE, "cursor": cursor}))
        yield from items(page["facts"])
        cursor = json.loads(page["next"])
        if cursor is None:
            break


def _json(value: str | None) -> str:
    if value is None and sys.stdin.isatty():
        raise InvalidInput("say the value, or pipe it in", "value")
    text = (sys.stdin.read() if value is None else value).strip()
    try:
        json.loads(text, parse_int=str)
    except ValueError as exc:
        raise InvalidInput(f"the value is not JSON ({exc}); a text needs quotes: '\"30m\"'", "value") from exc
    return text


def _body(value: str, options: dict[str, Any]) -> str:
    # the value's own text: reading it here could only change it
    return f'{{"value":{value},{json.dumps(options)[1:-1]}'.rstrip(",") + "}"


def _show(lines: list[str]) -> None:
    table = Table()
    for heading in ("key", "value", "type", "version", "changed"):
        table.add_column(heading, overflow="fold")
    for fact in lines:
        shown, value = json.loads(fact, parse_int=str), members(fact)["value"]
        cells = (shown["key"], value, shown["type"] or "", shown["version"], shown["updated_at"][:19].replace("T", " "))
        table.add_row(*(Text(visible(cell)) for cell in cells))
    Console().print(table)
