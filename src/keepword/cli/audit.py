"""keepword audit: who changed rights or removed something."""

from typing import Annotated

import typer

from keepword.cli.service import read_pages, service
from keepword.cli.tables import minute, print_rows

_COLUMNS = {
    "at": lambda row: minute(row["at"]),
    "actor": lambda row: row["actor"],
    "key": lambda row: row["key"],
    "action": lambda row: row["action"],
    "place": lambda row: row["place"],
    "of": lambda row: " ".join(f"{name}={value}" for name, value in row["ids"].items()),
}


def audit(
    action: Annotated[str | None, typer.Option(help="Only this action; `memory` takes all of memories.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only what this one did, such as user:ann or owner.")] = None,
    since: Annotated[str | None, typer.Option(help="From this ISO time or day on.")] = None,
    before: Annotated[str | None, typer.Option(help="Up to this ISO time or day.")] = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
) -> None:
    """List who changed rights or removed something, the newest first: a table on a terminal, JSON lines in a pipe."""
    with service() as kw:
        rows = read_pages(kw.audit.list, "events", limit, action=action, actor=actor, since=since, before=before)
        print_rows(rows, _COLUMNS)
