"""Who should see what, written from DESIGN §4's table and from nothing else: no code of Keepword is asked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from leaks.world import Talk, World


@dataclass(frozen=True)
class Where:
    """Where a viewer stands: `in` a conversation, in a `room`, `across` sessions, at a `list`, `everywhere`, by
    one's `self`, `as` an agent, at the list of those `met` by an agent, at the `items` of whom the viewer acts for, at
    the `agent files` of an agent or the `user files` of a user with an agent, or in no place but the `tenant`. `reach`
    is what the one call asks for in a conversation. In the `transcript` the owner sees what was taken back."""

    kind: str
    name: str | None = None
    agent: str | None = None
    user: str | None = None
    reach: str | None = None
    transcript: bool = False


@dataclass(frozen=True)
class Thing:
    """A stored thing. `opens` says by what: `words` by their scope, a `place` by its run_id, to the `owner`, to all,
    a `line` of a profile by where it was said, `met` by the pair of an agent and a user. `said_in` is the conversation
    that a line, or a fact about a `user`, comes from; without one it was shared by hand. What is `gone` was taken back:
    it is there for the owner who acts for nobody, in the transcript, and for nobody else anywhere."""

    tenant: str
    marker: str
    opens: str
    run_id: str | None = None
    visibility: str | None = None
    private_to: str | None = None
    user: str | None = None
    said_in: str | None = None
    agent: str | None = None
    gone: bool = False


@dataclass(frozen=True)
class Reach:
    """What is open from somewhere. `enters` tells whether one is let in at all; with `hides` it is as if there were
    no such user, whatever else a refusal would say. `owns`: it is the tenant's owner, wherever they stand; what they
    wrote is theirs.

    Of who was introduced to whom those are open whose agent, and user if there is one, are in `met`.

    Of the `people`'s profiles those lines are open that were said in one of `lines_in`; with `lines_of_theirs` also
    those from their sessions, and from rooms in which they sit now. With `lines_to`, only lines said to that agent.
    """

    enters: bool = False
    run_ids: frozenset[str] = frozenset()
    visibilities: frozenset[str] = frozenset()
    private_to: str | None = None
    owner: bool = False
    writes: str | None = None
    shares: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    lines_in: frozenset[str] = frozenset()
    lines_of_theirs: bool = False
    lines_to: str | None = None
    met: tuple[str, str | None] | None = None
    hides: bool = False
    owns: bool = False
    shows_gone: bool = False


# G what the whole tenant shares, X the place itself, P* its participants' profiles, U its user's profile, Y the
# project, S* the project's sessions, T* the sessions of the same user with the same agent outside isolated projects,
# R* the rooms outside isolated projects in which both its user and its agent sit
TABLE = {
    ("room", "alone"): ("G X P*", "public shared"),
    ("room", "project"): ("G X P* Y", "public shared"),
    ("room", "isolated"): ("X S* Y", "public shared"),
    ("direct", "alone"): ("G X U R*", "private shared"),
    ("direct", "project"): ("G X U Y R*", "private shared"),
    ("direct", "isolated"): ("X Y", "private shared"),
    ("session own", "alone"): ("G X U", "public shared"),
    ("session own", "project"): ("G X U Y", "public shared"),
    ("session own", "isolated"): ("X Y", "public shared"),
    ("session user", "alone"): ("G X T* U", "public shared"),
    ("session project", "project"): ("G X S* U Y", "public shared"),
    ("session project", "isolated"): ("X S* Y", "public shared"),
}
# what shared knowledge may be written from a place: its project's, in a session also its user's profile, in a direct
# conversation none
SHARES = {"room": "Y", "session": "Y U", "direct": ""}
WRITERS = {"admin", "agent"}
ROLES = {"admin", "agent", "reader"}
NOTHING = Reach()
STRANGER = Reach(hides=True)


def reach(world: World, viewer, where: Where) -> Reach:
    known = viewer.role in ROLES
    opened = RULES[where.kind](world, viewer, where) if known and where.kind in RULES else NOTHING
    for_nobody = (viewer.role, viewer.bound_to, viewer.agent, viewer.user) == ("admin", "nobody", None, None)
    return replace(opened, shows_gone=where.transcript and for_nobody)


def sees(world: World, opened: Reach, thing: Thing) -> bool:
    if thing.tenant != world.tenant or _is_unproven(world, opened, thing) or (thing.gone and not opened.shows_gone):
        return False
    if opened.owner or thing.opens == "all":
        return True
    if thing.opens == "met":
        return opened.met in {(thing.agent, None), (thing.agent, thing.user)}
    if thing.said_in is not None and (thing.opens == "line" or not _sees_line(world, opened, thing)):
        return _sees_line(world, opened, thing)
    if thing.opens in {"owner", "place"} or thing.run_id not in opened.run_ids:
        return thing.opens == "place" and thing.run_id in opened.run_ids
    mine = thing.visibility != "private" or thing.private_to == opened.private_to
    return thing.visibility in opened.visibilities and mine


def _is_unproven(world: World, opened: Reach, thing: Thing) -> bool:
    """What an agent's own key says that a user said is no line of the user's profile but where it was said.

    An agent's own word is a line of nobody's profile anywhere.
    """
    if thing.opens != "line":
        return False
    is_elsewhere = world.run_id(thing.said_in) not in opened.lines_in
    return thing.said_in in world.agents_word or (thing.said_in in world.unvouched and is_elsewhere)


def _sees_line(world: World, opened: Reach, thing: Thing) -> bool:
    """Nothing said in an isolated project reaches a profile, nothing said in a direct conversation leaves it."""
    talk, project = world.talks[thing.said_in], world.project(thing.said_in)
    if thing.user not in opened.people or (project is not None and world.projects[project]):
        return False
    if opened.lines_to is not None and talk.agent != opened.lines_to:
        return False
    if world.run_id(thing.said_in) in opened.lines_in:
        return True
    theirs = talk.kind == "session" or (talk.kind == "room" and thing.user in world.room_users[talk.room])
    return opened.lines_of_theirs and theirs


def seen(world: World, opened: Reach, things: Iterable[Thing]) -> set[str]:
    return {thing.marker for thing in things if sees(world, opened, thing)}


def is_refused(world: World, viewer, name: str, agent: str | None, user: str | None) -> bool:
    """Tell whether naming a conversation's user is refused, because they were not introduced to its agent."""
    talk = world.talks[name]
    if talk.kind != "session" or user is None or talk.user is not None:
        return False
    if _in_talk(world, viewer, Where("in", name)).writes is None:
        return False
    return not knows(world, viewer, agent if talk.agent_open and agent else talk.agent, user)


