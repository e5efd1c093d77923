"""What the API tells of webhooks and of their deliveries."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field


@dataclass(frozen=True, slots=True)
class Webhook:
    id: UUID
    name: str
    url: str
    events: Annotated[
        tuple[str, ...], Field(description="such as `memory.added`, `memory` for all of memories, `*` for all")
    ]
    is_active: bool
    stopped_because: Annotated[
        str | None, Field(description="why the service stopped it; null while it is active, or where somebody did")
    ]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MadeWebhook:
    """A new webhook. Its secret is not shown again."""

    webhook: Webhook
    secret: Annotated[str, Field(description="deliveries are signed with it (Standard Webhooks)")]


@dataclass(frozen=True, slots=True)
class WebhookPage:
    webhooks: tuple[Webhook, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    id: UUID
    event: str
    place: Annotated[str | None, Field(description="the run_id in which it happened")]
    ids: Annotated[dict[str, Any], Field(description="what changed: ids and numbers, no words")]
    at: datetime
    attempts: int
    due_at: Annotated[datetime | None, Field(description="of the next attempt; null: it arrived, or was given up")]
    delivered_at: datetime | None
    status: Annotated[int | None, Field(description="what the receiver answered last")]
    error: str | None


@dataclass(frozen=True, slots=True)
class WebhookDeliveryPage:
    """The newest is first."""

    deliveries: tuple[WebhookDelivery, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]


@dataclass(frozen=True, slots=True)
class WebhookTest:
    delivery: Annotated[UUID, Field(description="the delivery that was noted; the list of deliveries tells its fate")]
