"""Logs as events: one line each, JSON unless a person is watching."""

import logging
import sys

import orjson
import structlog


def configure(level: str) -> None:
    watched = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if watched else structlog.processors.JSONRenderer(_to_json)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr)
        if watched
        else structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    # libraries speak through logging; only what matters of them
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    _quieten()


def leave_to_logging() -> None:
    """Inside another program: send events to the logger `keepword`, unless that program has chosen for structlog."""
    _quieten()
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=lambda *_: logging.getLogger("keepword"),
    )


def _quieten() -> None:
    # the queue's library tells every failure again with its trace; the worker tells it once
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


def _to_json(event: object, default: object) -> bytes:
    return orjson.dumps(event, default=default)  # type: ignore[arg-type]
