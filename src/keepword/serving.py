"""Serves requests on a socket until asked to stop: one process of the service. A part of the composition root."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace

import uvicorn

from keepword import allocator, telemetry
from keepword.background import background_task
from keepword.config import Settings
from keepword.http.accepting import Acceptor, Listener, OpenConnections
from keepword.http.app import build_routes, create_app
from keepword.http.concurrency import Limits as RequestLimits
from keepword.http.connections import Connections
from keepword.http.metrics import ProcessMetrics
from keepword.http.routes.operations import show_pool
from keepword.http.services import Services
from keepword.listening import BACKLOG
from keepword.many_servers import many_services
from keepword.postgres.pool import Pool
from keepword.renewal import Presence
from keepword.wiring import services

# requests get this long to finish after a signal; the database then gets the rest of five seconds
DRAIN_SECONDS = 1
# a thread that computes gives up Python's lock after so long: the loop asks for it dozens of times in a request
SWITCH_SECONDS = 0.0005
GIVE_BACK_SECONDS = 15
# so many new objects before the garbage collector looks at them, which finds some 60 a request: at Python's 700 it took
# 0.26 ms of a request's 5.7 of processor time, at 5,000 0.10 and at 20,000 0.08, because those of requests stay less
YOUNG_OBJECTS = 10_000
# a process that gives way to a fresh one lets requests that take long go on for so long
RETIRE_SECONDS = 120
# of the slots, one tenant takes this share while other tenants are active, and one key while others of its tenant are
TENANT_SHARE, KEY_SHARE = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Stop:
    """`requested` is set by whoever ends the process; `jobs` begins to stop them without waiting.

    `retired` is set by whoever replaces it: it first finishes its requests, however long the signal's time is.
    """

    requested: asyncio.Event
    jobs: Callable[[], None]
    retired: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class ServingProcess:
    """What one process serves with: the service's socket, its own metrics, and since when it is there."""

    listener: Listener
    metrics: ProcessMetrics
    presence: Presence


async def serve_requests(
    settings: Settings,
    conninfo: str,
    process: ServingProcess,
    stop: Stop,
    *,
    when_listening: Callable[[], None] = lambda: None,
    beside: Callable[[Services], Sequence[AbstractAsyncContextManager[None]]] = lambda _: (),
) -> None:
    """Serve until `stop` is requested, or told to retire. `beside` is told the services, and runs meanwhile."""
    sys.setswitchinterval(SWITCH_SECONDS)
    connections = Connections(settings.connections, settings.pool_size, BACKLOG, process.listener.counts)
    observing = telemetry.start()
    pool_type = observing.pool_type if observing else Pool
    serving_all = (
        many_services(settings, pool_type)
        if settings.servers
        else services(settings, conninfo, pool_type, forgets=False)
    )
    async with serving_all as all_services, contextlib.AsyncExitStack() as stack:
        if observing is not None:
            await stack.enter_async_context(observing.exporting())
        show_pool(all_services.pool_stats)
        await stack.enter_async_context(process.metrics.published())
        await stack.enter_async_context(background_task(connections.watch()))
        loaded = all_services.loaded or asyncio.Event()
        await stack.enter_async_context(background_task(_give_back_memory(loaded)))
        await process.presence.begin(all_services.processes)
        for context in beside(all_services):
            await stack.enter_async_context(context)
        shown = replace(all_services, metrics=process.metrics.collect)
        app = create_app(shown, _admission(settings), settings.bodies_mb * 2**20)
        build_routes(app)
        config = uvicorn.Config(
            observing.around(app) if observing else app,
            http=connections.protocol, log_config=None, access_log=False, lifespan="off",
            server_header=False, timeout_graceful_shutdown=DRAIN_SECONDS, backlog=connections.backlog,
            proxy_headers=False,
        )  # fmt: skip
        listener = process.listener
        server = _SharingServer(config, listener.socket, listener.counts) if listener.counts else _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener.socket]))
        waiting = asyncio.create_task(stop.requested.wait())
        retiring = asyncio.create_task(_retire(stop, server, connections, settings.request_timeout_seconds))
        when_listening()
        await asyncio.wait({serving, waiting, retiring}, return_when=asyncio.FIRST_COMPLETED)
        retiring.cancel()
        stop.jobs()
        server.should_exit = True
        waiting.cancel()
        await serving


async def _retire(stop: Stop, server: "_Server", connections: Connections, request_seconds: float) -> None:
    """Once told to, finish requests. New ones are accepted while long ones go on, for there may be no other process."""
    await stop.retired.wait()
    connections.retire()
    await connections.gone(RETIRE_SECONDS)
    # what comes from here on waits in the socket's queue, or goes to another process
    server.stop_accepting()
    await connections.gone(request_seconds)


async def _give_back_memory(loaded: asyncio.Event) -> None:
    """Return freed memory to the system, and let the garbage collector leave alone what was loaded."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
    await loaded.wait()
    gc.freeze()
    while True:
        await asyncio.to_thread(allocator.give_back)
        await asyncio.sleep(GIVE_BACK_SECONDS)


def _admission(settings: Settings) -> RequestLimits:
    # a place without a connection is worth nothing: one tenant's slow statements must leave some of both
    scarce = min(settings.requests_at_once, settings.pool_size)
    return RequestLimits(
        settings.requests_at_once, settings.requests_waiting, settings.requests_wait_seconds,
        settings.requests_per_tenant or _share(scarce, TENANT_SHARE),
        settings.requests_per_key or _share(settings.requests_at_once, KEY_SHARE),
    )  # fmt: skip


def _share(places: int, share: float) -> int:
    return max(1, int(places * share))


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to us: uvicorn would raise them again, past the database's orderly stop."""
        yield

    def stop_accepting(self) -> None:
        for listening in self.servers:
            listening.close()


class _SharingServer(_Server):
    """One of several processes that accept from one socket: each takes its share of the connections."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, counts: OpenConnections) -> None:
        super().__init__(config)
        self._acceptor = Acceptor(listener, self._protocol, counts)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - we accept ourselves
        await super().startup(sockets=[])
        self._acceptor.start()

    def stop_accepting(self) -> None:
        self._acceptor.stop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.stop_accepting()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made
