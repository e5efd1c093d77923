"""Summaries as they are printed: on a terminal each below the one that joins it, in a pipe JSON lines."""

import json
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from keepword.cli.tables import Row, minute
from keepword.terminal import visible


def print_summaries(nodes: Sequence[Row]) -> None:
    """Print trees of summaries; those that join others come before them."""
    if not sys.stdout.isatty():
        for summary, _ in _walk(nodes, 0):
            print(json.dumps(summary, ensure_ascii=False))
        return
    console = Console()
    for summary, depth in _walk(nodes, 0):
        span = f"{minute(summary['earliest_at'])} to {minute(summary['latest_at'])}"
        heading = f"{summary['tier']}, {summary['message_count']} messages, {span}"
        console.print(Padding(Text(heading, style="bold"), (0, 0, 0, 2 * depth)))
        console.print(Padding(Text(visible(summary["content"])), (0, 0, 0, 2 * depth)))


def _walk(nodes: Sequence[Row], depth: int) -> Iterator[tuple[Row, int]]:
    for node in nodes:
        yield node["summary"], depth
        yield from _walk(node["children"], depth + 1)
