"""Reads the audit, and notes reads in it. The changes themselves write their events in their own transactions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from keepword.access.grant import Grant
from keepword.answers import AuditEvent


@dataclass(frozen=True, slots=True)
class AuditSelection:
    """Which events, the newest first: those older than `after`, which is the last of the page before."""

    action: str | None = None
    actor: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    after: tuple[datetime, UUID] | None = None
    limit: int = 50


class AuditLog(Protocol):
    async def select(self, grant: Grant, selection: AuditSelection) -> Sequence[AuditEvent]: ...

    async def note_read(self, grant: Grant, route: str, run_id: str | None, conversation: str | None) -> None:
        """Note a read, with the actor that the grant names, before it is answered."""
        ...
