"""The world that leaks are looked for in: plain facts, kept apart from the code under test."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from uuid import UUID
from zlib import crc32

PEOPLE = ("ann", "bob", "cyd")
BOTS = ("ada", "bix", "cox")
REACHES = ("own", "user", "project")


@dataclass(frozen=True)
class Talk:
    """A conversation. One in a room has the room's project. `agent_open`: nobody named its agent yet.

    `reach` is what was chosen for the session; without it the tenant's counts.
    """

    kind: str
    agent: str
    user: str | None = None
    room: str | None = None
    project: str | None = None
    agent_open: bool = False
    reach: str | None = None


@dataclass
class World:
    """A tenant. `projects` says of each whether it is isolated, `speakers` who said what is remembered of a room.

    `aliases` says which conversation a further name is of. The sessions in `assigned` were first nobody's: their agent
    and user were named later. `introduced` are the pairs of an agent and a user who were introduced; those in
    `withdrawn` were, and are no more. What was said in the `unvouched` conversations was stored by the agent's own key.
    What is remembered of those in `agents_word` is the agent's word, and no person's.
    """

    tenant: str
    id: UUID
    users: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    projects: dict[str, bool] = field(default_factory=dict)
    rooms: dict[str, str | None] = field(default_factory=dict)
    room_users: dict[str, set[str]] = field(default_factory=dict)
    room_agents: dict[str, set[str]] = field(default_factory=dict)
    talks: dict[str, Talk] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    introduced: set[tuple[str, str]] = field(default_factory=set)
    withdrawn: set[tuple[str, str]] = field(default_factory=set)
    unvouched: set[str] = field(default_factory=set)
    # the second message of each conversation, which was taken back with all that was made of it
    retracted: dict[str, UUID] = field(default_factory=dict)
    # messages that were erased, and conversations that are being erased
    erased: set[UUID] = field(default_factory=set)
    erasing: set[UUID] = field(default_factory=set)
    agents_word: set[str] = field(default_factory=set)
    summaries: dict[str, UUID] = field(default_factory=dict)
    landmarks: set[UUID] = field(default_factory=set)
    turns: dict[str, UUID] = field(default_factory=dict)
    imports: dict[str, UUID] = field(default_factory=dict)
    memories: dict[str, UUID] = field(default_factory=dict)
    profiles: dict[str | None, UUID] = field(default_factory=dict)
    speakers: dict[str, str] = field(default_factory=dict)
    profile_per_agent: bool = False
    profiles_in_rooms: str = "room"
    session_reach: str = "own"
    direct_reads_rooms: bool = True
    project_memories: dict[str, UUID] = field(default_factory=dict)
    webhook: UUID | None = None

    def mark(self, kind: str, name: str) -> str:
        """Return words that nothing else in any tenant has."""
        return f"{self.tenant}/{kind}/{name}"

    def number(self, name: str) -> int:
        """Return a number that nothing else in any tenant has, for what can hold no words."""
        return 1000 + crc32(self.mark("number", name).encode()) % 2_500_000

    def names(self) -> dict[str, str]:
        """Return which conversation each name is of."""
        return {name: name for name in self.talks} | self.aliases

    def run_id(self, name: str) -> str:
        talk = self.talks[name]
        return {"room": f"room:{talk.room}", "direct": f"dm:{talk.user}:{talk.agent}", "session": f"session:{name}"}[
            talk.kind
        ]

    def speaker(self, name: str) -> str | None:
        """Return the person whom the memory made of a conversation is about."""
        return self.talks[name].user or self.speakers.get(name)

    def project(self, name: str) -> str | None:
        talk = self.talks[name]
        return self.rooms[talk.room] if talk.kind == "room" else talk.project

    def pairs(self) -> set[tuple[str, str]]:
        """Return the agents and users who have a session or a direct conversation with each other."""
        return {(talk.agent, talk.user) for talk in self.talks.values() if talk.user is not None}

    def sessions_in(self, project: str) -> set[str]:
        return {name for name, talk in self.talks.items() if talk.kind == "session" and talk.project == project}

    def calls(self) -> list[tuple[str, str | None]]:
        """Return each conversation with each reach that a call may ask for in it: none, and for sessions each."""
        sessions = [name for name, talk in self.talks.items() if talk.kind == "session"]
        # elsewhere it has no effect
        elsewhere = [(name, "user") for name in ("in-hall", "in-cell", "ann-and-ada", "bob-and-ada")]
        return [*((name, None) for name in self.talks), *product(sessions, REACHES), *elsewhere]

    def run_ids(self) -> list[str]:
        """Return every label that a thing in this tenant could bear."""
        return sorted(
            {"global"}
            | {f"room:{room}" for room in self.rooms}
            | {f"dm:{user}:{agent}" for user in PEOPLE for agent in BOTS}
            | {f"session:{name}" for name in self.talks}
            | {f"profile:{user}" for user in self.users}
            | {f"project:{project}" for project in self.projects}
            | {f"items:{agent or ''}:{user or ''}" for agent, user in self.item_owners()}
        )

    def item_owners(self) -> list[tuple[str | None, str | None]]:
        """Return for whom items are kept: agents, users, agents with one user, and nobody in particular."""
        return list(product((None, *BOTS), (None, *PEOPLE)))


# ann sat in the attic once, and left
SPEAKERS = {"in-hall": "ann", "in-hall-too": "bob", "in-deck": "bob", "in-cell": "ann", "in-attic": "ann"}


def fill(tenant: str, id_: UUID) -> World:
    """Every kind of place, without a project, in an open one and in an isolated one; two tenants share all names."""
    guest = f"guest-of-{tenant}"
    world = World(tenant, id_, {*PEOPLE, guest}, set(BOTS), {"open": False, "sealed": True, "vault": True})
    for name, project in {"hall": None, "deck": "open", "cell": "sealed"}.items():
        world.rooms[name] = project
        world.room_users[name], world.room_agents[name] = {"ann", "bob", guest}, {"ada", "bix"}
    for name, project in {"attic": None, "vaulted": "vault"}.items():
        world.rooms[name] = project
        world.room_users[name], world.room_agents[name] = {"bob", guest}, {"bix"}
    world.rooms["empty"], world.room_users["empty"], world.room_agents["empty"] = None, set(), set()
    world.talks = dict(_talks(world))
    world.speakers = SPEAKERS | {"in-vaulted": "bob", "in-attic-too": guest}
    world.aliases = {f"{name}-too": name for name in ("ann-and-ada", "ann-and-bix", "bob-and-ada")}
    world.assigned = {"ann-with-bix-in-None"}
    for name in world.assigned:
        # made on AEGIS' paths, whose sessions read all of their user's with their agent
        world.talks[name] = replace(world.talks[name], reach="user")
    # all who have a conversation of their own, but for one pair; and one that has none
    world.withdrawn = {("bix", "ann")}
    world.unvouched = {"ann-with-ada-in-open", "bob-and-bix", "in-deck"}
    world.agents_word = {"ann-with-ada-in-None", "ann-and-ada", "in-hall"}
    world.introduced = (world.pairs() | {("cox", "cyd")}) - world.withdrawn
    return world


def _talks(world: World) -> Iterator[tuple[str, Talk]]:
    for room in world.rooms:
        if agents := sorted(world.room_agents[room]):
            yield f"in-{room}", Talk("room", agents[0], room=room)
    # another conversation of the same room, by its other agent
    yield "in-hall-too", Talk("room", "bix", room="hall")
    yield "in-attic-too", Talk("room", "bix", room="attic")
    directs = {("ann", "ada"): None, ("ann", "bix"): "open", ("bob", "ada"): "sealed", ("bob", "bix"): None}
    for (user, agent), project in directs.items():
        yield f"{user}-and-{agent}", Talk("direct", agent, user, project=project)
    for project in (None, "open", "sealed"):
        for user, agent in (("ann", "ada"), ("bob", "ada"), ("ann", "bix"), (None, "ada")):
            yield f"{user}-with-{agent}-in-{project}", Talk("session", agent, user, project=project)
    yield "bob-with-bix-in-vault", Talk("session", "bix", "bob", project="vault")
    # further threads of the same two, with either reach; of some only in a project, where the reach is the project's
    for user, agent in (("ann", "ada"), ("bob", "ada"), ("ann", "bix"), ("bob", "bix"), ("cyd", "ada"), (None, "ada")):
        yield f"{user}-with-{agent}-by-user", Talk("session", agent, user, reach="user")
    yield "ann-with-ada-by-own", Talk("session", "ada", "ann", reach="own")
    yield "bob-with-ada-by-user-in-open", Talk("session", "ada", "bob", project="open", reach="user")
    yield "ann-with-ada-by-user-in-sealed", Talk("session", "ada", "ann", project="sealed", reach="user")
