"""The servers of KEEPWORD_SERVERS for the command line: which tenant is where, and where a new one is made."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from keepword.config import DatabaseServer, Settings
from keepword.errors import Conflict, InvalidInput, NotFound, Unavailable, UnfitDatabase
from keepword.postgres import directory, migrate
from keepword.postgres.directory import TenantLine

Connection = psycopg.Connection[Any]

# every migration makes one; of several servers the first one's is meant
DEFAULT = "default"
# servers that differ by less are equally full; then the number of tenants decides
SIZE_STEP_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Connected:
    """The owner's connections to the servers that answer, and why the others do not."""

    settings: Settings
    connections: Mapping[str, Connection]
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> Connection:
        """The server with the directory; raises Unavailable while it is down."""
        name = self.settings.servers[0].name
        if name not in self.connections:
            raise Unavailable(f"the first server, {name}, has the directory, and it is away: {self.faults[name]}")
        return self.connections[name]

    def home(self, tenant: str) -> tuple[str, UUID] | None:
        """Return the server on which a tenant lives, and its id; None if it lives on none of those that answer."""
        if tenant == DEFAULT:
            id_ = directory.tenant_here(self.first, tenant)
            return (self.settings.servers[0].name, id_) if id_ else None
        for name, conn in self.connections.items():
            if id_ := directory.tenant_here(conn, tenant):
                return name, id_
        return None

    def emptiest(self) -> str:
        """Return the server on which the next tenant is made: the smallest of those that are not drained."""
        drained = directory.draining(self.first)
        sizes = {name: _fullness(conn) for name, conn in self.connections.items() if name not in drained}
        if not sizes:
            raise Unavailable("every server that answers is drained; undo one: keepword servers drain NAME --undo")
        return min(sizes, key=lambda name: sizes[name])

    def require_all(self, tenant: str) -> None:
        """Refuse to go on while a server is down that may have the tenant."""
        if self.faults:
            down = ", ".join(self.faults)
            raise Unavailable(
                f"the tenant {tenant!r} may be on a server that is away ({down}); try again when it is back"
            )

    def require_no_move(self, tenant: str) -> None:
        """Refuse to go on while the tenant may be on a server that is away, or its old server alone gave it away."""
        self.require_all(tenant)
        for _, id_ in self._copies(tenant):
            if not any(directory.lives_here(conn, id_) for conn in self.connections.values()):
                to = directory.move_target(self.first, id_) or "SERVER"
                raise Conflict(
                    f"the tenant {tenant!r} is being moved, and no server serves it; finish that with: "
                    f"keepword tenants move {tenant} --to {to}, or take it back with --undo"
                )

    def require_free_name(self, tenant: str) -> None:
        """Refuse to make a tenant whose name some server still has."""
        self.require_no_move(tenant)
        for name, _ in self._copies(tenant):
            raise Conflict(
                f"{name} has an old copy of a tenant {tenant!r} that was erased; drop it first with: "
                f"keepword tenants clean {tenant} --now"
            )

    def _copies(self, tenant: str) -> list[tuple[str, UUID]]:
        copies = [(name, directory.copy_here(conn, tenant)) for name, conn in self.connections.items()]
        return [(name, id_) for name, id_ in copies if id_ is not None]


@contextmanager
def connected(settings: Settings) -> Iterator[Connected]:
    if not settings.servers:
        raise InvalidInput("KEEPWORD_SERVERS names no servers; see docs/howto/production.md, Several servers")
    connections, faults = {}, {}
    with ExitStack() as stack:
        for server in settings.servers:
            try:
                connections[server.name] = stack.enter_context(migrate.owner(server.url.get_secret_value()))
            except UnfitDatabase as exc:
                faults[server.name] = str(exc)
        yield Connected(settings, connections, faults)


def find_tenant(settings: Settings, tenant: str) -> tuple[DatabaseServer, UUID]:
    """Return the server that a tenant lives on, and its id; raises NotFound, and Unavailable where it can't be told."""
    with connected(settings) as servers:
        home = servers.home(tenant)
        if home is None:
            servers.require_no_move(tenant)
            raise NotFound(f"no tenant {tenant!r}; `keepword tenants list` shows all")
        return settings.server(home[0]), home[1]


def server_of(settings: Settings, tenant: str) -> DatabaseServer:
    return find_tenant(settings, tenant)[0]


@contextmanager
def home_of(settings: Settings, tenant: str) -> Iterator[DatabaseServer]:
    """Lend the server of a tenant; one that is nowhere is to be made there, and nobody else makes it meanwhile."""
    with connected(settings) as servers:
        home = servers.home(tenant)
        if home is not None:
            yield settings.server(home[0])
            return
        with directory.locked_name(servers.first, tenant):
            yield _choose(servers, tenant)
            if made := servers.home(tenant):
                directory.set_place(servers.first, made[1], made[0])
                directory.unplace(servers.first, tenant)


def _choose(servers: Connected, tenant: str) -> DatabaseServer:
    home = servers.home(tenant)  # somebody may have made it while the name was waited for
    if home is None:
        servers.require_free_name(tenant)
    name = home[0] if home else directory.placed(servers.first, tenant) or servers.emptiest()
    return servers.settings.server(name)


def place(settings: Settings, tenant: str, name: str | None) -> str:
    """Decide on which server a tenant is made; return its name. Raises Conflict for a tenant that is there."""
    if tenant == DEFAULT:
        raise InvalidInput(f"the tenant {DEFAULT!r} is that of the first server", "name")
    with connected(settings) as servers, directory.locked_name(servers.first, tenant):
        home = servers.home(tenant)
        if home is not None:
            raise Conflict(f"the tenant {tenant!r} is on {home[0]} already; to move it: keepword tenants move")
        servers.require_free_name(tenant)
        chosen = settings.server(name).name if name else servers.emptiest()
        if chosen in directory.draining(servers.first):
            raise Conflict(f"{chosen} is being drained: no new tenant is made there; name another, or undo that")
        directory.place(servers.first, tenant, chosen)
        return chosen


@dataclass(frozen=True, slots=True)
class TenantPlace:
    server: str
    tenant: TenantLine


def tenants_of(servers: Connected) -> list[TenantPlace]:
    """Return the tenants of all servers that answer, but for a `default` that nobody means."""
    first = servers.settings.servers[0].name
    found = [
        TenantPlace(name, line) for name, conn in servers.connections.items() for line in directory.tenants_here(conn)
    ]
    meant = [one for one in found if one.server == first or one.tenant.name != DEFAULT or one.tenant.keys]
    return sorted(meant, key=lambda one: (one.tenant.name, one.server))


def doubled(places: list[TenantPlace]) -> list[str]:
    """Return the names of tenants that live on two servers, such as after one was restored from an old backup."""
    names = [one.tenant.name for one in places if one.tenant.name != DEFAULT]
    return sorted({name for name in names if names.count(name) > 1})


def _fullness(conn: Connection) -> tuple[int, int]:
    size, tenants = directory.fullness(conn)
    return size // SIZE_STEP_BYTES, tenants
