"""Watches whether a database server answers, by a connection of its own: a busy pool says nothing about the server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import structlog
from psycopg import AsyncConnection

from keepword.compose.degraded import abandon
from keepword.errors import KeepwordError
from keepword.metrics import SERVER_UP

_log = structlog.get_logger()

LOOK_SECONDS = 0.25
# with a look's pause, a server that hangs is lost after 1.5 s; one that is killed, with the next look
ANSWER_SECONDS = 1.2
CONNECT_SECONDS = 5
LATE_SECONDS = 0.2


class ServerWatch:
    """`lost` is done as soon as the server does not answer; there is a new one each time that it comes back."""

    def __init__(self, name: str, conninfo: str, prepare: Callable[[], Awaitable[None]]) -> None:
        """`prepare` is awaited before the server counts as up for the first time; what it raises is tried again."""
        self.name = name
        self._conninfo = conninfo
        self._prepare = prepare
        self._is_prepared = False
        self._conn: AsyncConnection[Any] | None = None
        self._lost: asyncio.Future[None] | None = None
        self._fault = ""
        self.found = asyncio.Event()

    @property
    def is_up(self) -> bool:
        return self._lost is not None and not self._lost.done()

    @property
    def lost(self) -> "asyncio.Future[None]":
        if self._lost is None:
            self._lost = asyncio.get_running_loop().create_future()
            self._lost.set_result(None)
        return self._lost

    async def watch(self, returned: Callable[[], Awaitable[None]]) -> None:
        """Look again and again. `returned` is awaited each time that the server is there again, before it is used."""
        try:
            while True:
                await self.look(returned)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        if self._conn is not None:
            self._conn.pgconn.finish()

    async def look(self, returned: Callable[[], Awaitable[None]]) -> None:
        fault = await self._question()
        try:
            if fault is None and not self.is_up:
                if not self._is_prepared:
                    await self._prepare()
                    self._is_prepared = True
                await returned()
                self._gain()
        except (KeepwordError, psycopg.Error, OSError) as exc:
            fault = str(exc)
        if fault is not None:
            self._lose(fault)

    async def _question(self) -> str | None:
        """Return why it does not answer; None if it does."""
        asking = asyncio.ensure_future(self._ask())
        clock = asyncio.get_running_loop().time
        began = clock()
        await asyncio.wait({asking}, timeout=ANSWER_SECONDS)
        if clock() - began > ANSWER_SECONDS + LATE_SECONDS:  # then this process was busy, and the answer may be there
            await asyncio.wait({asking}, timeout=LATE_SECONDS)
        if not asking.done():
            abandon(asking)
            self._forget_connection(asking)
            return f"it gave no answer in {ANSWER_SECONDS:g} s"
        try:
            asking.result()
        except (psycopg.Error, OSError) as exc:
            self._forget_connection(asking)
            return f"it can't be reached ({type(exc).__name__})"
        return None

    async def _ask(self) -> None:
        if self._conn is None or self._conn.closed:
            self._conn = await AsyncConnection.connect(
                self._conninfo, autocommit=True, application_name="keepword", connect_timeout=CONNECT_SECONDS
            )
        await self._conn.execute("SELECT 1")

    def _forget_connection(self, asking: "asyncio.Task[None]") -> None:
        stuck, self._conn = self._conn, None
        if stuck is not None:
            asking.add_done_callback(lambda _: stuck.pgconn.finish())

    def _gain(self) -> None:
        self._lost = asyncio.get_running_loop().create_future()
        self._fault = ""
        self.found.set()
        SERVER_UP.labels(self.name).set(1)
        _log.info("database server used", server=self.name)

    def _lose(self, fault: str) -> None:
        if fault != self._fault:
            _log.warning("database server left out, its tenants get 503", server=self.name, reason=fault)
            self._fault = fault
        SERVER_UP.labels(self.name).set(0)
        if not self.lost.done():
            self.lost.set_result(None)
