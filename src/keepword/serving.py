"""Serves requests on a socket until asked to stop: one process of the service. A part of the composition root."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace

import uvicorn

from keepword import allocator, telemetry
from keepword.background import background_task
from keepword.config import Settings
from keepword.http.app import build_routes, create_app
from keepword.http.concurrency import Limits as RequestLimits
from keepword.http.connections import Connections
from keepword.http.metrics import ProcessMetrics
from keepword.http.routes.operations import show_pool
from keepword.listening import BACKLOG
from keepword.postgres.pool import Pool
from keepword.wiring import services

# requests get this long to finish after a signal; the database then gets the rest of five seconds
DRAIN_SECONDS = 1
# a thread that computes gives up Python's lock after so long: the loop asks for it dozens of times in a request
SWITCH_SECONDS = 0.0005
GIVE_BACK_SECONDS = 15
# of the slots, one tenant takes this share while other tenants are active, and one key while others of its tenant are
TENANT_SHARE, KEY_SHARE = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Stop:
    """`requested` is set by whoever ends the process; `jobs` begins to stop them without waiting."""

    requested: asyncio.Event
    jobs: Callable[[], None]


async def serve_requests(
    settings: Settings,
    conninfo: str,
    listener: socket.socket,
    metrics: ProcessMetrics,
    stop: Stop,
    *,
    when_listening: Callable[[], None] = lambda: None,
    beside: Callable[[asyncio.Event], Sequence[AbstractAsyncContextManager[None]]] = lambda _: (),
) -> None:
    """Serve until `stop` is requested. `beside` is told an event that is set once all is loaded, and runs meanwhile."""
    sys.setswitchinterval(SWITCH_SECONDS)
    connections = Connections(settings.connections, settings.pool_size, BACKLOG)
    observing = telemetry.start()
    async with (
        services(settings, conninfo, observing.pool_type if observing else Pool) as all_services,
        contextlib.AsyncExitStack() as stack,
    ):
        if observing is not None:
            await stack.enter_async_context(observing.exporting())
        show_pool(all_services.pool_stats)
        await stack.enter_async_context(metrics.published())
        await stack.enter_async_context(background_task(connections.watch()))
        await stack.enter_async_context(background_task(_give_back_memory()))
        for context in beside(all_services.loaded or asyncio.Event()):
            await stack.enter_async_context(context)
        shown = replace(all_services, metrics=metrics.collect)
        app = create_app(shown, _admission(settings), settings.bodies_mb * 2**20)
        build_routes(app)
        config = uvicorn.Config(
            observing.around(app) if observing else app,
            http=connections.protocol, log_config=None, access_log=False, lifespan="off",
            server_header=False, timeout_graceful_shutdown=DRAIN_SECONDS, backlog=connections.backlog,
            proxy_headers=False,
        )  # fmt: skip
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        waiting = asyncio.create_task(stop.requested.wait())
        when_listening()
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        stop.jobs()
        server.should_exit = True
        waiting.cancel()
        await serving


async def _give_back_memory() -> None:
    """Return freed memory to the system."""
    while True:
        await asyncio.sleep(GIVE_BACK_SECONDS)
        await asyncio.to_thread(allocator.give_back)


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
