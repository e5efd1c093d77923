"""The ports of webhooks: their store, and the sender of deliveries. Nothing is read or changed without a Grant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from keepword.access import Grant
from keepword.answers import MadeWebhook, Webhook, WebhookDelivery


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    name: str
    url: str
    events: tuple[str, ...]
    secret: str


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this worker tries now, and no other until the lease ends."""

    tenant_id: UUID
    tenant: str
    id: UUID
    webhook_id: UUID
    url: str
    secret: str
    event: str
    place: str | None
    ids: dict[str, Any]
    at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """Without an error it arrived; with one, `retry_in` None gives it up."""

    status: int | None = None
    error: str | None = None
    retry_in: timedelta | None = None


class Webhooks(Protocol):
    async def page(self, grant: Grant, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[Webhook]: ...

    async def get(self, grant: Grant, webhook_id: UUID) -> Webhook | None: ...

    async def add(self, grant: Grant, draft: WebhookDraft) -> MadeWebhook: ...

    async def change(self, grant: Grant, webhook_id: UUID, changes: dict[str, Any]) -> Webhook | None:
        """Change some of name, url, events and is_active; None if there is no such webhook."""
        ...

    async def delete(self, grant: Grant, webhook_id: UUID) -> bool: ...

    async def deliveries(
        self, grant: Grant, webhook_id: UUID, after: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[WebhookDelivery]:
        """Return deliveries, the newest first."""
        ...

    async def test(self, grant: Grant, webhook_id: UUID) -> UUID | None:
        """Note a delivery of the event webhook.test; None if there is no such webhook."""
        ...


class DeliveryQueue(Protocol):
    """The worker's store, for all tenants: ids only."""

    async def claim(self, most: int, per_webhook: int, lease: timedelta) -> Sequence[ClaimedDelivery]: ...

    async def finish(self, delivery: ClaimedDelivery, outcome: DeliveryOutcome) -> None: ...


class Sender(Protocol):
    async def send(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """Return the status of the answer. Raises Unavailable where there is none."""
        ...
