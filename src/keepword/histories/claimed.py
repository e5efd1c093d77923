"""An import that somebody started, as whoever runs it gets it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ClaimedImport:
    """An import to be run. `lease` is the right to run it, which ends without news."""

    tenant_id: UUID
    id: UUID
    tenant: str
    kind: str
    file: str
    options: dict[str, Any]
    dry_run: bool
    key_id: str
    lease: UUID
