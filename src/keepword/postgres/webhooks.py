"""The stores of webhooks: what their owner sees of them, and what the worker delivers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keepword.access import Grant
from keepword.answers import MadeWebhook, Webhook, WebhookDelivery
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows
from keepword.webhooks.ports import ClaimedDelivery, DeliveryOutcome, WebhookDraft


class PostgresWebhooks:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("webhooks.sql", first_wall=first_wall)

    async def page(self, grant: Grant, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[Webhook]:
        values = _values(grant) | _position(after) | {"limit": limit}
        return [_webhook(row) for row in await self._pool.read(grant, self._sql.read("page"), values)]

    async def get(self, grant: Grant, webhook_id: UUID) -> Webhook | None:
        rows = await self._pool.read(grant, self._sql.read("get"), _values(grant) | {"id": webhook_id})
        return _webhook(rows[0]) if rows else None

    async def add(self, grant: Grant, draft: WebhookDraft) -> MadeWebhook:
        values = {"name": draft.name, "url": draft.url, "events": list(draft.events), "secret": draft.secret}
        (row,) = await self._written(grant, "add", values)
        return MadeWebhook(_webhook(row), draft.secret)

    async def change(self, grant: Grant, webhook_id: UUID, changes: dict[str, Any]) -> Webhook | None:
        values = dict.fromkeys(("name", "url", "events", "is_active")) | changes | {"id": webhook_id}
        rows = await self._written(grant, "change", values)
        return _webhook(rows[0]) if rows else None

    async def delete(self, grant: Grant, webhook_id: UUID) -> bool:
        return bool(await self._written(grant, "delete", {"id": webhook_id}))

    async def deliveries(
        self, grant: Grant, webhook_id: UUID, after: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[WebhookDelivery]:
        values = _values(grant) | _position(after) | {"id": webhook_id, "limit": limit}
        return read_rows(WebhookDelivery, await self._pool.read(grant, self._sql.read("deliveries"), values))

    async def test(self, grant: Grant, webhook_id: UUID) -> UUID | None:
        values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "id": webhook_id}
        rows = await self._pool.fetch(self._sql["test"], values)
        return rows[0].delivery if rows else None

    async def _written(self, grant: Grant, name: str, values: dict[str, Any]) -> list[Row]:
        async with self._pool.granted(grant) as conn:
            cursor = await conn.execute(self._sql[name], _values(grant) | values)
        return await cursor.fetchall()


class PostgresDeliveries:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("webhooks.sql")

    async def claim(self, most: int, per_webhook: int, lease: timedelta) -> Sequence[ClaimedDelivery]:
        values = {"most": most, "per_webhook": per_webhook, "lease": lease}
        return read_rows(ClaimedDelivery, await self._pool.fetch(self._sql["claim"], values))

    async def finish(self, delivery: ClaimedDelivery, outcome: DeliveryOutcome) -> None:
        values = {
            "tenant_id": delivery.tenant_id, "id": delivery.id, "status": outcome.status, "error": outcome.error,
            "retry_in": outcome.retry_in,
        }  # fmt: skip
        await self._pool.fetch(self._sql["finish"], values)


async def sweep(pool: Pool, before: datetime) -> int:
    """Delete deliveries of all tenants that ended before then, and return how many those were."""
    ((gone,),) = await pool.fetch(Queries("webhooks.sql")["sweep"], {"before": before})
    return int(gone)


def _webhook(row: Row) -> Webhook:
    return read_row(Webhook, row._replace(events=tuple(row.events)))


def _values(grant: Grant) -> dict[str, Any]:
    return {"tenant_id": grant.tenant_id, "everything": grant.everything}


def _position(after: tuple[datetime, UUID] | None) -> dict[str, Any]:
    time, id_ = after or (None, None)
    return {"after_time": time, "after_id": id_}
