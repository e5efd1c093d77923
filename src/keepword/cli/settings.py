"""keepword settings: what a tenant's owner chooses about who reads what."""

from typing import Annotated

import typer

from keepword.access import check_changes, parse_setting
from keepword.cli.local import database
from keepword.postgres import migrate
from keepword.postgres.settings import change_settings


def settings(
    changes: Annotated[list[str] | None, typer.Argument(help="What to change, as name=value; none: show all.")] = None,
    tenant: Annotated[str, typer.Option(help="Whose settings.")] = "default",
) -> None:
    """Show a tenant's settings, or change some of them. They count from the next request on."""
    checked = check_changes(dict(map(parse_setting, changes or ())))
    with database(tenant=tenant) as conninfo:
        migrate.migrate(conninfo)
        with migrate.owner(conninfo) as conn:
            changed = change_settings(conn, tenant, checked)
    for name, value in changed.shown().items():
        print(f"{name} = {str(value).lower()}")
