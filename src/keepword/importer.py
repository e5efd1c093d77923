"""The process of one import, `python -m keepword.importer`: reads an uploaded history and stores it.

It is told on stdin what to do; the end of stdin is the order to stop. It may be killed at any time: whoever runs the
import next goes on.
"""

import asyncio
import os
import pickle
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
import uvloop

from keepword import allocator, logs, priority
from keepword.daemon import run_in_daemon
from keepword.errors import KeepwordError, OverQuota, Unavailable
from keepword.histories.claimed import ClaimedImport
from keepword.histories.kinds import find_kind
from keepword.histories.options import ReadOptions
from keepword.histories.people import MAX_PEOPLE
from keepword.histories.plan import ImportOptions
from keepword.histories.preparation import PreparedImport, prepare
from keepword.histories.transfer import Transfer, first_error, json_call
from keepword.http.app import create_inner_app
from keepword.http.own_routes import OwnerRoutes
from keepword.http.services import Services
from keepword.jobs import import_folder
from keepword.jobs.child import read
from keepword.jobs.imports import ImportOrder
from keepword.model import Key
from keepword.period import utc_now
from keepword.postgres.history_imports import PostgresImportQueue
from keepword.postgres.pool import Limits, Pool
from keepword.wiring import OwnerCalls, import_services

LOOK_SECONDS = 0.05
SOON_SECONDS = 0.3
NOTE_SECONDS = 1.0
# most that its own data may take; a history that needs more is hostile, or read wrongly
MEMORY_BYTES = 1 << 30
RETRY_SECONDS = 60

_log = structlog.get_logger()


class NoLongerWantedError(Exception):
    """It was cancelled, or another process runs it."""


@dataclass(frozen=True, slots=True)
class _Run:
    queue: PostgresImportQueue
    claimed: ClaimedImport
    prepared: PreparedImport

    async def note(self) -> None:
        """Keep how far it is, now and then, until it is not wanted any more.

        Soon after something was stored: whoever takes it up after a death knows by that that it came further.
        """
        noted_at, noted = 0.0, 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            report, past = self.prepared.report, time.monotonic() - noted_at
            safe = report.stored + report.known
            if past < (SOON_SECONDS if safe > noted else NOTE_SECONDS):
                continue
            noted_at, noted = time.monotonic(), safe
            with suppress(Unavailable):
                if not await self.queue.note(self.claimed, *self.progress(), self.prepared.total_bytes):
                    raise NoLongerWantedError

    def progress(self) -> tuple[dict[str, Any], int]:
        return self.prepared.report.as_json(), self.prepared.source.read_bytes


