"""keepword search and stats."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepword.cli.service import AsAgent, AsUser, plain, service
from keepword.cli.transcript import speaker
from keepword.terminal import visible
from keepword.wording import when_read

InReach = Annotated[
    str | None, typer.Option("--reach", help="Which sessions to read there: own, user or project; default: as chosen.")
]
Place = Annotated[str | None, typer.Option("--in", help="Search in this conversation's place; default: the tenant.")]


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    place: Place = None,
    reach: InReach = None,
    mode: Annotated[str, typer.Option(help="hybrid, words (or fts), meaning, trigram or regex.")] = "hybrid",
    recipe: Annotated[str, typer.Option(help="fast, best or seed.")] = "best",
    kind: Annotated[
        list[str] | None, typer.Option(help="message, summary, memory or landmark; may be repeated.")
    ] = None,
    by_agent: Annotated[str | None, typer.Option(help="Only what this agent said or was told.")] = None,
    by_user: Annotated[str | None, typer.Option(help="Only what this user said.")] = None,
    since: Annotated[str | None, typer.Option(help="From this ISO time or day on.")] = None,
    before: Annotated[str | None, typer.Option(help="Up to this ISO time, or to the start of this day.")] = None,
    window: Annotated[str | None, typer.Option(help="today, yesterday, this_week, last_7d, ...")] = None,
    time_words: Annotated[
        bool, typer.Option(help='Read "yesterday" or "when did we last" in the query, unless a time is given.')
    ] = True,
    limit: Annotated[int, typer.Option(help="How many, 1 to 50.")] = 10,
    min_score: Annotated[float | None, typer.Option(help="Leave out what has a lower score, 0 to 1.")] = None,
    context: Annotated[int, typer.Option(help="Turns before and after each hit, 0 to 10.")] = 0,
    why: Annotated[bool, typer.Option("--why", help="Say why each hit is there.")] = False,
    synthesize: Annotated[
        bool, typer.Option("--synthesize", help="Also answer in a few cited sentences; needs a language model.")
    ] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Find what matters: a table on a terminal, JSON lines in a pipe."""
    options: dict[str, Any] = {
        "conversation": place, "reach": reach, "mode": mode, "recipe": recipe, "kinds": kind or None, "agent": by_agent,
        "user": by_user, "since": since, "before": before, "window": window, "time_words": time_words, "limit": limit,
        "context": context, "min_score": min_score, "explain": why, "synthesize": synthesize,
    }  # fmt: skip
    with service(agent, user) as kw:
        answer = plain(kw.search(query, **options))
    for line in answer["degraded"]:
        print(f"keepword: {visible(line)}", file=sys.stderr)
    if not sys.stdout.isatty():
        if answer["answer"]:
            print(json.dumps({"answer": answer["answer"]}, ensure_ascii=False))
        for hit in answer["results"]:
            print(json.dumps(hit, ensure_ascii=False))
        if not answer["results"]:
            print(f"keepword: nothing found: {visible(answer['hint'])}", file=sys.stderr)
        return
    if answer["answer"]:
        Console(markup=False).print(visible(answer["answer"]["text"]))
    if answer["results"]:
        _show(answer["results"])
    else:
        Console().print(f"Nothing found: {answer['hint']}")
    if why:
        _show_searched(answer["searched"])


def _show_searched(searched: dict[str, Any]) -> None:
    if "reach" in searched:
        Console().print(f"searched with reach {searched['reach']}")
    if time := searched.get("time"):
        Console(markup=False).print(visible(when_read(time)))


def stats(
    place: Annotated[str | None, typer.Option("--in", help="Only the census, of this conversation's place.")] = None,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Show alerts, queues, coverage and a census."""
    with service(agent, user) as kw:
        report = plain(kw.stats(place))
    if not sys.stdout.isatty():
        print(json.dumps(report, ensure_ascii=False))
        return
    console = Console()
    for alert in report["alerts"] or ["none"]:
        console.print(Text(f"alert: {visible(alert)}", style="red" if report["alerts"] else "green"))
    for heading in ("queues", "compaction", "coverage", "census"):
        table = Table(title=heading, title_justify="left", show_header=False)
        for name, value in report[heading].items():
            table.add_row(Text(visible(name)), Text(visible(_plain(value))))
        console.print(table)


def _plain(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {part}" for name, part in value.items() if part is not None)


def _show(hits: list[dict[str, Any]]) -> None:
    table = Table()
    for heading in ("score", "time", "who", "where", "text"):
        table.add_column(heading, overflow="fold")
    for hit in hits:
        where = f"{hit['conversation']} #{hit['seq']}" if hit["conversation"] else hit["run_id"]
        time = hit["created_at"][:16].replace("T", " ")
        text = hit["text"] + "".join(f"\n  {_inner(inner)}" for inner in hit["inside"])
        text += "".join(f"\n  {_inner(one)}" for one in hit["context"])
        text += f"\n({_because(hit['why'])})" if hit["why"] else ""
        table.add_row(f"{hit['score']:.3f}", time, *(Text(visible(part)) for part in (speaker(hit), where, text)))
    Console().print(table)


def _inner(message: dict[str, Any]) -> str:
    where = f"#{message['seq']} " if message["seq"] is not None else ""
    return f"{where}{speaker(message)}: {message['text']}"


def _because(why: dict[str, Any]) -> str:
    signals = [f"{name} {signal['share']:+.3f}" for name, signal in why["signals"].items() if signal["share"]]
    terms = [f"{term} {match['by']}" for term, match in why["terms"].items() if match["by"]]
    return "; ".join(part for part in (", ".join(signals), ", ".join(terms)) if part)
