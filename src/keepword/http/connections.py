"""Limits of connections: their number, silent clients, and clients that do not read answers."""

import asyncio
import json
import resource
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keepword import metrics
from keepword.http.accepting import OpenConnections

# time for a whole header, and for an answer to be read
PATIENCE_SECONDS = 10.0
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
_LOOK_SECONDS = 1.0
_GONE_LOOK_SECONDS = 0.05
# files of the service itself: the log, the listener, sockets of the worker and of clients of models
OWN_FILES = 128
MOST_FILES = 65_536
MIN_CONNECTIONS = 16
# in the order in which they are closed: no request yet, between two requests, an unfinished body
_QUIET = ("new", "idle", "sending")


def raise_file_limit() -> int:
    """Let this process open as many files as the system allows, up to a sane number; return how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        return limit
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


class Connections:
    """All connections of a service, by their state."""

    def __init__(self, connections: int, pool_size: int, backlog: int, counts: OpenConnections | None = None) -> None:
        """Leave enough files for the pool, and for the connections that the kernel accepts in one go (`backlog`)."""
        self._counts = counts
        files = raise_file_limit()
        self.backlog = min(backlog, files // 8)
        self._limit = max(MIN_CONNECTIONS, min(connections, files - OWN_FILES - pool_size - self.backlog))
        self.is_retiring = False
        self._states: dict[str, dict[Connection, None]] = {state: {} for state in (*_QUIET, "served")}
        for state, held in self._states.items():
            metrics.CONNECTIONS.labels(state).set_function(held.__len__)

    def __len__(self) -> int:
        return sum(map(len, self._states.values()))

    @property
    def protocol(self) -> Any:
        """Make the protocol of a new connection, as the server asks for it."""
        return partial(Connection, connections=self)

    def has_room(self) -> bool:
        """At the limit, close the connection that has been quiet for longest."""
        if len(self) < self._limit:
            return True
        for state in _QUIET:
            for longest in self._states[state]:
                metrics.REQUESTS_SHED.labels("connection displaced").inc()
                longest.give_way()
                return True
        metrics.REQUESTS_SHED.labels("connections").inc()
        return False

    def move(self, connection: "Connection", state: str | None) -> None:
        for held in self._states.values():
            held.pop(connection, None)
        if state is not None:
            self._states[state][connection] = None
        if self._counts is not None and state in {None, "new"}:
            self._counts.show(len(self))

    def retire(self) -> None:
        """Close each connection after its next answer, which says so: whoever holds one connects to another process."""
        self.is_retiring = True
        for connection in self._open():
            connection.close_after_answer()

    async def gone(self, seconds: float) -> None:
        """Wait until those that are open now are closed, or for so long."""
        # what was just accepted is open in a moment
        await asyncio.sleep(_GONE_LOOK_SECONDS)
        until, held = asyncio.get_running_loop().time() + seconds, self._open()
        while held and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_GONE_LOOK_SECONDS)
            held &= self._open()

    def _open(self) -> "set[Connection]":
        return {one for held in self._states.values() for one in held}

    async def watch(self) -> None:
        """Close those that are silent, or that nobody reads from, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for connection in self._open():
                connection.check(now)


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits: for the time and the size of a header, and for an answer to be read."""

    def __init__(self, *args: Any, connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._all = connections
        self._header_since: float | None = None
        self._header_bytes = 0
        self._is_in_body = False  # the rest of a body that was answered before its end is no header
        self._refusal: tuple[int, str] | None = None
        self._unread = (0, 0.0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        is_welcome = self._all.has_room()
        self._all.move(self, "new")
        self._expect_header()
        if not is_welcome:
            self._refuse(503, "too many connections are open; try again in a moment")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.move(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._header_since is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_header()
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_since is not None and not self._is_in_body and self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(431, f"the header is over {MAX_HEADER_BYTES} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_header()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) < MAX_HEADERS:
            super().on_header(name, value)
        else:
            self._refusal = (431, f"the request has more than {MAX_HEADERS} headers")

    def on_headers_complete(self) -> None:
        if self._refusal is not None:
            raise ValueError(self._refusal[1])  # the parser stops, and `send_400_response` says why
        self._header_since = None
        self._is_in_body = True
        self._all.move(self, "sending")
        super().on_headers_complete()
        if self._all.is_retiring:
            self.close_after_answer()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()
        if self.cycle.response_complete:  # it was answered before its end
            self._header_since = None
            self._rest()
        else:
            self._all.move(self, "served")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self._header_since is None and not self.pipeline:
            self._all.move(self, "idle")

    def _rest(self) -> None:
        self._all.move(self, "idle")
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def send_400_response(self, msg: str) -> None:
        if self._refusal is None:
            super().send_400_response(msg)
        else:
            self._refuse(*self._refusal)

    def check(self, now: float) -> None:
        size = self.transport.get_write_buffer_size()
        if size == 0 or size != self._unread[0]:
            self._unread = (size, now)
        elif now - self._unread[1] >= PATIENCE_SECONDS:
            metrics.REQUESTS_SHED.labels("answer not read").inc()
            self.transport.abort()
            return
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self._header_since is None or is_answering or now - self._header_since < PATIENCE_SECONDS:
            return
        metrics.REQUESTS_SHED.labels("slow header").inc()
        if self._header_bytes:
            self._refuse(408, f"no whole header came for {PATIENCE_SECONDS:g} s")
        else:
            self.transport.close()

    def close_after_answer(self) -> None:
        # an answer that has begun has said otherwise; its connection ends when nothing more is asked
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def give_way(self) -> None:
        self._all.move(self, None)
        self.transport.abort()

    def _expect_header(self) -> None:
        if self._header_since is None:
            self._header_since, self._header_bytes = self.loop.time(), 0

    def _refuse(self, status: int, detail: str) -> None:
        """Answer without a request, and close."""
        if self.transport.is_closing():
            return
        title = HTTPStatus(status).phrase
        body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
            b"retry-after: 1\r\nconnection: close\r\n\r\n%b" % (status, title.encode(), len(body), body)
        )
        self.transport.close()
