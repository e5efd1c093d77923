"""keepword jobs: how the background work is doing."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from keepword.cli.local import load, on_each_as_owner
from keepword.compaction.sources import PIPELINE_VERSION
from keepword.config import read_settings
from keepword.errors import InvalidInput
from keepword.postgres.queue import backfill_sentences, queue_status, recompact, retry_failed

app = typer.Typer(help="Background work: its queue, what failed, what to do again.", no_args_is_help=True)
# names that operators of RivetOS know
memory = typer.Typer(help="Further names of three commands of `keepword jobs`.", no_args_is_help=True)

TASKS = ("compact", "describe", "extract", "landmark", "recompact")
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")]


@memory.command("queue-status")
@app.command("status")
def status() -> None:
    """Show for each task what is to be done, the jobs waiting, running and failed, the oldest and the last error."""
    queues = on_each_as_owner(queue_status)
    table = Table()
    headings = ("task", "to do", "waiting", "running", "failed", "oldest", "last error")
    for heading in (*headings, *([] if "" in queues else ["server"])):
        table.add_column(heading, overflow="fold")
    for server, line in [(server, line) for server, lines in queues.items() for line in lines]:
        oldest = f"{line.oldest:%Y-%m-%d %H:%M}" if line.oldest else ""
        counts = map(str, (line.pending, line.waiting, line.running, line.failed))
        table.add_row(line.task, *counts, oldest, line.last_error or "", *([server] if server else []))
    Console(markup=False).print(table)


@memory.command("retry-failed")
@app.command("retry-failed")
def retry(
    task: Annotated[str | None, typer.Option(help=f"Only this task: {', '.join(TASKS)}.")] = None,
    error: Annotated[str | None, typer.Option(help="Only jobs whose last error contains this.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Let jobs that failed three times run again."""
    if task is not None and task not in TASKS:
        raise InvalidInput(f"{task!r} is no task; known are: {', '.join(TASKS)}", "task")
    count = sum(on_each_as_owner(lambda conn: retry_failed(conn, task, error, dry_run=dry_run)).values())
    print(f"{count} jobs would run again" if dry_run else f"{count} jobs run again")


@memory.command("backfill-tool-synth")
@app.command("backfill-tool-synth")
def backfill(dry_run: DryRun = False) -> None:
    """Note every tool call that has no sentence yet; a worker writes them. Running it twice notes nothing twice."""
    count = sum(on_each_as_owner(lambda conn: backfill_sentences(conn, dry_run=dry_run)).values())
    print(f"{count} tool calls have no sentence" if dry_run else f"{count} tool calls noted")


@app.command("recompact")
def recompact_old(dry_run: DryRun = False) -> None:
    """Note conversations whose summaries an older Keepword made; a worker makes them anew while the old ones serve."""
    outdated = sum(on_each_as_owner(lambda conn: recompact(conn, PIPELINE_VERSION, dry_run=dry_run)).values())
    verb = "are to be" if dry_run else "will be"
    print(f"{outdated} conversations {verb} compacted anew")


@app.command("extract")
def extract(
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Read all again that was read before, as after a change of model.")
    ] = False,
) -> None:
    """Read conversations for memories now. Interrupted, it goes on where it was; call it without --backfill then."""
    count = memory_count = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("conversations", total=None)
        for settings in read_settings().settings.each():
            read, made = load("background").extract_all(
                settings, lambda done, of: progress.update(bar, completed=done, total=of), backfill=backfill
            )
            count, memory_count = count + read, memory_count + made
    print(f"{count} conversations read, {memory_count} memories made")
