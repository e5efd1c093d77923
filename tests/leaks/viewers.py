"""Every viewer, everywhere that one can stand, and the count of what was compared."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from keepword.access import Across, Everywhere, Grant, Roster, Viewer, grant
from keepword.postgres.places import PostgresDoors
from leaks.kinds import Stores
from leaks.oracle import Where
from leaks.world import BOTS, PEOPLE, World

ROLES = ("admin", "agent", "reader")


def viewers(world: World, roles: Sequence[str] = (*ROLES, "unknown")) -> list[Viewer]:
    return [Viewer(world.id, *who) for who in product(roles, (None, *BOTS), (None, *PEOPLE))]


def wheres(world: World) -> Iterator[Where]:
    yield from (Where("in", name) for name in world.names())
    yield from (Where("room", room) for room in world.rooms)
    yield from (Where("across", agent=agent, user=user) for agent, user in product(BOTS, (None, *PEOPLE)))
    yield from (Where("list"), Where("everywhere"), Where("nowhere"))


async def look(stores: Stores, viewer: Viewer, where: Where) -> Grant:
    """Ask Keepword what the oracle is asked: the facts from its doors, the decision from its one function."""
    return grant(viewer, await find(stores.doors, viewer, where))


async def look_everywhere(stores: Stores, world: World) -> AsyncIterator[tuple[Viewer, Where, Grant]]:
    """Look as every viewer in every place; what the doors tell of a place is the same for all, so it is asked once."""
    for where in wheres(world):
        place = None if where.kind == "list" else await find(stores.doors, Viewer(world.id, "admin"), where)
        for viewer in viewers(world):
            mine = await find(stores.doors, viewer, where) if where.kind == "list" else place
            yield viewer, where, grant(viewer, mine)


async def find(doors: PostgresDoors, viewer: Viewer, where: Where) -> object:
    tenant = viewer.tenant_id
    unbound = viewer.agent is None and viewer.user is None
    match where.kind:
        case "in":
            return await doors.place(tenant, where.name)
        case "room":
            return await doors.room(tenant, where.name)
        case "across":
            sessions = await doors.across(tenant, where.agent, where.user)
            return Across(where.agent, where.user, sessions, await doors.settings(tenant))
        case "list" if not unbound:
            return Roster(await doors.roster(tenant, viewer.agent, viewer.user))
        case "list" | "everywhere":
            return Everywhere()
    return None


@dataclass
class Tally:
    cells: int = 0
    wrong: list[str] = field(default_factory=list)

    def compare(self, what: str, cells: int, found: set[str], expected: set[str]) -> None:
        self.cells += cells
        if found != expected:
            self.wrong.append(f"{what}: leaked {sorted(found - expected)}, lost {sorted(expected - found)}")
