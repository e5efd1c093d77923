"""SQL as named blocks in files: `-- name: append` starts one."""

import re
from importlib import resources
from typing import Any, LiteralString

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_HOLE = "-- the query"
FIRST_WALL = "-- first wall"


def _read(*path: str) -> str:
    return resources.files(__package__).joinpath("sql", *path).read_text(encoding="utf-8")


class Queries:
    """The blocks of one file."""

    def __init__(self, file: str, *, first_wall: bool = True) -> None:
        """Without `first_wall`, the lines so marked are left out: only the tests of the second wall do that."""
        text = _read("queries", file)
        if not first_wall:
            text = "\n".join(line for line in text.splitlines() if not line.rstrip().endswith(FIRST_WALL))
        pieces = _NAME.split(text)[1:]
        self._blocks: dict[str, Any] = dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))
        frame = _read("under_grant.sql")
        self._reads = {name: frame.replace(_HOLE, block) for name, block in self._blocks.items()}
        bounded = frame.replace(_HOLE, _read("within_bytes.sql"))
        self._pages = {name: bounded.replace(_HOLE, block) for name, block in self._blocks.items()}
        located = _read("located.sql")
        self._located = {name: located.replace(_HOLE, block) for name, block in self._blocks.items()}

    def __getitem__(self, name: str) -> LiteralString:
        block: LiteralString = self._blocks[name]
        return block

    def read(self, name: str) -> LiteralString:
        """Return the query framed so that it sets its further parameter `grant` first."""
        block: LiteralString = self._reads[name]
        return block

    def page(self, name: str) -> LiteralString:
        """Return `read`, bounded by its further parameter `page_bytes`; the query's last column has a row's bytes.

        A row has three columns more than its query shows: its bytes, those before it, and how many rows were found.
        """
        block: LiteralString = self._pages[name]
        return block

    def located(self, name: str) -> LiteralString:
        """Return the query with two columns more: where the primary's log is, and since when that server runs."""
        block: LiteralString = self._located[name]
        return block
