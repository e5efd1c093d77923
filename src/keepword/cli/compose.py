"""keepword compose: what an agent would see."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepword.cli.search import InReach
from keepword.cli.service import AsAgent, AsUser, plain, service
from keepword.terminal import shown, visible

_TEMPLATES = (
    "How it is written: keepword; nexus or aegis, the headings that agents of NexusAI and AEGIS know; "
    "or NAME, for templates/NAME.toml in the data folder."
)


def compose(
    conversation: Annotated[str, typer.Argument(help="The conversation; its place decides what may be read.")],
    message: Annotated[str, typer.Argument(help="What the agent is asked.")],
    reach: InReach = None,
    window: Annotated[int | None, typer.Option(help="The context window in tokens; default: the agent's.")] = None,
    budget: Annotated[int, typer.Option(help="Tokens of injected context.")] = 4_000,
    section: Annotated[list[str] | None, typer.Option(help="Only these sections; may be repeated.")] = None,
    template: Annotated[str, typer.Option(help=_TEMPLATES)] = "keepword",
    recipe: Annotated[str, typer.Option(help="How recall weighs its signals: fast, best or seed.")] = "best",
    quotes_in: Annotated[str, typer.Option(help="The chat message that holds quotes: user or system.")] = "user",
    tools_as: Annotated[str, typer.Option(help="How the chat shows tool calls: calls or text.")] = "calls",
    ledger: Annotated[bool, typer.Option("--ledger", help="Skip what was injected before, note what is now.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, mark and compact nothing.")] = False,
    why: Annotated[bool, typer.Option("--why", help="Show each line's source, score and reason.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Print the context of one turn, as the agent would get it."""
    options: dict[str, Any] = {
        "reach": reach, "window_tokens": window, "budget_tokens": budget, "sections": section or None,
        "template": template, "recipe": recipe, "quotes_in": quotes_in, "tools_as": tools_as,
        "ledger": ledger, "dry_run": dry_run,
    }  # fmt: skip
    with service(agent, user) as kw:
        composed = plain(kw.compose(conversation, message, **options))
    for line in composed["degraded"]:
        print(f"keepword: {line}", file=sys.stderr)
    if as_json:
        print(json.dumps(composed, ensure_ascii=False))
    elif why:
        _explain(composed)
    else:
        print(shown(composed["text"]))


def _explain(composed: dict[str, Any]) -> None:
    reach = f", reach {composed['reach']}" if composed["reach"] else ""
    title = f"{composed['tokens']} tokens, {composed['share']:.1%} of the window{reach}"
    table = Table(title=title, title_justify="left")
    for heading in ("section", "tokens", "score", "source", "why", "text"):
        table.add_column(heading, overflow="fold")
    for section in composed["sections"]:
        for line in section["lines"]:
            source = f"{line['kind']} {line['id']}"
            cells = (section["name"], line["tokens"], f"{line['score']:.2f}", source, line["reason"], line["text"])
            table.add_row(*(Text(visible(str(cell))) for cell in cells))
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    for one in composed["left_out"]:
        console.print(Text(visible(f"left out of {one['section']}: {_named(one)}")))


def _named(left_out: dict[str, Any]) -> str:
    which = f" #{left_out['first_seq']} to #{left_out['last_seq']}" if left_out["first_seq"] is not None else ""
    return f"{left_out['count']} × {left_out['kind']}{which}, {left_out['reason']}"  # noqa: RUF001 - times
