"""Writes an archive. The same content gives the same bytes: an archive has no time, host or version."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FORMAT: Final = 1
# in this order each thing comes after what it refers to
KINDS: Final = (
    "user", "agent", "agent_file", "project", "room", "participant", "conversation", "introduction", "message",
    "sentence", "summary", "landmark", "retraction", "memory", "supersession", "memory_source", "memory_version",
    "fact",
    "fact_version", "profile", "profile_version", "working_memory", "ledger_mark", "item", "alias", "assignment", "use",
    "key", "task", "compaction", "extraction", "file_version", "audit",
)  # fmt: skip
# a block is held in memory as a whole and imported in one transaction
BLOCK_RECORDS: Final = 1000
BLOCK_BYTES: Final = 4 << 20


@dataclass
class RunningChecksum:
    """The checksum of all bytes so far: no block can be lost, doubled or moved."""

    digest: bytes
    blocks: int = 0
    records: dict[str, int] = field(default_factory=dict)

    def close(self, kind: str, lines: Iterable[bytes], amount: int) -> bytes:
        """Take a block in and return the line that must follow it."""
        hashed = hashlib.sha256(self.digest)
        for line in lines:
            hashed.update(line)
        self.digest = hashed.digest()
        self.blocks += 1
        self.records[kind] = self.records.get(kind, 0) + amount
        return dump({"check": kind, "block": self.blocks, "records": amount, "sha256": self.digest.hex()})

    def end(self) -> bytes:
        return dump({"end": "keepword", "blocks": self.blocks, "records": self.records, "sha256": self.digest.hex()})


def start_checksum(header: bytes) -> RunningChecksum:
    return RunningChecksum(hashlib.sha256(header).digest())


def write(tenant: Mapping[str, Any], records: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the lines of an archive. `records`: for each kind, in the order of KINDS, its lines without their ends."""
    header = dump({"keepword": "archive", "format": FORMAT, "tenant": dict(tenant)})
    yield header
    so_far = start_checksum(header)
    for kind, lines in records:
        yield from _blocks(so_far, kind, lines)
    yield so_far.end()


def _blocks(so_far: RunningChecksum, kind: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line + b"\n")
        size += len(line) + 1
        if is_full(len(block), size):
            yield from block
            yield so_far.close(kind, block, len(block))
            block, size = [], 0
    if block:
        yield from block
        yield so_far.close(kind, block, len(block))


def is_full(records: int, size: int) -> bool:
    return records >= BLOCK_RECORDS or size >= BLOCK_BYTES


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
