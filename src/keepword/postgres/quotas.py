"""What each tenant may use on a day (UTC): messages, bytes and background time. Without a limit nothing is counted.

A tenant's own settings count before those of the service.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from keepword import metrics
from keepword.access import TenantSettings
from keepword.errors import OverQuota
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

MEGABYTE = 1_000_000
_SQL = Queries("quotas.sql")


@dataclass(frozen=True, slots=True)
class Quotas:
    """A day's limits of each tenant that has none of its own; None is no limit."""

    messages: int | None = None
    bytes: int | None = None
    background_seconds: float | None = None


NO_QUOTAS = Quotas()


class PostgresQuotas:
    def __init__(self, pool: Pool, quotas: Quotas, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._quotas = quotas
        self._clock = clock

    async def take(self, tenant_id: UUID, own: TenantSettings, messages: int, size: int) -> None:
        """Count messages and their bytes before they are stored; raises OverQuota, and then counts nothing."""
        most_messages, most_bytes = limits = self._limits(own)
        if limits == (None, None):
            return
        values = self._values(tenant_id, messages, size) | {"most_messages": most_messages, "most_bytes": most_bytes}
        ((is_taken,),) = await self._pool.fetch(_SQL["take"], values)
        if not is_taken:
            metrics.OVER_QUOTA.labels("messages").inc()
            raise self._over(f"{messages} more messages of {size:,} bytes", _written(most_messages, most_bytes))

    async def give_back(self, tenant_id: UUID, own: TenantSettings, messages: int, size: int) -> None:
        """Take back the count of messages that were not stored."""
        if self._limits(own) == (None, None):
            return
        values = self._values(tenant_id, -messages, -size) | {"most_messages": None, "most_bytes": None}
        await self._pool.fetch(_SQL["take"], values)

    def _limits(self, own: TenantSettings) -> tuple[int | None, int | None]:
        messages = self._quotas.messages if own.quota_messages is None else own.quota_messages
        return messages, self._quotas.bytes if own.quota_mb is None else own.quota_mb * MEGABYTE

    async def require_background(self, tenant_id: UUID) -> None:
        """Raise OverQuota if the tenant's background work of today took as long as it may."""
        values = {"tenant_id": tenant_id, "day": self._clock().date(), "most_ms": self.background_ms}
        ((is_over,),) = await self._pool.fetch(_SQL["is_over"], values)
        if is_over:
            metrics.OVER_QUOTA.labels("background").inc()
            raise self._over("more background work", "quota_background_seconds, else KEEPWORD_QUOTA_BACKGROUND_SECONDS")

    async def note_background(self, seconds: Mapping[UUID, float]) -> None:
        milliseconds = [round(amount * 1000) for amount in seconds.values()]
        values = {
            "tenants": list(seconds), "day": self._clock().date(), "milliseconds": milliseconds,
            "most_ms": self.background_ms,
        }  # fmt: skip
        await self._pool.fetch(_SQL["note"], values)

    @property
    def background_ms(self) -> int | None:
        seconds = self._quotas.background_seconds
        return None if seconds is None else round(seconds * 1000)

    def _values(self, tenant_id: UUID, messages: int, size: int) -> dict[str, object]:
        return {
            "tenant_id": tenant_id,
            "day": self._clock().date(),
            "messages": messages,
            "bytes": size,
        }

    def _over(self, what: str, limit: str) -> OverQuota:
        now = self._clock()
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return OverQuota(
            f"{what}: this is over what the tenant may use on a day: {limit}; nothing was done. "
            "It can go on after midnight UTC",
            max(1, int((tomorrow - now).total_seconds())),
        )


def _written(most_messages: int | None, most_bytes: int | None) -> str:
    messages = f"{most_messages:,} messages (quota_messages, else KEEPWORD_QUOTA_MESSAGES)" if most_messages else ""
    size = f"{most_bytes:,} bytes (quota_mb, else KEEPWORD_QUOTA_MB)" if most_bytes else ""
    return " and ".join(filter(None, (messages, size)))
