"""Every viewer, everywhere that one can stand, and the count of what was compared."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from uuid import UUID

from keepword.access import Acquaintance, AgentFiles, Grant, ItemOwner, UserFiles, Viewer, WholeTenant, grant
from keepword.postgres.places import PostgresPlaceLookup
from leaks.kinds import Stores
from leaks.oracle import Where
from leaks.world import BOTS, PEOPLE, World

ROLES = ("admin", "agent", "reader")


def viewers(world: World, roles: Sequence[str] = (*ROLES, "unknown"), *, bound: bool | None = None) -> list[Viewer]:
    """Return all who can ask: with `bound`, those whose key names them; without, those whose key names nobody.

    With neither, also those whose key names one of the two, and who name the other themselves.
    """
    named = product(roles, (None, *BOTS), (None, *PEOPLE))
    every = (Viewer(world.id, *who, binding) for who in named for binding in _bindings(*who[1:]))
    fully = {True: _fully_bound, False: lambda viewer: viewer.bound_to == "nobody", None: lambda _: True}
    return [viewer for viewer in every if fully[bound](viewer)]


def half_bound(world: World, roles: Sequence[str]) -> list[Viewer]:
    """Return those whose key names an agent or a user, and who name the other themselves."""
    known = {*viewers(world, roles, bound=True), *viewers(world, roles, bound=False)}
    return [viewer for viewer in viewers(world, roles) if viewer not in known]


def _bindings(agent: str | None, user: str | None) -> Iterator[str]:
    yield "nobody"
    if agent is not None:
        yield "agent"
    if user is not None:
        yield "user"
    if agent is not None and user is not None:
        yield "both"


def _fully_bound(viewer: Viewer) -> bool:
    return viewer.bound_to == tuple(_bindings(viewer.agent, viewer.user))[-1]


def wheres(world: World) -> Iterator[Where]:
    yield from (Where("in", name) for name in world.names())
    yield from (Where("in", name, reach=reach) for name, reach in world.calls() if reach)
    yield from (Where("room", room) for room in world.rooms)
    yield from (Where("across", agent=agent, user=user) for agent, user in product(BOTS, (None, *PEOPLE)))
    yield from (Where("met", agent=agent) for agent in BOTS)
    yield from (Where("agent files", agent=agent) for agent in BOTS)
    yield from (Where("user files", agent=agent, user=user) for agent, user in product(BOTS, PEOPLE))
    yield from (Where("list"), Where("items"), Where("everywhere"), Where("nowhere"))


async def look(stores: Stores, viewer: Viewer, where: Where) -> Grant:
    """Ask Keepword what the oracle is asked: the facts from its lookup, the decision from its one function."""
    return grant(viewer, await find(stores.lookup, viewer, where))


async def look_everywhere(stores: Stores, world: World) -> AsyncIterator[tuple[Viewer, Where, Grant]]:
    """Look as every viewer in every place; a place is the same for all, so it is looked up once."""
    for where in wheres(world):
        is_own = where.kind in {"list", "items"}
        place = None if is_own else await find(stores.lookup, Viewer(world.id, "admin"), where)
        for viewer in viewers(world):
            mine = await find(stores.lookup, viewer, where) if is_own else place
            yield viewer, where, grant(viewer, mine)


async def _find_pair(lookup: PostgresPlaceLookup, tenant: UUID, where: Where) -> object:
    if where.kind == "met":
        return Acquaintance(where.agent)
    if where.user is None:
        return AgentFiles(where.agent)
    return UserFiles(where.user, where.agent, await lookup.is_introduced(tenant, where.agent, where.user))


async def find(lookup: PostgresPlaceLookup, viewer: Viewer, where: Where) -> object:
    tenant = viewer.tenant_id
    unbound = viewer.agent is None and viewer.user is None
    match where.kind:
        case "in" | "room":
            place = await (lookup.place if where.kind == "in" else lookup.room)(tenant, where.name)
            return place and replace(place, asked_reach=where.reach)
        case "across":
            return replace(await lookup.across(tenant, where.agent, where.user), settings=await lookup.settings(tenant))
        case "met" | "agent files" | "user files":
            return await _find_pair(lookup, tenant, where)
        case "items":
            is_pair = viewer.agent is not None and viewer.user is not None
            introduced = is_pair and await lookup.is_introduced(tenant, viewer.agent, viewer.user)
            return ItemOwner(viewer.agent, viewer.user, introduced)
        case "list" | "everywhere":
            is_roster = where.kind == "list" and not unbound
            return await lookup.roster(tenant, viewer.agent, viewer.user) if is_roster else WholeTenant()
    return None


@dataclass
class Tally:
    cells: int = 0
    wrong: list[str] = field(default_factory=list)

    def compare(self, what: str, cells: int, found: set[str], expected: set[str]) -> None:
        self.cells += cells
        if found != expected:
            self.wrong.append(f"{what}: leaked {sorted(found - expected)}, lost {sorted(expected - found)}")
