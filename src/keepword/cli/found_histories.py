"""Histories on this machine: where programs keep them, how much there is, and importing what grows."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from keepword.cli.history_import import default_user, run_import, show_report
from keepword.errors import InvalidInput, KeepwordError
from keepword.histories.kinds import KINDS, files_of, find_kind, looks_like
from keepword.histories.options import ReadOptions
from keepword.histories.people import People
from keepword.histories.plan import ImportOptions, Planner
from keepword.histories.report import ImportReport
from keepword.histories.repository import project_of
from keepword.histories.source import open_source
from keepword.terminal import escaped

FOLDERS = {
    "claude-code": (".claude/projects",),
    "codex": (".codex/sessions", ".codex/archived_sessions"),
    "gemini-cli": (".gemini/tmp",),
}
_DOWNLOADS = "Downloads"
_MOST_DOWNLOADS = 50
# a file that is being written is read when it was quiet for a moment
_QUIET_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class FoundHistory:
    kind: str
    path: Path
    report: ImportReport


def options_for(kind: str, user: str) -> ImportOptions:
    return ImportOptions(kind, user, datetime.now(UTC), kind, project_of=project_of)


def find(home: Path, user: str) -> Iterator[FoundHistory]:
    """Yield what is there, counted by a reading that stores nothing."""
    for kind, path in _candidates(home):
        try:
            report = _counted(kind, path, user)
        except KeepwordError:
            continue  # of another kind, or a question that `import-from` asks
        if report.messages or report.memories:
            yield FoundHistory(kind, path, report)


def import_found(user: str, *, is_sure: bool) -> int:
    """List what is there, and import what is wanted; return how many histories were imported."""
    histories = list(find(Path.home(), user))
    if not histories:
        print("No history was found: name one with `keepword import-from KIND PATH`.")
        return 0
    table = Table("history", "conversations", "messages", "path")
    for one in histories:
        counts = (f"{one.report.conversations:,}", f"{one.report.messages:,}")
        table.add_row(KINDS[one.kind].title, *counts, escaped(str(one.path)))
    Console().print(table)
    if not (is_sure or typer.confirm("Import all of these?", default=True)):
        print("Nothing was imported.")
        return 0
    for one in histories:
        print(f"{KINDS[one.kind].title}, {one.path}")
        show_report(run_import(find_kind(one.kind), one.path, options_for(one.kind, user), ReadOptions()))
    return len(histories)


def watch(
    kinds: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(FOLDERS)}; default: all.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose history it is; default: who is logged in here.")] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.5)] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, import what is there, and end.")] = False,
) -> None:
    """Follow the folders of coding agents, and append what grows there: for hosts without hooks."""
    folders = [(kind, Path.home() / folder) for kind in _watched(kinds) for folder in FOLDERS[kind]]
    chosen = default_user(user)
    seen: dict[Path, tuple[int, float]] = {}
    while True:
        for kind, file in _changed(folders, seen, is_last=once):
            _append(kind, file, chosen)
        if once:
            return
        time.sleep(every)


def _watched(kinds: Iterable[str] | None) -> list[str]:
    chosen = list(kinds or FOLDERS)
    if unknown := [kind for kind in chosen if kind not in FOLDERS]:
        raise InvalidInput(f"{unknown[0]!r} is not watched; there are: {', '.join(FOLDERS)}", "kinds")
    return chosen


def _changed(
    folders: Iterable[tuple[str, Path]], seen: dict[Path, tuple[int, float]], *, is_last: bool
) -> Iterator[tuple[str, Path]]:
    for kind, folder in folders:
        for file in sorted(folder.rglob("*.json*")) if folder.is_dir() else []:
            about = file.stat()
            mark = (about.st_size, about.st_mtime)
            is_quiet = is_last or time.time() - about.st_mtime > _QUIET_SECONDS
            if is_quiet and seen.get(file) != mark and not file.is_symlink():
                seen[file] = mark
                yield kind, file


def _append(kind: str, file: Path, user: str) -> None:
    try:
        report = run_import(find_kind(kind), file, options_for(kind, user), ReadOptions())
    except InvalidInput:
        return  # another of the program's files
    if report.stored:
        print(f"{datetime.now(UTC):%H:%M:%S} {KINDS[kind].title}: {report.stored:,} new messages of {file.name}")


def _candidates(home: Path) -> Iterator[tuple[str, Path]]:
    for kind, folders in FOLDERS.items():
        yield from ((kind, home / folder) for folder in folders if (home / folder).is_dir())
    downloads = home / _DOWNLOADS
    files = sorted(downloads.glob("*")) if downloads.is_dir() else []
    wanted = [file for file in files if file.suffix in {".zip", ".json", ".txt", ".af"} and file.is_file()]
    for file in wanted[:_MOST_DOWNLOADS]:
        if (likely := _kind(file)) is not None:
            yield likely, file


def _kind(file: Path) -> str | None:
    try:
        source = open_source(file)
        return looks_like(source, source.sizes())
    except KeepwordError:
        return None


def _counted(kind: str, path: Path, user: str) -> ImportReport:
    source = open_source(path)
    history = find_kind(kind)
    files = files_of(source, history)
    report = ImportReport(kind)
    planner = Planner(options_for(kind, user), People(kind, user, report), report)
    for _ in planner.items(history.read(source, files, ReadOptions())):
        pass
    return report
