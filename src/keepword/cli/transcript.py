"""keepword append, browse and retract."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from keepword.cli.service import AsAgent, AsUser, plain, service
from keepword.cli.tables import Row, print_rows
from keepword.errors import InvalidInput

Conversation = Annotated[str, typer.Argument(help="The conversation's external id.")]

_BATCH = 1000


def append(
    conversation: Conversation,
    text: Annotated[
        str | None, typer.Argument(help="What was said; without it, JSON lines are read from a pipe.")
    ] = None,
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
    event_id: Annotated[str | None, typer.Option(help="Makes a retry store nothing twice.")] = None,
    is_import: Annotated[
        bool, typer.Option("--import", help="Also take messages more than a day ahead; for an unbound admin.")
    ] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Append a message, making the conversation if it is new."""
    with service(agent, user) as kw:
        kw.conversations.put(conversation)
        messages = _from_pipe() if text is None else [_message(text, role, event_id)]
        for start in range(0, len(messages), _BATCH):
            for receipt in kw.append_all(conversation, messages[start : start + _BATCH], is_import=is_import):
                print(json.dumps(plain(receipt)))


def browse(
    conversation: Annotated[
        str | None, typer.Argument(help="The conversation's external id; without it, the whole tenant.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many, 1 to 200.")] = 50,
    since: Annotated[str | None, typer.Option(help="From this ISO time or day on.")] = None,
    before: Annotated[str | None, typer.Option(help="Up to this ISO time, or to the start of this day.")] = None,
    window: Annotated[str | None, typer.Option(help="today, yesterday, this_week, last_7d, ...")] = None,
    by_agent: Annotated[str | None, typer.Option(help="Only what this agent said or was told.")] = None,
    by_user: Annotated[str | None, typer.Option(help="Only what this user said.")] = None,
    role: Annotated[str | None, typer.Option(help="Only user, assistant, system or tool.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="Newest first.")] = False,
    place: Annotated[bool, typer.Option("--place", help="All that may be read in the conversation's place.")] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Read a conversation in time order: a table on a terminal, JSON lines in a pipe."""
    query: dict[str, Any] = {
        "limit": limit, "since": since, "before": before, "window": window, "agent": by_agent, "user": by_user,
        "role": role, "order": "desc" if newest else "asc",
    }  # fmt: skip
    with service(agent, user) as kw:
        if place or conversation is None:
            page = plain(kw.browse(conversation, **query))
        else:
            page = plain(kw.conversations.messages(conversation, **query))
    print_rows(page["messages"], _COLUMNS)
    if page["next"] and sys.stdout.isatty():
        Console().print(f"There is more: raise --limit, or go on with --since {page['messages'][-1]['created_at']}")


def retract(
    conversation: Conversation,
    seq: Annotated[int, typer.Argument(help="The message's number, as browse shows it.", min=1)],
    reason: Annotated[str | None, typer.Option(help="Why; the tenant's owner reads it.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Give it back.")] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Take a message back: nobody but the tenant's owner reads it any more, or what was made of it alone."""
    with service(agent, user) as kw:
        if undo:
            kw.conversations.unretract(conversation, seq)
        else:
            print(json.dumps(plain(kw.conversations.retract(conversation, seq, reason=reason))))


def _message(text: str, role: str, event_id: str | None) -> dict[str, Any]:
    return {"role": role, "content": text} | ({"event_id": event_id} if event_id else {})


def _from_pipe() -> list[dict[str, Any]]:
    if sys.stdin.isatty():
        raise InvalidInput("say what to append, or pipe messages in, a JSON object a line", "text")
    messages = []
    for number, line in enumerate(sys.stdin, 1):
        try:
            messages.append(json.loads(line))
        except json.JSONDecodeError as exc:
            raise InvalidInput(f"line {number} is not JSON: {exc}") from exc
    return messages


def speaker(message: dict[str, Any]) -> str:
    """Tell the role and the name of whoever said it; for what nobody said, such as a summary, its kind."""
    name = message["user"] if message["role"] in {"user", None} else message["agent"]
    return " ".join(part for part in (message["role"] or message["kind"], name) if part)


def _text(message: Row) -> str:
    if message.get("retracted"):
        return f"[retracted by {message['retracted']['by']}] {message['content']}"
    return message["content"] or message["tool_result"] or f"[{message['tool_name'] or 'attachment'}]"


_COLUMNS: Mapping[str, Callable[[Row], Any]] = {
    "#": lambda row: row["seq"],
    "time": lambda row: row["created_at"][:19].replace("T", " "),
    "who": speaker,
    "text": _text,
}
