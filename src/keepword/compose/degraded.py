"""The reason that a turn gives for a layer that failed or took too long."""

import asyncio
from typing import Any

import structlog

from keepword.errors import KeepwordError

_log = structlog.get_logger()


def reason_of(name: str, failed: BaseException) -> str:
    """Say why a layer failed: in its own words if it foresaw that, else only in the log."""
    if isinstance(failed, KeepwordError):
        return str(failed)
    _log.error("a layer of a composed turn failed", layer=name, exc_info=failed)
    return "it failed in a way that nobody foresaw; the log says how"


def abandon(task: "asyncio.Future[Any]") -> None:
    """Cancel tasks without waiting for them: a stuck layer may be slow to give up as well."""
    task.add_done_callback(_forget)
    task.cancel()


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()