def assigned(world: World, viewer, name: str, agent: str | None, user: str | None, *, spoken: bool) -> Talk:
    """Return what a conversation becomes when a viewer names an agent and a user for it: itself, unless it lacks them.

    Only a session lacks them, only who writes in it as it is now gives them, and once somebody has `spoken` there its
    user is named by those who act for nobody in particular.
    """
    talk = world.talks[name]
    if talk.kind != "session" or _in_talk(world, viewer, Where("in", name)).writes is None:
        return talk
    gets_user = user is not None and talk.user is None
    if gets_user and spoken and (viewer.agent, viewer.user) != (None, None):
        return talk
    if is_refused(world, viewer, name, agent, user):
        return talk
    if agent is not None and talk.agent_open:
        talk = replace(talk, agent=agent, agent_open=False)
    return replace(talk, user=user) if gets_user else talk


def _in_talk(world: World, viewer, where: Where) -> Reach:
    name = world.aliases.get(where.name, where.name)
    talk = world.talks[name]
    if talk.kind == "room":
        return _in_room(world, viewer, Where("room", talk.room, talk.agent))
    if viewer.user not in {None, talk.user} or viewer.agent not in {None, talk.agent}:
        return NOTHING
    if not knows(world, viewer, talk.agent, talk.user):
        return NOTHING
    opened = _look_up(world, _kind(world, talk, where.reach), world.run_id(name), world.project(name), talk)
    private_to = talk.user if talk.kind == "direct" else None
    opened = replace(_for(viewer, opened, world.run_id(name)), private_to=private_to)
    # one person is there: of a direct conversation only this one, of sessions and rooms all
    return _with_lines(world, opened, {talk.user} - {None}, world.run_id(name), talk.agent, alone=True)


def _in_room(world: World, viewer, where: Where) -> Reach:
    room = where.name
    if viewer.user is not None and viewer.user not in world.room_users[room]:
        return NOTHING
    if viewer.agent is not None and viewer.agent not in world.room_agents[room]:
        return NOTHING
    opened = _for(
        viewer, _look_up(world, "room", f"room:{room}", world.rooms[room], Talk("room", "", room=room)), f"room:{room}"
    )
    alone = world.profiles_in_rooms == "all"
    agent = viewer.agent or where.agent or ""
    return _with_lines(world, opened, world.room_users[room], f"room:{room}", agent, alone=alone)


