"""Compaction inside a turn: the oldest messages give way to a summary when the window fills up."""

import asyncio
from uuid import UUID
from weakref import WeakValueDictionary

from keepword.access import Grant, Place, everything_in
from keepword.compaction.compact import Compactor

MODEL_SECONDS = 2.0


class Inline:
    def __init__(self, compactor: Compactor, model_seconds: float = MODEL_SECONDS) -> None:
        self._compactor = compactor
        self._model_seconds = model_seconds
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def compact(self, grant: Grant, place: Place, after_seq: int | None) -> int:
        """Compact the oldest window; return how many messages it took. `after_seq`: the last that was known as covered.

        Who comes while another turn does it waits for that one and takes nothing: one window is enough for both. A
        turn in another process is noticed by what it stored.
        """
        if place.conversation_id is None or not grant.opens(place):
            return 0
        turn = self._turns.setdefault(place.conversation_id, asyncio.Lock())
        is_first = not turn.locked()
        async with turn:
            if not is_first:
                return 0
            # what is derived is stored for the tenant, as jobs store it; it carries the conversation's own scope
            owner = everything_in(grant.tenant_id)
            return await self._compactor.compact_oldest(owner, place.conversation_id, after_seq, self._model_seconds)
