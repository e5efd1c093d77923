"""All that is kept of one user, as JSON lines: for the command line, as the owner of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import IsolationLevel

from keepword.errors import NotFound
from keepword.postgres.archive import Connection
from keepword.postgres.queries import Queries

_SQL = Queries("personal.sql")
KINDS = (
    "user", "participant", "introduction", "key", "conversation", "message", "summary", "landmark", "memory", "fact",
    "profile", "item", "working_memory", "audit",
)  # fmt: skip


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
        yield (line for kind in KINDS for line in _lines(conn, kind, values))


def _lines(conn: Connection, kind: str, values: dict[str, object]) -> Iterator[bytes]:
    with conn.cursor() as cursor, cursor.copy(_SQL[kind], values) as copy:
        for (line,) in copy.rows():
            yield line.encode() + b"\n"
