"""Starting the service, and asking how things are."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from keepword import main
from keepword.cli.doctor import examine
from keepword.config import read_settings


def serve() -> None:
    """Start the service. Settings come from KEEPWORD_* variables and keepword.toml."""
    main.serve(read_settings().settings)


def work() -> None:
    """Run jobs without serving; any number of workers may run side by side."""
    main.work(read_settings().settings)


def doctor() -> None:
    """Show every setting with its origin, and check everything that Keepword needs."""
    configured = read_settings()
    console = Console()
    table = Table(title="Settings")
    for heading in ("setting", "value", "from"):
        table.add_column(heading, overflow="fold")
    for name, origin in configured.origins.items():
        table.add_row(name, escape(str(getattr(configured.settings, name))), escape(origin))
    console.print(table)
    healthy = True
    for check in examine(configured.settings):
        mark = "[green]ok  [/green]" if check.ok else "[red]bad [/red]"
        console.print(f"{mark} {check.name}: {escape(check.found)}", highlight=False)
        if not check.ok:
            console.print(f"     fix: {escape(check.fix)}", highlight=False)
            healthy = False
    raise SystemExit(0 if healthy else 1)
