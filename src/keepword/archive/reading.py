"""Reads an archive block by block; yields a block only if its checksum is right."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import UUID

from keepword.archive.writing import FORMAT, KINDS, RunningChecksum, is_full, start_checksum
from keepword.errors import BrokenArchive

_KIND = re.compile(rb'\{"kind":"(\w+)"')
_MAX_HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Header:
    """`digest` tells one archive's beginning from another's. An older archive has no settings."""

    tenant_id: UUID
    tenant: str
    created_at: str
    digest: bytes
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """`digest` covers the archive up to here."""

    number: int
    kind: str
    lines: tuple[bytes, ...]
    digest: bytes


@dataclass(frozen=True, slots=True)
class ArchiveTotals:
    blocks: int
    records: dict[str, int]


def read(file: IO[bytes]) -> tuple[Header, Iterator[Block]]:
    """Read the header, then the blocks as they are asked for. They end in an error unless the archive is complete."""
    line = file.readline(_MAX_HEADER_BYTES)
    header = _header(line)
    return header, _blocks(file, start_checksum(line))


def check(file: IO[bytes]) -> ArchiveTotals:
    """Read an archive through; raises BrokenArchive at the first thing that is wrong."""
    _, blocks = read(file)
    records: dict[str, int] = {}
    amount = 0
    for block in blocks:
        records[block.kind] = records.get(block.kind, 0) + len(block.lines)
        amount = block.number
    return ArchiveTotals(amount, records)


def _header(line: bytes) -> Header:
    record = _parse(line)
    if not isinstance(record, dict) or record.get("keepword") != "archive":
        raise BrokenArchive("this is no export of Keepword: its first line is not the header of one")
    version = record.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise BrokenArchive(
            f"this export has the format {version!r}, made by a newer Keepword; this one reads up to {FORMAT}: "
            "update Keepword, then import"
        )
    try:
        tenant = record["tenant"]
        settings = dict(tenant.get("settings", {}))
        return Header(UUID(tenant["id"]), tenant["name"], tenant["created_at"], start_checksum(line).digest, settings)
    except (KeyError, TypeError, ValueError) as exc:
        raise BrokenArchive(f"the header of this export is damaged: {exc!r}; use another copy of the file") from exc


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _blocks(file: IO[bytes], so_far: RunningChecksum) -> Iterator[Block]:
    while block := _block(file, so_far):
        yield block
    if file.read(1):
        raise BrokenArchive("something follows the end of this export; use another copy of the file")


def _block(file: IO[bytes], so_far: RunningChecksum) -> Block | None:
    """Return the next block, or None at an end that is right."""
    lines: list[bytes] = []
    size = 0
    line = _line(file, so_far)
    if line == so_far.end():
        return None
    match = _KIND.match(line)
    while _KIND.match(line):
        lines.append(line)
        size += len(line)
        line = _line(file, so_far)
        if is_full(len(lines), size):
            break
    kind = match[1].decode() if match else ""
    if not lines or line != so_far.close(kind, lines, len(lines)):
        raise BrokenArchive(
            f"the export is damaged in or after block {max(so_far.blocks, 1)}: the checksum there is wrong; "
            "use another copy of the file"
        )
    if kind not in KINDS:
        raise BrokenArchive(f"the export holds {kind!r}, which this Keepword does not know; update it, then import")
    return Block(so_far.blocks, kind, tuple(lines), so_far.digest)


def _line(file: IO[bytes], so_far: RunningChecksum) -> bytes:
    line = file.readline()
    if not line.endswith(b"\n"):
        raise BrokenArchive(
            f"the export is cut off after block {so_far.blocks} ({sum(so_far.records.values())} records): it has no "
            "end; use a complete copy of the file"
        )
    return line
