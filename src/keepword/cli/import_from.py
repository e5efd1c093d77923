"""keepword import-from: histories of other programs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from keepword.cli.found_histories import import_found
from keepword.cli.history_import import default_user, parse_map, run_import, show_report
from keepword.errors import InvalidInput
from keepword.histories.kinds import KINDS, find_kind
from keepword.histories.options import ReadOptions
from keepword.histories.people import MAX_PEOPLE
from keepword.histories.plan import ImportOptions
from keepword.histories.repository import project_of
from keepword.model import check_slug

AUTO = "auto"


def import_from(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}; auto looks where they live.")],
    path: Annotated[Path | None, typer.Argument(help="A file, a folder or a zip.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose history it is; default: who is logged in here.")] = None,
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="OLD=NEW: whom the source calls OLD is the user NEW. Repeatable.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Who answered; default: the kind.")] = None,
    project: Annotated[str | None, typer.Option(help="Put all sessions into this project.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only read and count; store nothing.")] = False,
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="What 3/4 means, where the file does not tell.")
    ] = None,
    also_forgotten: Annotated[
        bool, typer.Option("--also-forgotten", help="Also what was marked as not to be remembered.")
    ] = False,
    max_people: Annotated[int, typer.Option(help="Most people that may become users.", min=1)] = MAX_PEOPLE,
    yes: Annotated[bool, typer.Option("--yes", help="With auto: import all that is found without a question.")] = False,
) -> None:
    """Import a history. Run again, it adds only what is new; interrupted, it goes on where it was."""
    if kind == AUTO:
        import_found(default_user(user), is_sure=yes)
        return
    history = find_kind(kind)
    if path is None:
        raise InvalidInput(f"name the file or folder: {history.hint}", "path")
    chosen = default_user(user)
    mapping = parse_map(map_ or [])
    options = ImportOptions(
        kind, chosen, datetime.now(UTC), check_slug(agent or kind, "agent"), project, mapping, project_of
    )
    reading = ReadOptions(frozenset(old for old, new in mapping.items() if new == chosen), day_first, also_forgotten)
    report = run_import(history, path, options, reading, max_people=max_people, dry_run=dry_run)
    show_report(report, dry_run=dry_run)
