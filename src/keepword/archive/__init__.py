"""A tenant as a file: JSON lines in blocks, each with a checksum that also covers all blocks before it."""

from keepword.archive.ports import Progress, Store
from keepword.archive.reading import Block, Header, check, read
from keepword.archive.take import Show, Taken, take
from keepword.archive.writing import FORMAT, KINDS, write

__all__ = ["FORMAT", "KINDS", "Block", "Header", "Progress", "Show", "Store", "Taken", "check", "read", "take", "write"]
