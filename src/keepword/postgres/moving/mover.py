"""The steps of a move. Each may be repeated, so whoever was killed in one begins again at the first."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from keepword.errors import Conflict, Unavailable
from keepword.postgres import directory
from keepword.postgres.moving import copies, fence, replication
from keepword.postgres.moving.servers import Connection, MoveServer, check, number_rows, refuse_busy
from keepword.postgres.moving.tables import tables_of
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")
Report = Callable[[str], None]

# writers of the tenant are refused for so long at most; then it is opened again, and closed another time
CLOSED_SECONDS = 1.8
WRITERS_SECONDS = 1.0
ATTEMPTS = 30
PAUSE_SECONDS = 1.0
LOOK_SECONDS = 0.2
HURRIED_LOOK_SECONDS = 0.005
# what the new server has to catch up with before the old one is closed
CLOSE_AT_BYTES = 1_000_000
FAILURES = 3

UNDOING, MOVED = "undoing", "moved"


@dataclass(frozen=True, slots=True)
class Mover:
    """One move; `first` is the owner's connection to the first server, where its steps are noted."""

    first: Connection
    source: MoveServer
    target: MoveServer
    tenant: UUID
    report: Report

    def move(self) -> float | None:
        """Do all that is left to do; return for how many seconds nobody could write, if that was now."""
        began = None
        if not self.is_given():
            self._prepare()
            self._copy()
            began = self._change_over()
        self._open()
        closed_seconds = None if began is None else time.monotonic() - began
        if closed_seconds is not None:
            self.report(f"{self.target.name} serves the tenant; it was closed to writes for {closed_seconds:.2f} s")
        self._detach()
        return closed_seconds

    def undo(self) -> None:
        """Take back all that was done, as long as the new server has not served the tenant."""
        if self.is_given() and directory.moved_to(self.target.owner, self.tenant) is None:
            raise Conflict(
                f"the tenant is served by {self.target.name!r} already; move it back with: --to {self.source.name}"
            )
        self._note(UNDOING)
        if self.is_given():
            self.source.owner.execute(_SQL["take"], {"tenant": self.tenant})
        fence.reopen(self.source, self.tenant)
        replication.unsubscribe(self.source, self.target, self.tenant)
        self.report("undo: no longer replicated")
        if directory.moved_to(self.target.owner, self.tenant) is not None:  # else nothing was begun there
            copies.remove(self.target, self.tenant, tables_of(self.target.owner), self.report)
        fence.remove(self.source, self.tenant)
        self.first.execute(_SQL["forget"], {"tenant": self.tenant})
        self.report(f"undone: {self.source.name} serves the tenant, and {self.target.name} has none of its rows")

    def is_given(self) -> bool:
        """Tell whether the old server gave the tenant away."""
        return directory.moved_to(self.source.owner, self.tenant) is not None

    def _prepare(self) -> None:
        tables = check(self.source, self.target, self.tenant)
        for server in (self.source, self.target):
            number_rows(self.first, server, tables)
        is_copying = self.target.one("subscription", name=replication.name_of(self.tenant)) is not None
        if not is_copying and copies.has_rows(self.target, self.tenant):
            raise Conflict(
                f"the server {self.target.name!r} has rows of the tenant, an old copy; drop them first with: "
                "keepword tenants clean NAME --now"
            )
        directory.give_away(self.target.owner, self.tenant, self.source.name)
        self.report("prepare: the new server refuses the tenant until it is there")
        fence.build(self.target, self.tenant, tables)
        self.report("prepare: fence on the new server")
        fence.build(self.source, self.tenant, tables)
        self._done("prepared", "prepare: fence on the old server, open")

    def _copy(self) -> None:
        replication.publish(self.source, self.tenant, tables_of(self.source.owner))
        self._done("published", f"publish: {self.source.name} keeps its log for the new server")
        replication.subscribe(self.source, self.target, self.tenant)
        self._done("subscribed", "subscribe: the first copy begins")
        self._wait_for_copy()
        self._done("copied", "copy: all tables are there")
        self._catch_up()

    def _wait_for_copy(self) -> None:
        before, shown = self._failures(), 0
        while True:
            done, tables = replication.copied(self.target, self.tenant)
            if done != shown:
                self.report(f"copy: {done} of {tables} tables")
                shown = done
            if tables and done == tables:
                return
            self._refuse_failing(before)
            time.sleep(LOOK_SECONDS)

    def _catch_up(self) -> None:
        before = self._failures()
        while (behind := replication.lag(self.source, self.tenant)) > CLOSE_AT_BYTES:
            self.report(f"catch up: {behind:,} bytes of the log behind")
            self._refuse_failing(before)
            time.sleep(LOOK_SECONDS)

    def _change_over(self) -> float:
        """Close the tenant and give it away; return when it was closed."""
        for _ in range(ATTEMPTS):
            self.report(f"close: {self.source.name} refuses writes to the tenant")
            began = time.monotonic()
            try:
                if self._close_and_give(began):
                    return began
            finally:
                if not self.is_given():
                    fence.reopen(self.source, self.tenant)
            self.report(f"close: not done within {CLOSED_SECONDS} s; the tenant is open again on {self.source.name}")
            time.sleep(PAUSE_SECONDS)
            self._catch_up()
        raise Unavailable(
            f"the tenant could not be closed for {CLOSED_SECONDS} s in {ATTEMPTS} attempts; run the same command again "
            "when less is written, or with --undo"
        )

    def _close_and_give(self, began: float) -> bool:
        if not fence.close(self.source, self.tenant, WRITERS_SECONDS):
            return False
        self.report("close: the last write is committed")
        refuse_busy(self.source, self.tenant)
        end = replication.log_position(self.source)
        while replication.lag(self.source, self.tenant, end) > 0:
            if time.monotonic() - began > CLOSED_SECONDS:
                return False
            time.sleep(HURRIED_LOOK_SECONDS)
        self.report("close: the new server has stored the last write")
        if not fence.give(self.source, self.tenant, self.target.name):
            return False
        self.report(f"flip: given away by {self.source.name}")
        return True

    def _open(self) -> None:
        self.target.owner.execute(_SQL["take"], {"tenant": self.tenant})
        self.report(f"flip: taken in by {self.target.name}")
        directory.set_place(self.first, self.tenant, self.target.name)
        self._done("flipped", "flip: the directory names the new server")

    def _detach(self) -> None:
        replication.unsubscribe(self.source, self.target, self.tenant)
        self._done("detached", "detach: no longer replicated")
        fence.remove(self.target, self.tenant)
        self._done(MOVED, "detach: no fence on the new server")

    def _failures(self) -> int:
        return int(self.target.one("failures", name=replication.name_of(self.tenant)) or 0)

    def _refuse_failing(self, before: int) -> None:
        if self._failures() - before >= FAILURES:
            raise Unavailable(
                f"the server {self.target.name!r} failed {FAILURES} times to take the tenant's rows; its log says why. "
                "Then run the same command again, or with --undo"
            )

    def _note(self, step: str) -> None:
        self.first.execute(_SQL["note"], {"tenant": self.tenant, "step": step})

    def _done(self, step: str, told: str) -> None:
        self.report(told)
        self._note(step)
        self.report(f"noted: {step}")
