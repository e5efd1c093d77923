"""Prints rows: a table on a terminal, JSON lines in a pipe."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepword.terminal import visible

Row = dict[str, Any]


def print_rows(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], Any]]) -> None:
    """Print each row as a line of JSON, or on a terminal as a table with these headings and cells."""
    if not sys.stdout.isatty():
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    table = Table()
    for heading in columns:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(_cell(cell(row)))) for cell in columns.values()))
    Console().print(table)


def print_row(row: Row) -> None:
    """Print one thing: as a line of JSON, or on a terminal a line for each of its fields."""
    if not sys.stdout.isatty():
        print(json.dumps(row, ensure_ascii=False))
        return
    table = Table(show_header=False, box=None)
    for name, value in row.items():
        table.add_row(Text(name, style="dim"), Text(visible(_cell(value))))
    Console().print(table)


def minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_cell, value))
    return json.dumps(value, ensure_ascii=False)
