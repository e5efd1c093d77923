"""What each tenant may use on a day (UTC): messages, bytes and background time. Without a limit nothing is counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from prometheus_client import Counter

from keepword.errors import OverQuota
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

REFUSALS = Counter("keepword_over_quota", "Requests and jobs refused because a tenant was over a quota", ["quota"])

_SQL = Queries("quotas.sql")


@dataclass(frozen=True, slots=True)
class Quotas:
    """A day's limits of each tenant; None is no limit."""

    messages: int | None = None
    bytes: int | None = None
    background_seconds: float | None = None


NO_QUOTAS = Quotas()


class PostgresQuotas:
    def __init__(self, pool: Pool, quotas: Quotas, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._quotas = quotas
        self._clock = clock

    async def take(self, tenant_id: UUID, messages: int, size: int) -> None:
        """Count messages and their bytes before they are stored; raises OverQuota, and then counts nothing."""
        if self._quotas.messages is None and self._quotas.bytes is None:
            return
        values = self._values(tenant_id, messages, size)
        ((is_taken,),) = await self._pool.fetch(_SQL["take"], values)
        if not is_taken:
            REFUSALS.labels("messages").inc()
            raise self._over(f"{messages} messages of {size} bytes", "KEEPWORD_QUOTA_MESSAGES", "KEEPWORD_QUOTA_MB")

    async def give_back(self, tenant_id: UUID, messages: int, size: int) -> None:
        """Take back what was counted for messages that were not stored."""
        if self._quotas.messages is None and self._quotas.bytes is None:
            return
        values = self._values(tenant_id, -messages, -size) | {"most_messages": None, "most_bytes": None}
        await self._pool.fetch(_SQL["take"], values)

    async def require_background(self, tenant_id: UUID) -> None:
        """Raise OverQuota if the tenant's background work of today took as long as it may."""
        if self.background_ms is None:
            return
        values = {"tenant_id": tenant_id, "day": self._clock().date(), "most_ms": self.background_ms}
        ((is_over,),) = await self._pool.fetch(_SQL["is_over"], values)
        if is_over:
            REFUSALS.labels("background").inc()
            raise self._over("more background work", "KEEPWORD_QUOTA_BACKGROUND_SECONDS")

    async def note_background(self, seconds: Mapping[UUID, float]) -> None:
        if self.background_ms is None or not seconds:
            return
        milliseconds = [round(amount * 1000) for amount in seconds.values()]
        values = {"tenants": list(seconds), "day": self._clock().date(), "milliseconds": milliseconds}
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
            "most_messages": self._quotas.messages,
            "most_bytes": self._quotas.bytes,
        }

    def _over(self, what: str, *settings: str) -> OverQuota:
        now = self._clock()
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return OverQuota(
            f"{what}: this is over what the tenant may use on a day ({', '.join(settings)}); nothing was done. "
            "It can go on after midnight UTC",
            max(1, int((tomorrow - now).total_seconds())),
        )
