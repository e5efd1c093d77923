"""keepword webhooks: addresses that are told of changes."""

from typing import Annotated

import typer

from keepword.cli.service import plain, read_pages, service
from keepword.cli.tables import minute, print_row, print_rows

app = typer.Typer(help="Addresses that are told when a memory, fact, profile or summary changes.", no_args_is_help=True)

Webhook = Annotated[str, typer.Argument(help="The webhook's id, as `keepword webhooks list` shows it.")]
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]
_HOOKS = {
    "id": lambda row: row["id"],
    "name": lambda row: row["name"],
    "url": lambda row: row["url"],
    "events": lambda row: " ".join(row["events"]),
    "state": lambda row: "active" if row["is_active"] else f"stopped: {row['stopped_because'] or 'by somebody'}",
}
_DELIVERIES = {
    "at": lambda row: minute(row["at"]),
    "event": lambda row: row["event"],
    "ids": lambda row: " ".join(f"{name}={value}" for name, value in row["ids"].items()),
    "attempts": lambda row: str(row["attempts"]),
    "state": lambda row: _state(row["delivered_at"], row["due_at"], row["error"]),
}


@app.command("list")
def list_(limit: Limit = 1000) -> None:
    """List the webhooks, the oldest first."""
    with service() as kw:
        print_rows(read_pages(kw.webhooks.list, "webhooks", limit), _HOOKS)


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="Where deliveries are POSTed to.")],
    event: Annotated[list[str], typer.Option(help="Such as memory.added, memory, or * for all; may be repeated.")],
    name: Annotated[str, typer.Option(help="A name for the list.")] = "",
) -> None:
    """Make a webhook, and print it with its secret, which is not shown again."""
    with service() as kw:
        made = plain(kw.webhooks.add(url, event, name=name))
        print_row(made["webhook"] | {"secret": made["secret"]})


@app.command()
def start(webhook: Webhook) -> None:
    """Start a webhook again that was stopped."""
    with service() as kw:
        print_row(plain(kw.webhooks.change(webhook, is_active=True)))


@app.command()
def stop(webhook: Webhook) -> None:
    """Stop a webhook: what changes from now on is not told."""
    with service() as kw:
        print_row(plain(kw.webhooks.change(webhook, is_active=False)))


@app.command()
def delete(webhook: Webhook) -> None:
    """Delete a webhook with its deliveries."""
    with service() as kw:
        kw.webhooks.delete(webhook)


@app.command()
def test(webhook: Webhook) -> None:
    """Send the event webhook.test; `keepword webhooks deliveries` tells whether it arrived."""
    with service() as kw:
        print_row(plain(kw.webhooks.test(webhook)))


@app.command()
def deliveries(webhook: Webhook, limit: Limit = 50) -> None:
    """List a webhook's deliveries of the last 7 days, the newest first."""
    with service() as kw:
        print_rows(read_pages(kw.webhooks.deliveries, "deliveries", limit, webhook=webhook), _DELIVERIES)


def _state(delivered_at: str | None, due_at: str | None, error: str | None) -> str:
    if delivered_at is not None:
        return f"arrived {minute(delivered_at)}"
    if due_at is None:
        return f"given up: {error}"
    return f"again {minute(due_at)}: {error}" if error else "waits"
