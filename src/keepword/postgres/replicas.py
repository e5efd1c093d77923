"""Streaming replicas that answer reads in place of the primary, each for as long as it is one and keeps up."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import structlog
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout

from keepword.compose.degraded import abandon
from keepword.errors import KeepwordError
from keepword.metrics import REPLICA_LAG, REPLICA_READS, REPLICA_READY
from keepword.postgres.log_position import LogPosition
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, named_rows, read_row

_log = structlog.get_logger()
_SQL = Queries("replicas.sql")

LOOK_SECONDS = 0.25
# a replica that does not answer a look for so long is left out, and what it was asked goes to the primary
ANSWER_SECONDS = 0.5
# of a replica that hangs nothing is awaited: the primary is asked instead
CHECKOUT_SECONDS = 0.25
CONNECT_SECONDS = 5
NO_REPLICA = "none"

T = TypeVar("T")
Question = Callable[[Pool], Awaitable[tuple[int, T | None]]]


@dataclass(frozen=True, slots=True)
class ServerState:
    """The columns of the query `state`. `log_end`: what is on the primary's disk, or what a standby has replayed."""

    is_standby: bool
    log_end: int
    system: int
    database: int
    timeline: int

    def fault_beside(self, primary: "ServerState") -> str | None:
        """Tell why this server's reads are not the primary's, if they are not."""
        if self.system != primary.system:
            return "it is no copy of this primary"
        if self.database != primary.database:
            return "its URL names another database than the primary's"
        if not self.is_standby:
            return "it is no standby: it takes writes of its own"
        if self.timeline != primary.timeline:
            return f"it follows timeline {self.timeline} of the log, and the primary writes timeline {primary.timeline}"
        return None


class Replica:
    def __init__(self, conninfo: str, limits: Limits) -> None:
        self.name = name_of(conninfo)
        self.reached = 0
        self.in_flight = 0
        self._conninfo = conninfo
        self._pool = Pool(conninfo, limits)
        self._is_open = False
        self._looking: AsyncConnection[Any] | None = None
        # done as soon as nothing more is expected of it; a new one each time that it comes back
        self._lost: asyncio.Future[None] | None = None
        self._fault = ""

    @property
    def is_usable(self) -> bool:
        return self._lost is not None and not self._lost.done()

    async def look(self, primary: ServerState) -> None:
        """Find out whether it can be used. What hangs is left behind."""
        looking = asyncio.ensure_future(self._state())
        await asyncio.wait({looking}, timeout=ANSWER_SECONDS)
        if not looking.done():
            abandon(looking)
            self._forget_connection(looking)
            self.lose("it does not answer")
            return
        try:
            state = looking.result()
        except (psycopg.Error, OSError) as exc:
            self._forget_connection(looking)
            self.lose(f"it can't be reached ({type(exc).__name__})")
            return
        fault = state.fault_beside(primary)
        if fault is None:
            self.reached = max(self.reached, state.log_end) if self.is_usable else state.log_end
            await self._use()
        else:
            self.lose(fault)

    async def ask(self, question: Question[T], lost: "asyncio.Future[None]") -> tuple[int, T | None] | None:
        """Return its answer; None once it is lost."""
        asking = asyncio.ensure_future(question(self._pool))
        self.in_flight += 1
        either: set[asyncio.Future[Any]] = {asking, lost}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            answer = asking.result()
            self.reached = max(self.reached, answer[0])
            return answer
        finally:
            self.in_flight -= 1
            abandon(asking)

    @property
    def lost(self) -> "asyncio.Future[None]":
        if self._lost is None:
            self._lost = asyncio.get_running_loop().create_future()
            self._lost.set_result(None)
        return self._lost

    def lose(self, fault: str) -> None:
        """Leave it out, and let go of what it was asked."""
        if fault != self._fault:
            _log.warning("replica left out, reads go to the primary", replica=self.name, reason=fault)
            self._fault = fault
        if not self.lost.done():
            self.lost.set_result(None)

    async def close(self) -> None:
        if self._looking is not None:
            await self._looking.close()
        if self._is_open:
            await self._pool.close()

    def _forget_connection(self, looking: "asyncio.Task[ServerState]") -> None:
        stuck, self._looking = self._looking, None
        if stuck is not None:
            looking.add_done_callback(lambda _: stuck.pgconn.finish())

    async def _use(self) -> None:
        if self.is_usable:
            return
        if self._is_open:
            await self._pool.discard_broken()
        else:
            self._is_open = True
            await self._pool.open(wait=False)
        self._lost = asyncio.get_running_loop().create_future()
        self._fault = ""
        _log.info("replica used for reads", replica=self.name)

    async def _state(self) -> ServerState:
        if self._looking is None or self._looking.closed:
            self._looking = await AsyncConnection.connect(
                self._conninfo, autocommit=True, row_factory=named_rows, application_name="keepword",
                connect_timeout=CONNECT_SECONDS,
            )  # fmt: skip
        return await _ask_state(self._looking)


