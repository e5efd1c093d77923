"""The ports of an import."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from keepword.archive.reading import Block, Header


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import came: the last block that is stored, and its digest. 0 before the first."""

    tenant_id: UUID
    block: int
    digest: bytes


class Store(Protocol):
    """Until `finish`, nothing of the tenant can be reached by any key."""

    def begin(self, header: Header, tenant: str) -> Progress:
        """Begin, or go on with the same file; raises Conflict where neither can be."""

    def put(self, tenant_id: UUID, block: Block) -> None:
        """Store a block and note it, all or nothing."""

    def finish(self, tenant_id: UUID) -> None:
        """Open the tenant."""
