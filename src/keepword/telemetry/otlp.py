"""The extra `otel`: spans of requests and of round trips to the database, and the metrics of /metrics, sent by OTLP.

No span holds a path, a query, a name or a text: routes, methods, status and durations alone.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, LiteralString, TypeVar
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import REGISTRY
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepword import __version__
from keepword.daemon import run_in_daemon
from keepword.errors import KeepwordError
from keepword.postgres.pool import Pool
from keepword.postgres.rows import Row
from keepword.postgres.statement_batch import Statement
from keepword.telemetry.prometheus import to_otlp

INTERVAL_MS = 60_000
# what is left when the process ends may not keep it from ending
FLUSH_SECONDS = 1.0
_SERVER_ERROR = 500

T = TypeVar("T")


def make(env: Mapping[str, str], signals: frozenset[str]) -> "OtlpTelemetry":
    own = {"service.version": __version__, "service.instance.id": str(uuid4())}
    if not env.get("OTEL_SERVICE_NAME") and "service.name=" not in env.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        own["service.name"] = "keepword"
    return OtlpTelemetry(Resource.create(own), signals, _interval(env))


def _interval(env: Mapping[str, str]) -> float:
    given = env.get("OTEL_METRIC_EXPORT_INTERVAL", "")
    return (int(given) if given.isdecimal() and int(given) else INTERVAL_MS) / 1000


class OtlpTelemetry:
    def __init__(self, resource: Resource, signals: frozenset[str], interval_seconds: float) -> None:
        self._resource = resource
        self._interval = interval_seconds
        self._metrics = OTLPMetricExporter() if "METRICS" in signals else None
        # our own, not the process' global one: libraries that find that one would tell paths and texts
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False) if "TRACES" in signals else None
        self.pool_type: type[Pool] = Pool
        if self._provider is not None:
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            self.pool_type = traced_pool(self._provider.get_tracer("keepword", __version__))

    def around(self, app: ASGIApp) -> ASGIApp:
        if self._provider is None:
            return app
        return _RequestSpans(app, self._provider.get_tracer("keepword", __version__))

    @asynccontextmanager
    async def exporting(self) -> AsyncIterator[None]:
        sending = asyncio.create_task(self._send_metrics())
        try:
            yield
        finally:
            sending.cancel()
            # a collector that hangs is left behind with the thread that waits for it
            done = threading.Event()
            run_in_daemon(lambda: self._flush(done), "telemetry")
            await asyncio.to_thread(done.wait, FLUSH_SECONDS)

    async def _send_metrics(self) -> None:
        while self._metrics is not None:
            await asyncio.sleep(self._interval)
            await asyncio.to_thread(self._export_metrics)

    def _export_metrics(self) -> None:
        if self._metrics is not None:
            self._metrics.export(to_otlp(REGISTRY.collect(), self._resource))

    def _flush(self, done: threading.Event) -> None:
        try:
            if self._provider is not None:
                self._provider.force_flush(int(FLUSH_SECONDS * 1000))
            self._export_metrics()
        finally:
            done.set()


class _RequestSpans:
    """A span around each request; it continues the trace that the caller's `traceparent` names."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        context = self._propagator.extract(carrier)
        with self._tracer.start_as_current_span(
            scope["method"], context, SpanKind.SERVER, {"http.request.method": scope["method"]},
            record_exception=False, set_status_on_exception=False,
        ) as span:  # fmt: skip

            async def note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note_status(span, message["status"])
                await send(message)

            await self._app(scope, receive, note)
            route = getattr(scope.get("route"), "path", None)
            if route is not None:
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.route", route)


def _note_status(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= _SERVER_ERROR:
        span.set_status(StatusCode.ERROR)


def traced_pool(tracer: Tracer) -> type[Pool]:
    """Make a pool whose round trips are spans: how many statements, not which."""

    @contextmanager
    def span_of(statements: int, server: str) -> Iterator[None]:
        attributes: dict[str, Any] = {
            "db.system.name": "postgresql", "db.operation.batch.size": statements, "keepword.server": server,
        }  # fmt: skip
        with tracer.start_as_current_span(
            f"postgresql {server}", kind=SpanKind.CLIENT, attributes=attributes, record_exception=False,
            set_status_on_exception=False,
        ) as span:  # fmt: skip
            try:
                yield
            except KeepwordError as exc:
                # its type alone: what a driver says may quote a value
                span.set_attribute("error.type", type(exc).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    class TracedPool(Pool):
        async def _fetch(
            self, query: LiteralString, values: Mapping[str, Any] | Sequence[Any], *, binary: bool
        ) -> list[Row]:
            with span_of(1, "primary"):
                return await super()._fetch(query, values, binary=binary)

        async def _fetch_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
            with span_of(len(statements), "primary"):
                return await super()._fetch_all(statements)

        async def _ask(self, question: Callable[[Pool, int], Awaitable[tuple[int, T | None]]]) -> T | None:
            if not self.asks_replicas:
                return None
            with span_of(1, "replica"):
                return await super()._ask(question)

    return TracedPool
