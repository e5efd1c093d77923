"""keepword serve, worker, embed and doctor."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table

from keepword.cli.doctor import examine
from keepword.cli.local import load
from keepword.config import LoadedSettings, read_settings
from keepword.daemon import end_process
from keepword.handover import Handover, Renewal, take_over


def serve(
    processes: Annotated[
        int | None, typer.Option(min=0, max=64, help="Processes that serve requests; 0: one for each processor.")
    ] = None,
) -> None:
    """Start the service. Settings come from KEEPWORD_* variables and keepword.toml."""
    options = {} if processes is None else {"processes": processes}
    taken = take_over(Handover)
    load("main").serve(taken.settings if taken else read_settings(given=options).settings, taken)
    end_process()


def worker() -> None:
    """Do the background work alone: index, embed, compact. Any number may run side by side."""
    taken = take_over(Renewal)
    load("main").work(taken.settings if taken else read_settings().settings, taken)
    end_process()


def embed(
    space: Annotated[str | None, typer.Option(help="The space to fill; default: that of the chosen embedder.")] = None,
    despite_failures: Annotated[
        bool, typer.Option("--despite-failures", help="Switch even if some entries could not be embedded.")
    ] = False,
) -> None:
    """Embed all that has no vector in a space, then let searches use it. The old one serves meanwhile."""
    name = ""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("embedding", total=None)
        for settings in read_settings().settings.each():
            name = load("background").fill_space(
                settings, space, lambda done, total: progress.update(task, completed=done, total=total),
                despite_failures=despite_failures,
            )  # fmt: skip
    print(f"searches use the space {name}")


def doctor() -> None:
    """Check everything that Keepword needs, with what to do, and show every setting with its origin."""
    configured = read_settings()
    console = Console(highlight=False)
    is_healthy = True
    for check in examine(configured.settings):
        mark = "[green]ok  [/green]" if check.ok else "[red]bad [/red]"
        console.print(f"{mark} {check.name}: {escape(check.found)}")
        if not check.ok:
            console.print(f"     fix: {escape(check.fix)}")
            is_healthy = False
    console.print(_settings_table(configured))
    raise SystemExit(0 if is_healthy else 1)


def _settings_table(configured: LoadedSettings) -> Table:
    table = Table(title="Settings", title_justify="left")
    for heading in ("setting", "value", "from"):
        table.add_column(heading, overflow="fold")
    for name, origin in configured.origins.items():
        table.add_row(name, escape(str(getattr(configured.settings, name))), escape(origin))
    return table
