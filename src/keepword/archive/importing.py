"""Imports an archive. After an interruption it continues where it stopped."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import IO
from uuid import UUID

from keepword.archive.ports import Progress, Store
from keepword.archive.reading import Block, read
from keepword.errors import BrokenArchive

# is told how many records are done
Show = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """`resumed_after` is the number of the last block that an earlier run stored."""

    tenant_id: UUID
    tenant: str
    records: dict[str, int]
    resumed_after: int


def import_archive(
    file: IO[bytes],
    store: Store,
    tenant: str | None = None,
    without: Collection[str] = (),
    show: Show = lambda _: None,
) -> ImportResult:
    """Import an archive under its own name or another. Kinds in `without` are left out."""
    header, blocks = read(file)
    name = header.tenant if tenant is None else tenant
    so_far = store.begin(header, name)
    records: dict[str, int] = {}
    for block in blocks:
        if block.number <= so_far.block:
            _compare(block, so_far)
        elif block.kind not in without:
            store.put(so_far.tenant_id, block)
        if block.kind not in without:
            records[block.kind] = records.get(block.kind, 0) + len(block.lines)
        show(sum(records.values()))
    store.finish(so_far.tenant_id)
    return ImportResult(so_far.tenant_id, name, records, so_far.block)


def _compare(block: Block, so_far: Progress) -> None:
    if block.number == so_far.block and block.digest != so_far.digest:
        raise BrokenArchive(
            f"this file is not the one whose import was interrupted: it differs at or before block {block.number}; "
            "use that file, or drop what it left with --drop-unfinished"
        )
