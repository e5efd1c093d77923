"""Logs as events: one line each, JSON unless a person is watching."""

import logging
import sys

import orjson
import structlog
from structlog.typing import EventDict, WrappedLogger

from keepword.terminal import escaped, visible


def configure(level: str) -> None:
    watched = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if watched else structlog.processors.JSONRenderer(_to_json)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            escape,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr)
        if watched
        else structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    # libraries log through logging: only their warnings
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _quieten()


def escape(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Escape text from callers, such as a path: a log may be read on a terminal, also when it is JSON in a file."""
    return {
        name: visible(value) if name == "exception" else escaped(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def leave_to_logging() -> None:
    """Inside another program: send events to the logger `keepword`, unless that program has chosen for structlog."""
    _quieten()
    if structlog.is_configured():
        return
    # a program that wants nothing of the log gets nothing on its stderr
    logging.getLogger("keepword").addHandler(logging.NullHandler())
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
