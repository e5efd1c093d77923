"""Traces and metrics by OpenTelemetry, where its standard variables ask for them. Otherwise nothing of it is loaded."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Literal, Protocol

import structlog
from starlette.types import ASGIApp

from keepword.postgres.pool import Pool

_log = structlog.get_logger()

Signal = Literal["TRACES", "METRICS"]
_SIGNALS: tuple[Signal, ...] = ("TRACES", "METRICS")
PROTOCOL = "http/protobuf"


class Telemetry(Protocol):
    """What observes one process. `pool_type` tells of its round trips to the database."""

    pool_type: type[Pool]

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return the application with a span around each request."""
        ...

    def exporting(self) -> AbstractAsyncContextManager[None]:
        """Send metrics now and then, and at the end what is left."""
        ...


def start(env: Mapping[str, str] = os.environ) -> Telemetry | None:
    """Return None where nothing is asked for, or where the extra is not installed, which the log then says."""
    wanted = [signal for signal in _SIGNALS if is_wanted(env, signal)]
    if not wanted:
        return None
    try:
        made: Telemetry = import_module("keepword.telemetry.otlp").make(env, frozenset(wanted))
    except ImportError:
        _log.warning("OTEL_ variables ask for telemetry, which is not installed; run: pip install 'keepword[otel]'")
        return None
    return made


def is_wanted(env: Mapping[str, str], signal: Signal) -> bool:
    """Tell whether a signal goes out: its exporter is named, or an endpoint is."""
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = env.get(f"OTEL_{signal}_EXPORTER")
    if exporter and exporter not in {"otlp", "none"}:
        _log.warning("Keepword exports by otlp alone", variable=f"OTEL_{signal}_EXPORTER")
    names = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((env[name] for name in names if env.get(name)), PROTOCOL)
    if protocol != PROTOCOL:
        _log.warning(f"Keepword exports by {PROTOCOL} alone", protocol=protocol)
        return False
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return exporter == "otlp" if exporter else any(env.get(name) for name in endpoints)