def main() -> None:
    # a terminal's Ctrl-C is for the service, which then ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order: ImportOrder = pickle.loads(read(sys.stdin.buffer))  # noqa: S301 - from the process that started us
    logs.configure(order.settings.log_level)
    allocator.configure()
    priority.lower(os.getpid())
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    run_in_daemon(_until_told, "stop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(order))


def _until_told() -> None:
    # past the buffer, whose lock the end of the process needs
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


async def _run(order: ImportOrder) -> None:
    claimed = order.claimed
    if claimed is None:
        return
    pool = Pool(order.conninfo, Limits(2, order.settings.statement_timeout_seconds, nice=priority.NICE))
    await pool.open()
    queue = PostgresImportQueue(pool)
    try:
        with import_folder.held(order.folder / claimed.id.hex) as folder:
            await _import(order, queue, claimed, folder)
    except NoLongerWantedError:
        await queue.release(claimed, None, None, counts=False)
    except OSError as exc:
        _log.warning("import stopped", id=str(claimed.id), reason=str(exc))
        text = f"the service has no room for its copy of the upload ({exc.strerror})"
        await queue.release(claimed, utc_now() + timedelta(seconds=RETRY_SECONDS), text, counts=False)
    finally:
        await pool.close()


async def _import(order: ImportOrder, queue: PostgresImportQueue, claimed: ClaimedImport, folder: Path) -> None:
    file = folder / claimed.file
    try:
        await _fetch(queue, claimed, file)
        run = _Run(queue, claimed, await asyncio.to_thread(_prepared, claimed, file))
    except KeepwordError as exc:
        await _fail(queue, claimed, _without(exc, folder), {}, 0)
        return
    try:
        await _store(order, run)
    except KeepwordError as exc:
        await _fail(queue, claimed, _without(exc, folder), *run.progress())
    except MemoryError:
        needs = f"reading it needs over {MEMORY_BYTES >> 20:,} MB of memory; bring it in parts"
        await queue.finish(claimed, "failed", *run.progress(), error=needs)
    else:
        await queue.finish(claimed, "checked" if claimed.dry_run else "done", *run.progress())


async def _store(order: ImportOrder, run: _Run) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            noting = tasks.create_task(run.note())
            if run.claimed.dry_run:
                await asyncio.to_thread(_read_all, run.prepared)
            else:
                async with import_services(order.settings, order.conninfo) as services:
                    await _calls(services, run)
            noting.cancel()
    except BaseExceptionGroup as group:
        if group.subgroup(NoLongerWantedError):
            raise NoLongerWantedError from group
        raise first_error(group) from group


async def _calls(services: Services, run: _Run) -> None:
    claimed = run.claimed
    owner = Key(claimed.key_id, claimed.tenant_id, claimed.tenant, "admin")
    keys = OwnerCalls(services, services.keys, owner)
    routes = OwnerRoutes(create_inner_app(replace(services, keys=keys, keyless=True)))

    async def request(method: str, path: str, *, body: str | None) -> str:
        return (await routes.call(method, path, None if body is None else body.encode())).decode()

    await Transfer(json_call(request), claimed.kind, run.prepared.report).run(run.prepared.items)


def _read_all(prepared: PreparedImport) -> None:
    for _ in prepared.items:
        pass


def _prepared(claimed: ClaimedImport, file: Path) -> PreparedImport:
    asked = claimed.options
    mapping: dict[str, str] = asked.get("map") or {}
    user = asked["user"]
    options = ImportOptions(
        claimed.kind, user, utc_now(), asked.get("agent") or claimed.kind, asked.get("project"), mapping
    )
    owner_names = frozenset(old for old, new in mapping.items() if new == user)
    reading = ReadOptions(owner_names, asked.get("day_first"), asked.get("also_forgotten", False))
    return prepare(find_kind(claimed.kind), file, options, reading, asked.get("max_people") or MAX_PEOPLE)


def _without(exc: KeepwordError, folder: Path) -> KeepwordError:
    """Take the folder out of what an error says: where the service keeps its files is nobody's business."""
    exc.args = (str(exc).replace(f"{folder}/", ""),)
    return exc


async def _fail(
    queue: PostgresImportQueue, claimed: ClaimedImport, exc: KeepwordError, report: dict[str, Any], read_bytes: int
) -> None:
    """End it, or put it off where that is for a time only."""
    _log.warning("import stopped", id=str(claimed.id), reason=type(exc).__name__)
    if isinstance(exc, OverQuota | Unavailable):
        seconds = max(exc.retry_after_seconds, RETRY_SECONDS)
        await queue.release(claimed, utc_now() + timedelta(seconds=seconds), str(exc), counts=False)
    else:
        await queue.finish(claimed, "failed", report, read_bytes, error=str(exc))


async def _fetch(queue: PostgresImportQueue, claimed: ClaimedImport, file: Path) -> None:
    """Copy the upload to where it can be read in any order; for this account alone."""
    number = 0
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        while (content := await queue.part(claimed, number := number + 1)) is not None:
            await asyncio.to_thread(out.write, content)
            if not await queue.note(claimed, {}, 0, 0):
                raise NoLongerWantedError


if __name__ == "__main__":
    main()
