"""The pool of connections, each dropped to the application role, and the one place where the driver's errors end."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, LiteralString, NamedTuple, Protocol, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from keepword import priority
from keepword.access import Grant
from keepword.errors import Unavailable
from keepword.postgres import halfvec
from keepword.postgres.driver_errors import mapped_errors, translate
from keepword.postgres.grants import dump
from keepword.postgres.log_position import LogPosition, locate, required_position
from keepword.postgres.logins import as_application, is_embedded
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, named_rows
from keepword.postgres.statement_batch import Statement, StatementBatch
from keepword.priority import gives_way

APP_ROLE = "keepword_app"
OWNER_ROLE = "keepword_owner"
SCHEMA = "keepword"
# types and operators of extensions are written with their schema, and never looked up: others may make names there
EXTENSIONS_SCHEMA = "public"
SEARCH_PATH = f"{SCHEMA}, pg_temp"

# waiting longer than this for a connection means that the database is away or overrun
CHECKOUT_SECONDS = 5
# the pool's own back-off grows without bound; short attempts, begun anew by the next caller, recover at once
RECONNECT_SECONDS = 2
READY_SECONDS = 2
COLLISIONS = 3

_SET_UP = """
SELECT set_config('search_path', %(path)s, false), set_config('timezone', 'UTC', false),
       set_config('synchronous_commit', %(commit)s, false), set_config('statement_timeout', %(statement)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       set_config('plan_cache_mode', %(plans)s, false), set_config('role', %(role)s, false)
"""
# null where it is no standby (any more)
_REPLAYED = "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 END AS replayed"
_SET_GRANT = "SELECT set_config('keepword.grant', %s, true)"

Connection = AsyncConnection[Any]
T = TypeVar("T")


class Replicas(Protocol):
    """Servers that may answer what only reads."""

    async def ask(
        self, position: LogPosition, question: Callable[["Pool"], Awaitable[tuple[int, T | None]]]
    ) -> T | None:
        """Put the question to a replica's pool; None where the primary has to answer.

        What it gives back is how far the replica has replayed, and the answer if that is far enough.
        """
        ...


class _Gathering(NamedTuple):
    """What `Pool.together` gathers: `reads` may go to a replica."""

    pool: "Pool"
    statements: StatementBatch
    reads: StatementBatch


_gathering: ContextVar[_Gathering | None] = ContextVar("gathering", default=None)


@dataclass(frozen=True, slots=True)
class Limits:
    """`connections` are all; a quarter of them, if `has_lanes`, is for requests that give way, and for nothing else.

    With `nice`, the embedded server's processes give way to those of a lower one. Without `waits_for_disk` a commit
    and all after it may be lost with the machine until a later one is waited for.
    """

    connections: int = 20
    statement_seconds: float = 10
    checkout_seconds: float = CHECKOUT_SECONDS
    # the plans of requests do not depend on the values, and planning anew costs more than most of them take to run
    plans: Literal["force_generic_plan", "force_custom_plan"] = "force_generic_plan"
    has_lanes: bool = False
    nice: int = 0
    waits_for_disk: bool = True

    @property
    def slow_connections(self) -> int:
        return self.connections // 4 if self.has_lanes else 0


class Pool:
    def __init__(self, conninfo: str, limits: Limits, replicas: Replicas | None = None) -> None:
        self._opening = asyncio.Lock()
        self._limits = limits
        self._replicas = replicas
        self._is_embedded = is_embedded(conninfo)
        slow = limits.slow_connections
        self._fast = self._lane(conninfo, limits.connections - slow, self._configure)
        # a connection that gives way keeps its low priority, so it is never lent to others
        self._slow = self._lane(conninfo, slow, self._configure_slow) if slow else self._fast
        self._lanes = (self._fast, self._slow) if slow else (self._fast,)

    def _lane(
        self, conninfo: str, connections: int, configure: Callable[[Connection], Awaitable[None]]
    ) -> AsyncConnectionPool[Connection]:
        return AsyncConnectionPool(
            self._login(conninfo),
            kwargs={
                "autocommit": True,
                "prepare_threshold": 0,
                "application_name": "keepword",
                "row_factory": named_rows,
            },
            min_size=min(2, connections),
            max_size=connections,
            timeout=self._limits.checkout_seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            configure=configure,
            open=False,
        )

    @property
    def _pool(self) -> AsyncConnectionPool[Connection]:
        return self._slow if gives_way.get() else self._fast

    @staticmethod
    def _login(conninfo: str) -> str:
        return as_application(conninfo)

    async def open(self, *, wait: bool = True) -> None:
        """Open it; on an open pool nothing happens. Callers at once wait for each other, as the library demands."""
        async with self._opening:
            with mapped_errors():
                for lane in self._lanes:
                    await lane.open(wait=wait, timeout=self._limits.checkout_seconds)

    async def close(self) -> None:
        await asyncio.gather(*(lane.close(timeout=1) for lane in self._lanes))

    async def drain(self) -> None:
        """Replace all connections: the driver and the server's process keep the rows that they read last."""
        with mapped_errors():
            for lane in self._lanes:
                await lane.drain()

    def stats(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for lane in self._lanes:
            total.update(lane.get_stats())
        return dict(total)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection without a grant: it sees no row behind a wall."""
        with mapped_errors():
            async with self._pool.connection() as conn:
                try:
                    yield conn
                except psycopg.OperationalError:
                    if conn.broken:  # then the others are stale as well
                        await self._pool.check()
                    raise

    async def fetch(
        self, query: LiteralString, values: Mapping[str, Any] | Sequence[Any], *, binary: bool = False
    ) -> list[Row]:
        """Run one statement without a grant and fetch all rows: cheaper than `connection`."""
        gathering = _gathering.get()
        if gathering is not None and gathering.pool is self and not gathering.statements.is_gone and not binary:
            return await gathering.statements.fetch(query, values)
        return await self._fetch_again(query, values, binary=binary)

    async def look_up(
        self, query: LiteralString, values: Mapping[str, Any] | Sequence[Any], *, binary: bool = False
    ) -> list[Row]:
        """Fetch by a statement that changes nothing: where there are replicas, one of them may answer."""
        if not self.asks_replicas:
            return await self.fetch(query, values, binary=binary)
        gathering = _gathering.get()
        if gathering is not None and gathering.pool is self and not gathering.reads.is_gone and not binary:
            return await gathering.reads.fetch(query, values)
        answers = await self._ask_replica([(query, values)], binary=binary)
        return await self._fetch_again(query, values, binary=binary) if answers is None else answers[0]

    async def locate(self, sql: Queries, name: str, values: Mapping[str, Any]) -> list[Row]:
        """Fetch from the primary what decides about a request; a replica then answers it once it knows as much."""
        if self._replicas is None:
            return await self.fetch(sql[name], values)
        rows = await self.fetch(sql.located(name), values)
        if rows:
            locate(LogPosition(rows[0].log_position, rows[0].server_since))
        return rows

    async def _ask_replica(self, statements: Sequence[Statement], *, binary: bool = False) -> list[list[Row]] | None:
        return await self._ask(lambda replica, offset: replica.fetch_at(offset, statements, binary=binary))

    @property
    def asks_replicas(self) -> bool:
        """Tell whether what is read now may be asked of a replica."""
        return self._replicas is not None and required_position() is not None

    async def _ask(self, question: Callable[["Pool", int], Awaitable[tuple[int, T | None]]]) -> T | None:
        position = required_position()
        if self._replicas is None or position is None:
            return None
        return await self._replicas.ask(position, lambda replica: question(replica, position.offset))

    async def _read_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        answers = await self._ask_replica(statements)
        return await self._fetch_all(statements) if answers is None else answers

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let the first statements of tasks that are made inside go out in one round trip, for one viewer's sake.

        If one of them fails or keeps the others waiting, each goes alone.
        """
        reads = StatementBatch(self._read_all, self._fetch_again)
        token = _gathering.set(_Gathering(self, StatementBatch(self._fetch_all, self._fetch_again), reads))
        try:
            yield
        finally:
            _gathering.reset(token)

    async def _fetch_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        async with self.connection() as conn:
            async with conn.pipeline():
                cursors = [await conn.execute(query, values) for query, values in statements]
            return [await cursor.fetchall() for cursor in cursors]

    async def fetch_at(
        self, offset: int, statements: Sequence[Statement], *, binary: bool = False
    ) -> tuple[int, list[list[Row]] | None]:
        """Ask this replica in one round trip; return how far it has replayed, and the rows if that is far enough.

        Whether it is far enough is asked by a statement of its own: the next one then sees no older state. Raises the
        driver's own errors.
        """
        async with self._pool.connection() as conn:
            async with conn.pipeline():
                replayed = await conn.execute(_REPLAYED, ())
                cursors = [await conn.execute(query, values, binary=binary) for query, values in statements]
            ((reached,),) = await replayed.fetchall()
            if reached is None or reached < offset:
                return reached or 0, None
            return reached, [await cursor.fetchall() for cursor in cursors]

    async def discard_broken(self) -> None:
        """Close the connections that a server's end has broken."""
        for lane in self._lanes:
            await lane.check()

    async def _fetch_again(
        self, query: LiteralString, values: Mapping[str, Any] | Sequence[Any], *, binary: bool = False
    ) -> list[Row]:
        for _ in range(COLLISIONS):
            # of two that wait for each other one is undone, and nothing of it was stored: it goes again
            with suppress(errors.DeadlockDetected, errors.SerializationFailure):
                return await self._fetch(query, values, binary=binary)
        try:
            return await self._fetch(query, values, binary=binary)
        except (errors.DeadlockDetected, errors.SerializationFailure) as exc:
            raise translate(exc) from exc

    async def _fetch(
        self, query: LiteralString, values: Mapping[str, Any] | Sequence[Any], *, binary: bool
    ) -> list[Row]:
        try:
            lane = self._pool
            conn = await lane.getconn()
            try:
                return await (await conn.execute(query, values, binary=binary)).fetchall()
            finally:
                await lane.putconn(conn)
                if conn.broken:
                    await lane.check()
        except (errors.DeadlockDetected, errors.SerializationFailure):
            raise
        except (psycopg.Error, PoolTimeout, PoolClosed) as exc:
            raise translate(exc) from exc

    async def read(self, grant: Grant, query: LiteralString, values: dict[str, Any]) -> list[Row]:
        """Fetch the rows of a query of `Queries.read`, under the grant."""
        return await self.look_up(query, {**values, "grant": dump(grant)})

    @asynccontextmanager
    async def granted(self, grant: Grant) -> AsyncIterator[Connection]:
        """Lend a connection under a grant. All that is executed goes out in one round trip, as one transaction.

        A pipeline without a BEGIN is one transaction up to its end; fetch results after it, not inside: a fetch
        inside would end it, and the grant with it.
        """
        async with self.connection() as conn, conn.pipeline():
            await conn.execute(_SET_GRANT, (dump(grant),))
            yield conn

    @asynccontextmanager
    async def raw(self, grant: Grant) -> AsyncIterator[Connection]:
        """Lend a connection under a grant, as a transaction that may fetch between statements.

        What a statement itself raises comes through as the driver's own, for who can say more about it than we.
        """
        try:
            async with self._pool.connection() as conn, conn.transaction():
                await conn.execute(_SET_GRANT, (dump(grant),))
                yield conn
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed) as exc:
            if isinstance(exc, errors.QueryCanceled):
                raise
            raise translate(exc) from exc

    async def transact(self, grant: Grant, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Let `work` read under a grant, in a transaction; it may be done a second time, on another server."""
        done = await self._ask(lambda replica, offset: replica.transact_at(offset, grant, work))
        if done is not None:
            return done[0]
        async with self.raw(grant) as conn:
            return await work(conn)

    async def transact_at(
        self, offset: int, grant: Grant, work: Callable[[Connection], Awaitable[T]]
    ) -> tuple[int, tuple[T] | None]:
        """Do `transact` on this replica, as `fetch_at` does."""
        async with self._pool.connection() as conn, conn.transaction():
            ((reached,),) = await (await conn.execute(_REPLAYED, ())).fetchall()
            if reached is None or reached < offset:
                return reached or 0, None
            await conn.execute(_SET_GRANT, (dump(grant),))
            return reached, (await work(conn),)

    async def is_ready(self) -> bool:
        probe = asyncio.ensure_future(self._answers())
        done, _ = await asyncio.wait({probe}, timeout=READY_SECONDS)
        # not awaited: a stuck server keeps the driver busy with cancelling
        probe.cancel()
        return probe in done and probe.result()

    async def _answers(self) -> bool:
        try:
            async with self.connection() as conn:
                await conn.execute("SELECT 1")
        except Unavailable:
            return False
        return True

    async def _configure(self, conn: Connection) -> None:
        milliseconds = str(int(self._limits.statement_seconds * 1000))
        values = {
            "path": SEARCH_PATH,
            "statement": milliseconds,
            "idle": milliseconds,
            "commit": "on" if self._limits.waits_for_disk else "off",
            "plans": self._limits.plans,
            "role": APP_ROLE,
        }
        await conn.execute(_SET_UP, values)
        await halfvec.register(conn)
        if self._limits.nice:
            self._lower(conn, self._limits.nice)

    async def _configure_slow(self, conn: Connection) -> None:
        await self._configure(conn)
        self._lower(conn, priority.NICE)

    def _lower(self, conn: Connection, nice: int) -> None:
        if self._is_embedded:  # of another server the process is none of this machine
            priority.lower(conn.info.backend_pid, nice)
