"""keepword erase: takes what was said away for good."""

import json
import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from keepword.answers import Erasure
from keepword.cli.service import AsAgent, AsUser, plain, service
from keepword.client import SyncClient
from keepword.errors import InvalidInput, Unauthenticated

app = typer.Typer(help="Erase what was said, for good.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what would go, and erase nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all rows are gone.")]
LOOK_SECONDS = 0.5


@app.command()
def message(
    conversation: Annotated[str, typer.Argument(help="The conversation's external id.")],
    seq: Annotated[int, typer.Argument(help="The message's number, as browse shows it.", min=1)],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = True,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Erase one message, and what was derived from it alone."""
    with service(agent, user) as kw:
        what = f"message {seq} of {conversation!r}"
        _erase(kw, what, lambda dry: kw.conversations.erase_message(conversation, seq, dry_run=dry), dry_run, yes, wait)


@app.command()
def conversation(
    conversation: Annotated[str, typer.Argument(help="The conversation's external id.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = True,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Erase a conversation, with all that was said and derived there."""
    with service(agent, user) as kw:
        what = f"the conversation {conversation!r}"
        _erase(kw, what, lambda dry: kw.conversations.erase(conversation, dry_run=dry), dry_run, yes, wait)


@app.command()
def user(
    user: Annotated[str, typer.Argument(help="The user's id.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Erase a user: what they said, their conversations, profile, facts, memories and keys."""
    with service() as kw:
        _erase(kw, f"the user {user!r}", lambda dry: kw.users.erase(user, dry_run=dry), dry_run, yes, wait)


@app.command()
def tenant(
    name: Annotated[str, typer.Argument(help="The tenant's name, which must be that of the key's tenant.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Erase all that a tenant has, and revoke its keys."""
    with service() as kw:
        own = kw.whoami().tenant
        if name != own:
            raise InvalidInput(f"the key is of the tenant {own!r}, not of {name!r}; nothing was erased", "name")
        _erase(kw, f"the tenant {name!r}", lambda dry: kw.erase_tenant(dry_run=dry), dry_run, yes, wait)


def _erase(kw: SyncClient, what: str, erase: Callable[[bool], Erasure], dry_run: bool, yes: bool, wait: bool) -> None:
    if not dry_run and not yes:
        counts = _told(erase(True))
        typer.confirm(f"This erases {what} for good ({counts}), and nobody can undo it. Go on?", abort=True, err=True)
    erasure = erase(dry_run)
    if wait and erasure.id is not None:
        erasure = _follow(kw, erasure)
    print(json.dumps(plain(erasure)))


def _follow(kw: SyncClient, erasure: Erasure) -> Erasure:
    """Show how far it is until all rows are gone; a key that is erased itself can't ask."""
    console = Console(stderr=True)
    of = erasure.counts.get("messages", 0)
    with console.status("") as status:
        while erasure.state == "running":
            status.update(f"erased {erasure.erased_messages:,} of {of:,} messages")
            time.sleep(LOOK_SECONDS)
            try:
                erasure = kw.erasure(erasure.id or "")
            except Unauthenticated:
                console.print("the key is erased, too: the service goes on by itself")
                return erasure
    return erasure


def _told(erasure: Erasure) -> str:
    return ", ".join(f"{amount:,} {name}" for name, amount in erasure.counts.items() if amount) or "nothing is there"
