"""What the command line asks for: move a tenant, undo that, drop old copies."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg

from keepword.errors import Conflict, NotFound, UnfitDatabase
from keepword.postgres import migrate
from keepword.postgres.driver_errors import mapped_errors
from keepword.postgres.moving import copies
from keepword.postgres.moving.mover import MOVED, UNDOING, Mover
from keepword.postgres.moving.servers import Connection, MoveServer, ServerAddress, connected
from keepword.postgres.moving.tables import tables_of
from keepword.postgres.queries import Queries

_SQL = Queries("moves.sql")
Report = Callable[[str], None]

LOCK_SECONDS = 2.0
LOOK_SECONDS = 0.05
# the migration makes it on every server
_EVERYWHERE = "default"


@dataclass(frozen=True, slots=True)
class Move:
    """A row of `tenant_moves`."""

    tenant: UUID
    source: str
    target: str
    step: str
    keep_days: int
    moved_at: datetime | None

    @property
    def is_due(self) -> bool:
        return self.moved_at is not None and self.moved_at + timedelta(days=self.keep_days) <= datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Servers:
    """All servers by name; the first one has the directory and the notes of moves."""

    addresses: Mapping[str, ServerAddress]

    @property
    def first(self) -> ServerAddress:
        return next(iter(self.addresses.values()))

    def named(self, name: str) -> ServerAddress:
        if name not in self.addresses:
            raise NotFound(f"no server {name!r}; KEEPWORD_SERVERS names: {', '.join(self.addresses)}")
        return self.addresses[name]


def make_servers(addresses: Sequence[ServerAddress]) -> Servers:
    return Servers({address.name: address for address in addresses})


def move(servers: Servers, name: str, to: str, keep_days: int, report: Report) -> float | None:
    """Move the tenant, or go on with a move; return for how many seconds it was closed to writes, if it was now."""
    servers.named(to)
    with mapped_errors(), migrate.owner(servers.first.conninfo) as first:
        tenant, source = _find(servers, name)
        with _locked(first, tenant):
            begun = _move_of(first, tenant)
            if begun is None and source == to:
                report(f"the tenant {name!r} lives on {to!r}; there is nothing to do")
                return None
            return _move(servers, first, begun or _begin(first, tenant, source, to, keep_days), name, to, report)


def undo(servers: Servers, name: str, report: Report) -> None:
    with mapped_errors(), migrate.owner(servers.first.conninfo) as first:
        tenant, _ = _find(servers, name)
        with _locked(first, tenant):
            begun = _move_of(first, tenant)
            if begun is None:
                raise NotFound(f"the tenant {name!r} is not being moved; there is nothing to undo")
            with _mover(servers, first, begun, report) as mover:
                mover.undo()


def clean(servers: Servers, name: str | None, *, now: bool, report: Report) -> int:
    """Drop old copies that were kept long enough, or with `now` all, of one tenant or of all; return how many."""
    with mapped_errors(), migrate.owner(servers.first.conninfo) as first:
        chosen = None if name is None else _find(servers, name)[0]
        moves = [Move(*row) for row in first.execute(_SQL["finished"]).fetchall()]
        due = [move for move in moves if (now or move.is_due) and chosen in {None, move.tenant}]
        for finished in due:
            with _locked(first, finished.tenant):
                _clean(servers, first, finished, report)
        return len(due)


def _move(servers: Servers, first: Connection, begun: Move, name: str, to: str, report: Report) -> float | None:
    if begun.step == MOVED and begun.target != to:
        raise Conflict(
            f"the copy of the last move is still on {begun.source!r}; drop it first with: "
            f"keepword tenants clean {name} --now"
        )
    if begun.target != to:
        raise Conflict(
            f"the tenant {name!r} is being moved to {begun.target!r}; go on with --to {begun.target}, or use --undo"
        )
    if begun.step == MOVED:
        report(f"the tenant {name!r} lives on {to!r}; there is nothing to do")
        return None
    with _mover(servers, first, begun, report) as mover:
        if begun.step == UNDOING:
            mover.undo()
            raise Conflict("the move was being undone, which is done now; run the same command again to move it")
        closed_seconds = mover.move()
    if begun.keep_days == 0:
        _clean(servers, first, begun, report)
    return closed_seconds


def _clean(servers: Servers, first: Connection, finished: Move, report: Report) -> None:
    with _pair(servers, finished) as (source, target):
        if target.one("lives_here", tenant=finished.tenant) is not True:
            raise Conflict(
                f"the server {target.name!r} does not serve the tenant; its old copy on {source.name!r} stays"
            )
        copies.remove(source, finished.tenant, tables_of(source.owner), report)
    first.execute(_SQL["forget"], {"tenant": finished.tenant})


@contextmanager
def _mover(servers: Servers, first: Connection, begun: Move, report: Report) -> Iterator[Mover]:
    with _pair(servers, begun) as (source, target):
        yield Mover(first, source, target, begun.tenant, report)


@contextmanager
def _pair(servers: Servers, move: Move) -> Iterator[tuple[MoveServer, MoveServer]]:
    addresses = servers.named(move.source), servers.named(move.target)
    with connected(addresses[0], move.tenant) as source, connected(addresses[1], move.tenant) as target:
        yield source, target


def _find(servers: Servers, name: str) -> tuple[UUID, str]:
    """Ask all servers for the tenant; return its id and the one that serves it, or that has a part of it."""
    if name == _EVERYWHERE:
        raise Conflict("the tenant 'default' is made on every server, and that of the first one can't be moved")
    unreachable: list[str] = []
    for query in ("tenant", "arriving"):
        for address in servers.addresses.values():
            try:
                with migrate.owner(address.conninfo) as conn:
                    row = conn.execute(_SQL[query], {"name": name}).fetchone()
            except UnfitDatabase:
                unreachable.append(address.name)
            else:
                if row is not None:
                    return UUID(str(row[0])), address.name
    missing = f" (unreachable: {', '.join(sorted(set(unreachable)))})" if unreachable else ""
    raise NotFound(f"no tenant {name!r} on any server{missing}; `keepword tenants list` shows all")


def _begin(first: Connection, tenant: UUID, source: str, to: str, keep_days: int) -> Move:
    first.execute(_SQL["begin"], {"tenant": tenant, "source": source, "target": to, "keep": keep_days})
    return Move(tenant, source, to, "begun", keep_days, None)


def _move_of(first: Connection, tenant: UUID) -> Move | None:
    row = first.execute(_SQL["move_of"], {"tenant": tenant}).fetchone()
    return Move(*row) if row else None


@contextmanager
def _locked(first: Connection, tenant: UUID) -> Iterator[None]:
    """Let one command at a time move the tenant; a killed one's lock goes with its connection."""
    # a server needs a moment to see that a killed command's connection is gone
    deadline = time.monotonic() + LOCK_SECONDS
    while first.execute(_SQL["lock"], {"tenant": tenant}).fetchone() != (True,):
        if time.monotonic() > deadline:
            raise Conflict("another command is moving this tenant right now; wait for it, or stop it first")
        time.sleep(LOOK_SECONDS)
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            first.execute(_SQL["unlock"], {"tenant": tenant})
