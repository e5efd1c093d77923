"""All that is kept of one user, as JSON lines: for the command line, as the owner of the database, and for a grant."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import IO, Any

from psycopg import AsyncCopy, IsolationLevel
from psycopg.rows import tuple_row

from keepword.access import Grant
from keepword.errors import NotFound, Unavailable
from keepword.postgres.archive import Connection
from keepword.postgres.grants import dump
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries

_SQL = Queries("personal.sql")
KINDS = (
    "user", "participant", "introduction", "key", "conversation", "message", "summary", "landmark", "memory", "fact",
    "profile", "item", "working_memory", "audit",
)  # fmt: skip
CHUNK_BYTES = 64 * 1024


@contextmanager
def personal_data(conn: Connection, tenant: str, user: str) -> Iterator[Iterator[bytes]]:
    """Lend the lines, all as they are at one moment. Raises NotFound for a user who is not there."""
    conn.execute("SELECT set_config('timezone', 'UTC', false)")
    conn.isolation_level, conn.read_only = IsolationLevel.REPEATABLE_READ, True
    with conn.transaction():
        found = conn.execute(_SQL["find"], {"tenant": tenant, "user": user}).fetchone()
        if found is None:
            raise NotFound(f"no user {user!r} in the tenant {tenant!r}")
        values = {"tenant_id": found[0], "user": user}
        conn.execute(_SQL["require_no_erasure"], values)
        yield (line for kind in KINDS for line in _lines(conn, values | {"kind": kind}))


def _lines(conn: Connection, values: dict[str, Any]) -> Iterator[bytes]:
    with conn.cursor() as cursor, cursor.copy(_SQL["as_owner"], values) as copy:
        for (line,) in copy.rows():
            yield line.encode() + b"\n"


class PostgresPersonalData:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def chunks(self, grant: Grant, user: str) -> AsyncGenerator[bytes]:
        """Yield whole lines, all as they are at one moment; none where nobody of that name is there.

        They lie in a temporary file meanwhile: whoever reads them slowly holds no connection to the database.
        """
        async with _temporary_file() as file:
            await self._write(grant, user, file)
            while lines := await asyncio.to_thread(file.readlines, CHUNK_BYTES):
                yield b"".join(lines)

    async def _write(self, grant: Grant, user: str, file: IO[bytes]) -> None:
        async with aclosing(self._read(grant, user)) as chunks:
            async for chunk in chunks:
                with _mapped_disk_errors():
                    await asyncio.to_thread(file.write, chunk)
        with _mapped_disk_errors():
            await asyncio.to_thread(file.seek, 0)

    async def _read(self, grant: Grant, user: str) -> AsyncGenerator[bytes]:
        async with (
            self._pool.connection() as conn,
            conn.transaction(),
            # the answer to a COPY has no names
            conn.cursor(row_factory=tuple_row) as cursor,
        ):
            await cursor.execute(_SQL["at_one_moment"])
            for kind in KINDS:
                values = {"grant": dump(grant), "tenant_id": grant.tenant_id, "user": user, "kind": kind}
                is_there = False
                async with cursor.copy(_SQL["as_granted"], values) as copy:
                    async for chunk in _chunks(copy):
                        is_there = True
                        yield chunk
                if kind == "user" and not is_there:
                    return


@asynccontextmanager
async def _temporary_file() -> AsyncIterator[IO[bytes]]:
    """Lend a file without a name: it is gone as soon as it is closed, or the process ends."""
    with _mapped_disk_errors():
        file = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        yield file
    finally:
        # to the end, also for somebody who is cancelled; the file itself waits for a thread that still uses it
        await asyncio.shield(asyncio.to_thread(file.close))


@contextmanager
def _mapped_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise Unavailable(
            f"the export can't be written to a temporary file ({exc}); make room in {tempfile.gettempdir()}, or let "
            "TMPDIR name another folder, then try again"
        ) from exc


async def _chunks(copy: AsyncCopy) -> AsyncGenerator[bytes]:
    chunk = bytearray()
    async for (line,) in copy.rows():
        chunk += line.encode() + b"\n"
        if len(chunk) >= CHUNK_BYTES:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)
