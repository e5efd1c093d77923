"""The store of the vector worker: entries without a vector, and vector spaces. Its statements are in embedding.sql."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from keepword.access import Grant, everything_in
from keepword.embedding.ports import BacklogDepth, ChunkVector, Claim, Space
from keepword.embedding.text_indexer import message_parts, pack_vector
from keepword.errors import Conflict
from keepword.postgres import migrate
from keepword.postgres.driver_errors import mapped_errors
from keepword.postgres.halfvec import Vectors
from keepword.postgres.logins import as_application
from keepword.postgres.pool import APP_ROLE, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.quotas import PostgresQuotas
from keepword.postgres.rows import Row, read_rows

_SQL = Queries("embedding.sql")
_QUEUE_AMOUNT = 10_000


class PostgresTexts:
    """The texts of entries, as they were indexed."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, grant: Grant, entry_ids: Sequence[int]) -> dict[int, str]:
        values = {"tenant_id": grant.tenant_id, "ids": list(entry_ids)}
        rows = await self._pool.read(grant, _SQL.read("texts"), values)
        return {row.id: text for row in rows if (text := _text(row))}


class PostgresBacklog:
    """The worker's store: ids of all tenants. Texts are read under the grant of the tenant's owner."""

    # the blocks `claim`, `store`, `give_up` and `release`
    _work = _SQL

    def __init__(self, pool: Pool, conninfo: str, quotas: PostgresQuotas | None = None) -> None:
        self._pool = pool
        self._conninfo = conninfo
        self._quotas = quotas
        self._read_texts = PostgresTexts(pool).read

    async def open(self, space: Space) -> int:
        rows = await self._pool.fetch(_SQL["space"], {"name": space.name})
        if not rows:
            return await asyncio.to_thread(make_space, self._conninfo, space)
        if rows[0].dimensions != space.dimensions:
            raise Conflict(
                f"the space {space.name} has {rows[0].dimensions} dimensions, the embedder {space.dimensions}"
            )
        return int(rows[0].id)

    async def settle(self, amount: int) -> int:
        ((settled,),) = await self._pool.fetch(_SQL["settle"], {"amount": amount})
        if settled:
            await self.flush()
            await self._pool.fetch(_SQL["analyze"], {})
        return int(settled)

    async def is_importing(self) -> bool:
        ((importing,),) = await self._pool.fetch(_SQL["importing"], {})
        return bool(importing)

    async def flush(self) -> None:
        await self._pool.fetch(_SQL["flush"], {})

    async def claim(self, space: int, amount: int, lease_seconds: float) -> list[Claim]:
        most_ms = self._quotas.background_ms if self._quotas else None
        values = {"space": space, "amount": amount, "lease": lease_seconds, "most_ms": most_ms}
        return read_rows(Claim, await self._pool.fetch(self._work["claim"], values))

    async def note_time(self, claims: Sequence[Claim], seconds: float) -> None:
        if self._quotas is not None:
            shares = Counter(claim.tenant_id for claim in claims)
            await self._quotas.note_background(
                {tenant_id: seconds * number / len(claims) for tenant_id, number in shares.items()}
            )

    async def texts(self, claims: Sequence[Claim]) -> dict[Claim, str]:
        texts: dict[Claim, str] = {}
        ordered = sorted(claims, key=lambda claim: claim.tenant_id)
        for tenant_id, group in groupby(ordered, key=lambda claim: claim.tenant_id):
            owner = everything_in(tenant_id)
            texts_by_id = await self._read_texts(owner, [claim.entry_id for claim in group])
            texts |= {Claim(tenant_id, entry_id): text for entry_id, text in texts_by_id.items()}
        return texts

    async def store(self, space: int, vectors: Sequence[ChunkVector]) -> None:
        values = {
            **_rows_of(space, [one.claim for one in vectors]),
            "parts": [one.part for one in vectors],
            "vectors": Vectors(pack_vector(one.vector) for one in vectors),
        }
        await self._pool.fetch(self._work["store"], values)

    async def give_up(
        self, space: int, claims: Sequence[Claim], reason: str, attempts: int, pause_seconds: float
    ) -> None:
        values = _rows_of(space, claims) | {"reason": reason, "attempts": attempts, "pause": pause_seconds}
        await self._pool.fetch(self._work["give_up"], values)

    async def release(self, space: int, claims: Sequence[Claim]) -> None:
        await self._pool.fetch(self._work["release"], _rows_of(space, claims))

    async def sleep(self) -> None:
        await self._pool.fetch(_SQL["sleep"], {})

    async def wakes(self) -> AsyncIterator[None]:
        # not from the pool: LISTEN occupies the connection for good
        with mapped_errors():
            async with await AsyncConnection.connect(
                as_application(self._conninfo), autocommit=True, application_name="keepword listener"
            ) as conn:
                await conn.execute("SELECT set_config('role', %s, false)", (APP_ROLE,))
                await conn.execute("LISTEN keepword_entries")
                yield None  # appends before LISTEN sent no notification to us
                async for _ in conn.notifies():
                    yield None

    async def depths(self) -> list[BacklogDepth]:
        return read_rows(BacklogDepth, await self._pool.fetch(_SQL["count"], {}))

    async def waiting(self, space: str) -> int:
        return sum(depth.waiting for depth in await self.depths() if depth.space == space)

    async def failed(self, space: str) -> int:
        return sum(depth.failed for depth in await self.depths() if depth.space == space)

    async def serving(self) -> str | None:
        """Return the name of the deep space that searches use."""
        rows = await self._pool.fetch(_SQL["serving"], {})
        return rows[0].name if rows else None


