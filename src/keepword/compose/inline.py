"""Compaction inside a turn: the oldest messages give way to a summary when the window fills up."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from uuid import UUID
from weakref import WeakValueDictionary

from keepword.access import Grant, Place, everything_in
from keepword.compaction.compact import Compactor

MODEL_SECONDS = 2.0
# of a call that asks for summaries now: so long a model is waited for, and so many segments are summarised
NOW_MODEL_SECONDS = 20.0
NOW_LEAVES = 10


class InlineCompactor:
    def __init__(
        self, compactor: Compactor, model_seconds: float = MODEL_SECONDS, begin: Callable[[], None] = lambda: None
    ) -> None:
        """`begin` is called before anything is compacted, in the task of the turn, which then reads what was stored."""
        self._compactor = compactor
        self._begin = begin
        self._model_seconds = model_seconds
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @property
    def tail_messages(self) -> int:
        return self._compactor.policy.tail_messages

    async def compact(
        self,
        grant: Grant,
        place: Place,
        after_seq: int | None,
        tail_messages: int | None = None,
        spent_seconds: float = 0,
    ) -> int:
        """Compact the oldest window; return how many messages it took. `after_seq`: the last that was known as covered.

        Where `tail_messages` says so, fewer of the last messages stay than usual. A model gets what `spent_seconds`
        leaves of its time. Who comes while another turn does it waits for that one and takes nothing: one window is
        enough for both. A turn in another process is noticed by what it stored.
        """
        if place.conversation_id is None or not grant.opens(place):
            return 0
        self._begin()
        turn = self._turns.setdefault(place.conversation_id, asyncio.Lock())
        is_first = not turn.locked()
        async with turn:
            if not is_first:
                return 0
            # a summary is stored for the tenant, as jobs store it; it carries the conversation's own scope
            owner = everything_in(grant.tenant_id)
            left = max(0.0, self._model_seconds - spent_seconds)
            tail = self.tail_messages if tail_messages is None else min(tail_messages, self.tail_messages)
            return await self._compactor.compact_oldest(owner, place.conversation_id, after_seq, left, tail)

    async def compact_now(self, grant: Grant, place: Place, now: datetime) -> int:
        """Summarise what has no summary, due or not; return how many messages are left for the next call.

        Whoever calls may write in the place.
        """
        if place.conversation_id is None or not grant.opens(place):
            return 0
        self._begin()
        async with self._turns.setdefault(place.conversation_id, asyncio.Lock()):
            owner = everything_in(grant.tenant_id)
            return await self._compactor.compact_now(owner, place.conversation_id, now, NOW_MODEL_SECONDS, NOW_LEAVES)
