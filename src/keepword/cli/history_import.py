"""One import of a history, as commands run it: with a progress bar, and a report."""

import asyncio
import getpass
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from keepword.cli.service import address
from keepword.client import Client
from keepword.config import read_settings
from keepword.errors import InvalidInput
from keepword.histories.kinds import HistoryKind
from keepword.histories.options import ReadOptions
from keepword.histories.people import MAX_PEOPLE
from keepword.histories.plan import ImportOptions, Item
from keepword.histories.preparation import prepare
from keepword.histories.report import ImportReport
from keepword.histories.source import Source
from keepword.histories.transfer import Transfer, first_error, json_call
from keepword.model import check_name
from keepword.terminal import escaped

TIMEOUT_SECONDS = 300
_SHOWN_PEOPLE = 30


def default_user(user: str | None) -> str:
    return check_name(user or getpass.getuser(), "user")


def parse_map(pairs: list[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        old, equals, new = pair.rpartition("=")
        if not (equals and old):
            raise InvalidInput(f"--map {pair!r} is not written OLD=NEW, such as U0123=alice", "map")
        mapping[old] = check_name(new, "map")
    return mapping


def run_import(
    history: HistoryKind,
    path: Path,
    options: ImportOptions,
    reading: ReadOptions,
    *,
    max_people: int = MAX_PEOPLE,
    dry_run: bool = False,
) -> ImportReport:
    prepared = prepare(history, path.expanduser(), options, reading, max_people)
    report = prepared.report
    with _progress(prepared.source, prepared.total_bytes, report):
        if dry_run:
            for _ in prepared.items:
                pass
        else:
            asyncio.run(_send(prepared.items, report))
    return report


async def _send(items: Iterator[Item], report: ImportReport) -> None:
    settings = read_settings().settings
    key = settings.key.get_secret_value() if settings.key else None
    async with Client(address(settings), key, timeout_seconds=TIMEOUT_SECONDS) as kw:
        try:
            await Transfer(json_call(kw.request), report.kind, report).run(items)
        except BaseExceptionGroup as group:
            raise first_error(group) from group


@contextmanager
def _progress(source: Source, total: int, report: ImportReport) -> Iterator[None]:
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    begin = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("reading", total=total)
        source.on_read = lambda: _advance(progress, task, source, report, begin)
        yield


def _advance(progress: Progress, task: object, source: Source, report: ImportReport, begin: float) -> None:
    rate = report.messages / max(time.monotonic() - begin, 0.001)
    text = f"{report.messages:,} messages, {rate:,.0f}/s"
    progress.update(task, completed=source.read_bytes, description=text)  # type: ignore[arg-type]


def show_report(report: ImportReport, *, dry_run: bool = False) -> None:
    """Print what was done: tables on a terminal, one JSON object in a pipe."""
    if not sys.stdout.isatty():
        print(json.dumps(report.as_json() | {"dry_run": dry_run}, ensure_ascii=False))
        return
    done = "would be imported" if dry_run else f"imported: {report.stored:,} new, {report.known:,} here before"
    print(f"{report.messages:,} messages in {report.conversations:,} conversations {done}")
    for count, what in ((report.memories, "memories"), (report.files, "files of agents")):
        if count:
            print(f"{count:,} {what}")
    console = Console()
    if report.people:
        _print_people(console, report)
    if report.left_out:
        table = Table("left out or changed", "count", "for example", title_justify="left")
        for what, one in sorted(report.left_out.items(), key=lambda pair: -pair[1].count):
            table.add_row(escaped(what), f"{one.count:,}", escaped(one.example))
        console.print(table)


def _print_people(console: Console, report: ImportReport) -> None:
    table = Table("person", "name", "user here", "messages")
    people = sorted(report.people.values(), key=lambda one: -one.messages)
    for one in people[:_SHOWN_PEOPLE]:
        table.add_row(escaped(one.id), escaped(one.name or ""), escaped(one.user), f"{one.messages:,}")
    console.print(table)
    if len(people) > _SHOWN_PEOPLE:
        print(f"and {len(people) - _SHOWN_PEOPLE:,} more people")
    print("Give a person another user with --map PERSON=USER.")
