"""The stores of imports of histories: for the tenant's owner, and for whoever runs them."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keepword.access import Grant
from keepword.answers import HistoryImport, ImportState
from keepword.errors import Conflict, InvalidInput, NotFound, TooLarge
from keepword.histories.claimed import ClaimedImport
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import read_row, read_rows

MOST_OPEN = 100
MOST_ATTEMPTS = 5
LEASE_SECONDS = 30
ABANDONED = timedelta(days=7)
FORGOTTEN = timedelta(days=90)


class PostgresImports:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("history_imports.sql", first_wall=first_wall)

    async def make(self, grant: Grant, kind: str, file: str, options: dict[str, Any]) -> UUID:
        made = await self._call("make", grant, kind=kind, file=file, options=json.dumps(options), most_open=MOST_OPEN)
        if made is None:
            raise Conflict(f"{MOST_OPEN} imports have not ended yet; cancel some, or wait for their end")
        return UUID(str(made))

    async def put_part(self, grant: Grant, id_: UUID, number: int, content: bytes, most_bytes: int) -> None:
        came = await self._call("put_part", grant, id=id_, number=number, content=content, most_bytes=most_bytes)
        if came == "full":
            raise TooLarge(
                f"the uploads of this tenant would be over {most_bytes >> 20:,} MB together (KEEPWORD_IMPORTS_MB); "
                "cancel another import, or bring the history in parts"
            )
        _require(came, "stored", id_, "parts are taken only while it is uploading")

    async def start(self, grant: Grant, id_: UUID, key_id: str, *, dry_run: bool) -> None:
        came = await self._call("start", grant, id=id_, dry_run=dry_run, key_id=key_id)
        if came == "gap":
            raise InvalidInput(
                "the upload has no parts, or not all from number 1 on; upload what is missing, then start"
            )
        if came == "erasing":
            raise Conflict("something of this tenant is being erased, and an import may bring it back; start it then")
        _require(came, "waiting", id_, "it is started once")

    async def cancel(self, grant: Grant, id_: UUID) -> None:
        """End it; one that has ended stays as it is."""
        _known(await self._call("cancel", grant, id=id_), id_)

    async def delete(self, grant: Grant, id_: UUID) -> None:
        state = _known(await self._call("delete", grant, id=id_), id_)
        if state not in {"checked", "done", "failed", "cancelled"}:
            raise Conflict(f"the import {id_} is {state}; cancel it first")

    async def list(
        self, grant: Grant, before: tuple[datetime, UUID] | None, limit: int, id_: UUID | None = None
    ) -> Sequence[HistoryImport]:
        """Return the newest from before then."""
        before_time, before_id = before or (None, None)
        values = {
            "tenant_id": grant.tenant_id, "everything": grant.everything, "id": id_, "before_time": before_time,
            "before_id": before_id, "limit": limit,
        }  # fmt: skip
        return read_rows(HistoryImport, await self._pool.read(grant, self._sql.read("page"), values))

    async def get(self, grant: Grant, id_: UUID) -> HistoryImport:
        found = await self.list(grant, None, 1, id_)
        if not found:
            raise _absent(id_)
        return found[0]

    async def _call(self, query: str, grant: Grant, **values: Any) -> Any:
        ((answer,),) = await self._pool.fetch(
            self._sql[query], values | {"grant": dump(grant), "tenant_id": grant.tenant_id}
        )
        return answer


class PostgresImportQueue:
    """Imports of all tenants, for whoever runs them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sql = Queries("history_imports.sql")

    async def claim(self) -> ClaimedImport | None:
        rows = await self._pool.fetch(
            self._sql["claim"], {"lease_seconds": LEASE_SECONDS, "most_attempts": MOST_ATTEMPTS}
        )
        return read_row(ClaimedImport, rows[0]) if rows else None

    async def is_held(self, claimed: ClaimedImport) -> bool:
        return bool(await self._call("is_held", claimed))

    async def part(self, claimed: ClaimedImport, number: int) -> bytes | None:
        """Return a part of the upload; None after the last one."""
        ((content,),) = await self._pool.fetch(
            self._sql["read_part"], _values(claimed) | {"number": number}, binary=True
        )
        return content if content is None else bytes(content)

    async def note(self, claimed: ClaimedImport, report: dict[str, Any], read_bytes: int, total_bytes: int) -> bool:
        """Keep how far it is, and the lease; False: stop."""
        return bool(await self._call(
            "note", claimed, lease_seconds=LEASE_SECONDS, report=json.dumps(report), read_bytes=read_bytes,
            total_bytes=total_bytes,
        ))  # fmt: skip

    async def finish(
        self, claimed: ClaimedImport, state: ImportState, report: dict[str, Any], read_bytes: int,
        error: str | None = None,
    ) -> None:  # fmt: skip
        await self._call("finish", claimed, state=state, error=error, report=json.dumps(report), read_bytes=read_bytes)

    async def release(self, claimed: ClaimedImport, after: datetime | None, error: str | None, *, counts: bool) -> None:
        await self._call("release", claimed, after=after, error=error, counts=counts)

    async def _call(self, query: str, claimed: ClaimedImport, **values: Any) -> Any:
        ((answer,),) = await self._pool.fetch(self._sql[query], _values(claimed) | values)
        return answer


async def sweep(pool: Pool, now: datetime) -> int:
    """End abandoned uploads and forget what ended long ago, of all tenants; tell how many were abandoned."""
    values = {"abandoned": now - ABANDONED, "forgotten": now - FORGOTTEN}
    ((swept,),) = await pool.fetch(Queries("history_imports.sql")["sweep"], values)
    return int(swept)


def _values(claimed: ClaimedImport) -> dict[str, Any]:
    return {"tenant_id": claimed.tenant_id, "id": claimed.id, "lease": claimed.lease}


def _require(came: str, wanted: str, id_: UUID, rule: str) -> None:
    if came == "absent":
        raise _absent(id_)
    if came != wanted:
        raise Conflict(f"the import {id_} is {came}; {rule}")


def _known(state: str | None, id_: UUID) -> str:
    if state is None:
        raise _absent(id_)
    return state


def _absent(id_: UUID) -> NotFound:
    return NotFound(f"no import {id_}")
