"""Counts the entries that are given to agents, in batches in the background."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from uuid import UUID

import structlog

from keepword.access import Grant
from keepword.errors import KeepwordError
from keepword.recall.ports import Index

FLUSH_SECONDS = 1.0
MAX_PENDING_USES = 10_000

_log = structlog.get_logger()


class Uses:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._held: dict[UUID, tuple[Grant, Counter[int]]] = {}

    def note(self, grant: Grant, entry_ids: Iterable[int]) -> None:
        """Count one use of each entry; beyond the limit uses are dropped."""
        _, pending = self._held.setdefault(grant.tenant_id, (grant, Counter()))
        if len(pending) < MAX_PENDING_USES:
            pending.update(entry_ids)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        pending, self._held = self._held, {}
        for grant, amounts in pending.values():
            try:
                # in the order of ids, so that concurrent updates do not deadlock
                await self._index.count_uses(grant, dict(sorted(amounts.items())))
            except KeepwordError as exc:
                _log.warning("uses were not counted", reason=str(exc), entries=len(amounts))