def _with_lines(world: World, opened: Reach, people: set[str], run_id: str, agent: str, *, alone: bool) -> Reach:
    """Open lines of profiles where the profiles themselves are open: nowhere in an isolated project."""
    people = {user for user in people if f"profile:{user}" in opened.run_ids}
    if not people:
        return opened
    lines_to = agent if world.profile_per_agent else None
    return replace(
        opened,
        people=frozenset(people),
        lines_in=frozenset({run_id}),
        lines_of_theirs=alone,
        lines_to=lines_to,
    )


def _kind(world: World, talk: Talk, asked: str | None) -> str:
    """Return the row of the table: of a session with its reach, the first of those wanted that it can have."""
    if talk.kind != "session":
        return talk.kind
    possible = {"own", "project" if talk.project else "user" if talk.user else "own"}
    wanted = (asked, "project" if talk.project else None, talk.reach, world.session_reach)
    return "session " + next((reach for reach in wanted if reach in possible), "own")


def _look_up(world: World, kind: str, run_id: str, project: str | None, talk: Talk) -> Reach:
    state = "alone" if project is None else "isolated" if world.projects[project] else "project"
    letters, visibilities = TABLE[kind, state]
    people = world.room_users[talk.room] if talk.kind == "room" else {talk.user} - {None}
    rooms = _rooms(world, talk)
    meaning = {
        "G": {"global"},
        "X": {run_id},
        "P*": {f"profile:{user}" for user in people},
        "U": {f"profile:{user}" for user in people},
        "Y": {f"project:{project}"},
        "S*": {f"session:{name}" for name in world.sessions_in(project)} if project else set(),
        "T*": {f"session:{name}" for name in _threads(world, talk.agent, talk.user)},
        "R*": rooms,
    }
    run_ids, shares = (
        frozenset().union(*(meaning[letter] for letter in those.split())) for those in (letters, SHARES[talk.kind])
    )
    seen_there = {*visibilities.split(), *(["public"] if "R*" in letters and rooms else [])}
    return Reach(True, run_ids, frozenset(seen_there), shares=shares & run_ids)


def _threads(world: World, agent: str, user: str | None) -> set[str]:
    """Return the sessions of a user with an agent outside isolated projects."""
    return {
        name
        for name, talk in world.talks.items()
        if (talk.kind, talk.agent, talk.user) == ("session", agent, user)
        and not world.projects.get(talk.project, False)
    }


def _rooms(world: World, talk: Talk) -> set[str]:
    """Return the rooms that a direct conversation reads: its user and its agent sit there, and it is not isolated."""
    if talk.kind != "direct" or not world.direct_reads_rooms:
        return set()
    return {
        f"room:{room}"
        for room, project in world.rooms.items()
        if talk.user in world.room_users[room]
        and talk.agent in world.room_agents[room]
        and not world.projects.get(project, False)
    }


def _across(world: World, viewer, where: Where) -> Reach:
    if viewer.agent not in {None, where.agent}:
        return NOTHING
    sessions = {
        f"session:{name}"
        for name, talk in world.talks.items()
        if (talk.kind, talk.agent) == ("session", where.agent)
        and where.user in {None, talk.user}
        and not world.projects.get(talk.project, False)
        and knows(world, viewer, talk.agent, talk.user)
    }
    if where.user is None:
        if viewer.role != "admin" or viewer.user is not None:
            return NOTHING
        return Reach(True, frozenset(sessions), frozenset({"public"}))
    if viewer.user not in {None, where.user}:
        return NOTHING
    if not knows(world, viewer, where.agent, where.user):
        return STRANGER
    opened = Reach(True, frozenset(sessions | {f"profile:{where.user}"}), frozenset({"public", "shared"}))
    return _with_lines(world, opened, {where.user}, "", where.agent, alone=True)


def _list(world: World, viewer, where: Where) -> Reach:
    if viewer.agent is None and viewer.user is None:
        return _everywhere(world, viewer, where)
    inside = {f"room:{room}" for room in world.rooms if _in_room(world, viewer, Where("room", room)).enters}
    for name, talk in world.talks.items():
        if talk.kind != "room" and _in_talk(world, viewer, Where("in", name)).enters:
            inside.add(world.run_id(name))
    return Reach(True, frozenset(inside))


def _everywhere(_: World, viewer, __: Where) -> Reach:
    owner = viewer.role == "admin" and viewer.agent is None and viewer.user is None
    return Reach(True, owner=True, owns=True) if owner else NOTHING