class Replicas:
    """All replicas of a primary; `watch` keeps track of them."""

    def __init__(self, conninfos: Sequence[str], limits: Limits) -> None:
        self._replicas = [Replica(conninfo, limits) for conninfo in conninfos]
        # where the primary was a look ago: who has not come so far is behind
        self._recent = 0

    async def watch(self, primary: Pool) -> None:
        """Look at the primary and all replicas, again and again."""
        said = ""
        while True:
            try:
                await self.look(primary)
                said = ""
            except (KeepwordError, psycopg.Error) as exc:  # there is nothing to compare replicas with
                if said != str(exc):
                    said = str(exc)
                    _log.warning("the primary does not say where it is, no replica is looked at", reason=said)
            await asyncio.sleep(LOOK_SECONDS)

    async def ask(self, position: LogPosition, question: Question[T]) -> T | None:
        replica = self._choose(position.offset)
        if replica is None:
            REPLICA_READS.labels(NO_REPLICA, "left_out").inc()
            return None
        try:
            answer = await replica.ask(question, replica.lost)
        except errors.QueryCanceled:
            raise  # it would take as long on the primary
        except (psycopg.Error, PoolTimeout, PoolClosed) as exc:
            if _is_broken(exc):
                replica.lose(f"a read failed ({type(exc).__name__})")
            answer = None
        rows = answer[1] if answer else None
        outcome = "failed" if answer is None else "behind" if rows is None else "answered"
        REPLICA_READS.labels(replica.name, outcome).inc()
        return rows

    async def close(self) -> None:
        await asyncio.gather(*(replica.close() for replica in self._replicas), return_exceptions=True)

    def _choose(self, offset: int) -> Replica | None:
        """Return the least busy of those that have come so far, or that keep up and may have by now."""
        able = [
            replica for replica in self._replicas
            if replica.is_usable and (replica.reached >= offset or replica.reached >= self._recent)
        ]  # fmt: skip
        return min(able, key=lambda replica: replica.in_flight, default=None)

    async def look(self, primary: Pool) -> None:
        """Find out once where the primary and all replicas are."""
        (row,) = await primary.fetch(_SQL["state"], {})
        state = read_row(ServerState, row)
        await asyncio.gather(*(replica.look(state) for replica in self._replicas))
        for replica in self._replicas:
            REPLICA_READY.labels(replica.name).set(int(replica.is_usable and replica.reached >= self._recent))
            REPLICA_LAG.labels(replica.name).set(max(0, state.log_end - replica.reached))
        self._recent = state.log_end


async def _ask_state(conn: AsyncConnection[Any]) -> ServerState:
    row: Row = await (await conn.execute(_SQL["state"])).fetchone()
    return read_row(ServerState, row)


def state_of(conn: psycopg.Connection[Any]) -> ServerState:
    with conn.cursor(row_factory=named_rows) as cursor:
        return read_row(ServerState, cursor.execute(_SQL["state"]).fetchone())


def _is_broken(exc: Exception) -> bool:
    # one that is undone for the replay's sake says nothing of the next, and a pool without a free connection is in use
    return isinstance(exc, psycopg.OperationalError) and not isinstance(exc, errors.SerializationFailure | PoolTimeout)


def name_of(conninfo: str) -> str:
    """Return what logs and metrics call it: no user, no password."""
    parts = conninfo_to_dict(conninfo)
    return f"{parts.get('host') or parts.get('hostaddr') or 'localhost'}:{parts.get('port') or 5432}"