def _rows_of(space: int, claims: Sequence[Claim]) -> dict[str, Any]:
    tenants, ids = [claim.tenant_id for claim in claims], [claim.entry_id for claim in claims]
    return {"space": space, "tenants": tenants, "ids": ids}


def _text(row: Row) -> str | None:
    if row.text is not None or row.kind != "message":
        return str(row.text) if row.text else None
    author = row.user_id if row.role == "user" else row.agent
    parts = message_parts(author, row.content, row.tool_name, row.tool_args, row.tool_result)
    return parts[row.part] if row.part < len(parts) else None


def make_space(conninfo: str, space: Space) -> int:
    """Make the space and its index, unless it is there. As the owner."""
    with mapped_errors(), migrate.owner(conninfo) as conn:
        row = conn.execute(_SQL["make_space"], {"name": space.name, "dimensions": space.dimensions}).fetchone()
        return int(row[0]) if row else 0


def queue_missing(conn: psycopg.Connection[Any], space: int) -> int:
    """Queue all that has no vector in the space, and all that failed; return how many. As the owner."""
    queued, values = 0, {"space": space, "after_tenant": UUID(int=0), "after_id": 0, "amount": _QUEUE_AMOUNT}
    conn.execute(_SQL["fill_space"], values)
    while row := conn.execute(_SQL["queue_missing"], values).fetchone():
        if row[1] is None:
            break
        queued, values["after_tenant"], values["after_id"] = queued + row[0], row[1], row[2]
    return queued


def serve_space(conn: psycopg.Connection[Any], space: int) -> None:
    """Let searches use the space. As the owner."""
    conn.execute(_SQL["serve_space"], {"space": space})


def serving_space(conn: psycopg.Connection[Any]) -> str | None:
    row = conn.execute(_SQL["serving"]).fetchone()
    return str(row[0]) if row else None


def failures(conn: psycopg.Connection[Any]) -> list[tuple[str, str, int]]:
    """Return the most frequent reasons of failures: space, reason, number of entries. As the owner."""
    return [(space, reason, count) for space, reason, count in conn.execute(_SQL["failures"])]
