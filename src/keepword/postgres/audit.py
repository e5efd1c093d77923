"""The store of the audit."""

from collections.abc import Sequence
from dataclasses import asdict

from keepword.access import Grant
from keepword.access.audit import AuditSelection
from keepword.answers import AuditEvent
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_rows


class PostgresAudit:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("audit.sql", first_wall=first_wall)

    async def select(self, grant: Grant, selection: AuditSelection) -> Sequence[AuditEvent]:
        values = asdict(selection) | {"tenant_id": grant.tenant_id, "everything": grant.everything}
        values["after_time"], values["after_id"] = values.pop("after") or (None, None)
        return read_rows(AuditEvent, await self._pool.read(grant, self._sql.read("page"), values))

    async def note_read(self, grant: Grant, route: str, run_id: str | None, conversation: str | None) -> None:
        values = {
            "grant": dump(grant), "tenant_id": grant.tenant_id, "route": route, "run_id": run_id,
            "conversation": conversation,
        }  # fmt: skip
        await self._pool.fetch(self._sql["note_read"], values)