def _self(world: World, viewer, where: Where) -> Reach:
    if viewer.user is None:
        return _everywhere(world, viewer, where)
    if not knows(world, viewer, viewer.agent, viewer.user):
        return STRANGER
    opened = Reach(True, frozenset({f"profile:{viewer.user}"}), frozenset({"public", "shared"}))
    return _with_lines(world, opened, {viewer.user}, "", viewer.agent or "", alone=True)


def _as(world: World, viewer, where: Where) -> Reach:
    is_it = viewer.agent == where.agent and not is_person(viewer)
    return Reach(True) if is_it else _everywhere(world, viewer, where)


def _agent_files(world: World, viewer, where: Where) -> Reach:
    """An agent reads its own tree, which all its users share: it writes it only where it acts for none of them."""
    if viewer.agent is None and viewer.user is None:
        return _everywhere(world, viewer, where)
    if viewer.agent != where.agent or is_person(viewer):
        return NOTHING
    label = f"agent:{where.agent}"
    writes = label if viewer.role in WRITERS and viewer.user is None else None
    return Reach(True, frozenset({label}), frozenset({"shared"}), writes=writes)


def _user_files(world: World, viewer, where: Where) -> Reach:
    """The tree of a user with an agent is of these two, and of an agent's own key only after an introduction."""
    if viewer.agent is None and viewer.user is None:
        return _everywhere(world, viewer, where)
    if viewer.agent not in {None, where.agent} or viewer.user not in {None, where.user}:
        return NOTHING
    if not knows(world, viewer, where.agent, where.user):
        return STRANGER
    label = f"files:{where.user}:{where.agent}"
    writes = label if viewer.role in WRITERS else None
    return Reach(True, frozenset({label}), frozenset({"private"}), private_to=where.user, writes=writes)


def _met(world: World, viewer, where: Where) -> Reach:
    """An agent sees all who were introduced to it, a person sees to whom they were; nobody sees others' pairs."""
    if viewer.agent is None and viewer.user is None:
        return _everywhere(world, viewer, where)
    if viewer.agent not in {None, where.agent}:
        return STRANGER
    return Reach(True, met=(where.agent, viewer.user))


def _items(world: World, viewer, _: Where) -> Reach:
    """Each agent has items of its own, each user, and each agent with one user; so have keys that name neither.

    Who acts for an agent and a user reads what was kept for these two, and nothing of either alone.
    """
    if not knows(world, viewer, viewer.agent, viewer.user):
        return STRANGER
    label = f"items:{viewer.agent or ''}:{viewer.user or ''}"
    writes = label if viewer.role in WRITERS else None
    return Reach(True, frozenset({label}), frozenset({"shared"}), writes=writes)


def is_person(viewer) -> bool:
    """Tell whether a key is bound to a user alone: such a one is no agent, and reads no agent's files."""
    return viewer.bound_to == "user"


def is_bot(viewer) -> bool:
    """Tell whether a key is bound to an agent alone: whatever user it names, nobody vouches for that."""
    return viewer.bound_to == "agent"


def knows(world: World, viewer, agent: str, user: str | None) -> bool:
    """Tell whether a viewer may act with a user: an agent's own key does only if they were introduced to it."""
    return not is_bot(viewer) or user is None or (agent, user) in world.introduced


def introduces(viewer, agent: str, user: str) -> bool:
    """Tell who introduces a user to an agent: the tenant's owner, and who acts as that user, but never the agent."""
    if viewer.role not in WRITERS or is_bot(viewer) or viewer.agent not in {None, agent}:
        return False
    is_owner = viewer.role == "admin" and viewer.agent is None and viewer.user is None
    return is_owner or viewer.user == user


def speaks(viewer) -> set[str]:
    """Return the roles under which a key appends: one that is bound to a user alone speaks as that user alone."""
    return {"user"} if is_person(viewer) else {"user", "assistant", "system", "tool"}


def _for(viewer, opened: Reach, run_id: str) -> Reach:
    opened = replace(opened, owns=viewer.role == "admin" and viewer.bound_to == "nobody")
    return replace(opened, writes=run_id) if viewer.role in WRITERS else replace(opened, shares=frozenset())


RULES = {
    "in": _in_talk,
    "room": _in_room,
    "across": _across,
    "list": _list,
    "everywhere": _everywhere,
    "self": _self,
    "as": _as,
    "met": _met,
    "agent files": _agent_files,
    "user files": _user_files,
    "items": _items,
    "tenant": lambda *_: Reach(True),
}
