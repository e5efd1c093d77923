"""The table of faults in docs/benchmarks.md, written by `make test-faults` itself."""

from collections.abc import Sequence
from datetime import UTC, datetime

_INTRO = """## Through faults

`make test-faults` measured this on {day} ({machine}), in {minutes:.0f} minutes. Four writers append and one
writes working memory all the while; each sends again what was not acknowledged, with the same event id. After each
fault all that was acknowledged is looked for, summaries are searched for messages that are in two, queues must become
empty, and the leak matrix compares what each viewer sees in each place with what the design says: *cells* is how many
things were looked at. *Serves again* is from the moment at which the fault is over (for what is killed, from the kill)
until every writer was answered; *all done* until nothing waits any more. [Faults](faults.md) says how each is made.
"""


def write(head: Sequence[str], rows: Sequence[Sequence[str]], seconds: float) -> None:
    from _page import machine, put  # noqa: PLC0415 - from bench/, which only `make test-faults` has on its path

    intro = _INTRO.format(day=datetime.now(UTC).date(), machine=machine(), minutes=seconds / 60)
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    put("faults", "\n\n".join([intro.strip(), "\n".join(lines)]))
