"""Delivers what webhooks are to be told: signed, retried with growing pauses, given up after the last one."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from keepword.errors import KeepwordError, Unavailable
from keepword.webhooks.ports import ClaimedDelivery, DeliveryOutcome, DeliveryQueue, Sender
from keepword.webhooks.signature import sign

_log = structlog.get_logger()

# after each failed attempt; a day and a half in all, so that a receiver may be down over night
PAUSES = tuple(map(timedelta, (0,) * 8, (5, 30, 300, 1800, 7200, 21_600, 43_200, 57_600)))
AT_ONCE = 8
PER_WEBHOOK = 2
POLL_SECONDS = 1.0
# longer than an attempt may take: a worker that was killed leaves its deliveries to others after this
LEASE = timedelta(seconds=60)
MAX_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Deliverer:
    queue: DeliveryQueue
    sender: Sender
    clock: Callable[[], datetime]
    pauses: tuple[timedelta, ...] = PAUSES

    async def run(self, prepare: Callable[[], Awaitable[None]]) -> None:
        """Run until cancelled; while the database is away, ask again."""
        while True:
            try:
                await prepare()
                done = await self.deliver_due()
            except KeepwordError as exc:
                _log.warning("webhooks can't be read, retrying", reason=str(exc))
                done = 0
            if not done:
                await asyncio.sleep(POLL_SECONDS)

    async def deliver_due(self) -> int:
        """Try the deliveries that are due, several at once; return how many those were."""
        deliveries = await self.queue.claim(AT_ONCE, PER_WEBHOOK, LEASE)
        await asyncio.gather(*map(self._deliver, deliveries))
        return len(deliveries)

    async def _deliver(self, delivery: ClaimedDelivery) -> None:
        body = payload(delivery)
        headers = {"content-type": "application/json", "user-agent": "Keepword"}
        headers |= sign(delivery.secret, str(delivery.id), self.clock(), body)
        try:
            status = await self.sender.send(delivery.url, headers, body)
        except Unavailable as exc:
            await self._note(delivery, None, str(exc))
        else:
            is_taken = 200 <= status < 300  # noqa: PLR2004 - success, as HTTP has it
            await self._note(delivery, status, None if is_taken else f"the receiver answered {status}")

    async def _note(self, delivery: ClaimedDelivery, status: int | None, error: str | None) -> None:
        retry_in = None
        if error is not None:
            error = error[:MAX_ERROR_CHARS]
            retry_in = self.pauses[delivery.attempts - 1] if delivery.attempts <= len(self.pauses) else None
            # not the address: it may hold a secret of the receiver's
            _log.warning("webhook failed", webhook=str(delivery.webhook_id), attempt=delivery.attempts, reason=error)
        await self.queue.finish(delivery, DeliveryOutcome(status, error, retry_in))


def payload(delivery: ClaimedDelivery) -> bytes:
    """Return what a receiver is told: ids and no words; it reads these with its own key, under its own grant."""
    return json.dumps(
        {
            "id": str(delivery.id), "event": delivery.event, "at": delivery.at.isoformat(), "tenant": delivery.tenant,
            "place": delivery.place, "ids": delivery.ids,
        },
        ensure_ascii=False,
    ).encode()  # fmt: skip
