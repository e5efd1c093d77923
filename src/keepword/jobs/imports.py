"""Runs imports of histories: each in a process of its own, which may be killed at any time and goes on where it was."""

import asyncio
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import structlog

from keepword.errors import KeepwordError
from keepword.histories.claimed import ClaimedImport
from keepword.jobs.child import HEAD_BYTES
from keepword.jobs.reading_process import environment

LOOK_SECONDS = 1.0
POLL_SECONDS = 0.2
# how long a process that was told to stop, or lost its lease, may take to end
GRACE_SECONDS = 10.0
CHECK_SECONDS = 5.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ImportOrder:
    """What the process is told. `folder` is where its copy of the upload may lie, while it runs."""

    settings: Any
    conninfo: str
    folder: Path
    claimed: ClaimedImport | None = None


class ImportQueue(Protocol):
    async def claim(self) -> ClaimedImport | None: ...

    async def is_held(self, claimed: ClaimedImport) -> bool:
        """Tell whether it is still to be run: not cancelled, and nobody else runs it."""
        ...

    async def release(self, claimed: ClaimedImport, after: datetime | None, error: str | None, *, counts: bool) -> None:
        """Let it be run again; `counts` where it ended through its own fault."""
        ...


async def run(queue: ImportQueue, order: ImportOrder, at_once: int, sweep: Callable[[], object]) -> None:
    """Run imports until cancelled, at most so many at once. `sweep` removes what killed processes left."""
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            running = {task for task in running if not task.done()}
            claimed = await _claim(queue) if len(running) < at_once else None
            if claimed is None:
                await asyncio.sleep(LOOK_SECONDS)
                continue
            if not running:
                await asyncio.to_thread(sweep)
            running.add(asyncio.create_task(_run_one(queue, replace(order, claimed=claimed), claimed)))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _claim(queue: ImportQueue) -> ClaimedImport | None:
    try:
        return await queue.claim()
    except KeepwordError as exc:
        _log.warning("no import could be looked for, trying again", reason=str(exc))
        return None


async def _run_one(queue: ImportQueue, order: ImportOrder, claimed: ClaimedImport) -> None:
    process = await asyncio.to_thread(_start, order)
    code: int | None = None
    try:
        code = await _ended(queue, process, claimed)
    finally:
        await asyncio.to_thread(_kill, process)
        if code != 0:
            reason = None if code is None else f"the last time it ended with the code {code}"
            with suppress(KeepwordError):
                await asyncio.shield(queue.release(claimed, None, reason, counts=code is not None))


def _start(order: ImportOrder) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "keepword.importer"], stdin=subprocess.PIPE, env=environment(),
        start_new_session=True,
    )  # fmt: skip
    payload = pickle.dumps(order)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.write(len(payload).to_bytes(HEAD_BYTES) + payload)
            process.stdin.flush()
    return process


async def _ended(queue: ImportQueue, process: subprocess.Popen[bytes], claimed: ClaimedImport) -> int:
    """Wait for the end of a process; one that goes on without its lease is killed."""
    lost_at: float | None = None
    checked_at = time.monotonic()
    while (code := process.poll()) is None:
        await asyncio.sleep(POLL_SECONDS)
        if time.monotonic() - checked_at > CHECK_SECONDS:
            checked_at = time.monotonic()
            with suppress(KeepwordError):
                is_held = await queue.is_held(claimed)
                lost_at = None if is_held else lost_at or checked_at
        if lost_at is not None and time.monotonic() - lost_at > GRACE_SECONDS:
            process.kill()
    return code


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait()
