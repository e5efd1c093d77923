"""One import, ready to be read: what is in the file, who is who, and what is to be sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keepword.histories.kinds import HistoryKind, files_of
from keepword.histories.options import ReadOptions
from keepword.histories.people import MAX_PEOPLE, People
from keepword.histories.plan import ImportOptions, Item, Planner
from keepword.histories.report import ImportReport
from keepword.histories.source import Source, open_source


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """`items` are read as they are asked for; `report` and `source.read_bytes` of `total_bytes` say how far that is."""

    source: Source
    total_bytes: int
    report: ImportReport
    items: Iterator[Item]


def prepare(
    history: HistoryKind, path: Path, options: ImportOptions, reading: ReadOptions, max_people: int = MAX_PEOPLE
) -> PreparedImport:
    """Look what is there, and read nothing else yet. Raises InvalidInput for what is no history of that kind."""
    source = open_source(path)
    files = files_of(source, history)
    sizes = source.sizes()
    report = ImportReport(history.name)
    people = People(history.name, options.user, report, options.mapping, max_people)
    items = Planner(options, people, report).items(history.read(source, files, reading))
    source.read_bytes = 0
    return PreparedImport(source, sum(sizes[name] for name in files), report, items)
