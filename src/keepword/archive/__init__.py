"""A tenant as a file: JSON lines in blocks, each with a checksum that also covers all blocks before it."""

from keepword.archive.importing import ImportResult, Show, import_archive
from keepword.archive.ports import Progress, Store
from keepword.archive.reading import Block, Header, check, read
from keepword.archive.writing import FORMAT, KINDS, write

__all__ = [
    "FORMAT",
    "KINDS",
    "Block",
    "Header",
    "ImportResult",
    "Progress",
    "Show",
    "Store",
    "check",
    "import_archive",
    "read",
    "write",
]
