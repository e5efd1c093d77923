"""The one function that decides who may read what. It does no I/O; a combination without a rule opens nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID

from keepword.access.place import (
    FEW_SESSIONS,
    GLOBAL_RUN,
    Acquaintance,
    AgentFiles,
    AgentSessions,
    ItemOwner,
    OwnPlaces,
    Place,
    UserFiles,
    WholeTenant,
    introduction_run,
    items_run,
    profile_run,
    project_run,
    room_run,
    session_run,
)
from keepword.access.settings import TenantSettings
from keepword.errors import Forbidden, NotFound
from keepword.model import KEYLESS_ID, Key, KeyRole, Visibility

Binding = Literal["nobody", "agent", "user", "both"]

_ROLES = frozenset(get_args(KeyRole))
_WRITERS = frozenset({"admin", "agent"})
_OPEN: frozenset[Visibility] = frozenset({"public", "shared"})
_DIRECT: frozenset[Visibility] = frozenset({"private", "shared"})
_DIRECT_WITH_ROOMS: frozenset[Visibility] = _DIRECT | _OPEN


class Actor(NamedTuple):
    """The author of a change, as the audit names them: the key, and the user or agent for whom it acts."""

    key: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Viewer:
    """The rights of a key narrowed by the request. None means: not restricted to one agent or user.

    `bound_to` says whom of them the key itself names; the rest the request asks for. `by` is who acts, for the audit.
    """

    tenant_id: UUID
    role: KeyRole
    agent: str | None = None
    user: str | None = None
    bound_to: Binding = "nobody"
    by: Actor | None = None

    @property
    def is_person(self) -> bool:
        """Tell whether the caller speaks as one user alone, and is no agent, whichever agent the request names."""
        return self.bound_to == "user"

    @property
    def is_bot(self) -> bool:
        """Tell whether the caller is one agent alone: nobody vouches for the user whom the request names."""
        return self.bound_to == "agent"


class Threads(NamedTuple):
    """All sessions of a user with an agent, outside isolated projects."""

    user: str
    agent: str

    def hold(self, place: Place) -> bool:
        is_isolated = place.project is not None and place.project.isolated
        return (place.kind, place.user, place.agent) == ("session", self.user, self.agent) and not is_isolated


@dataclass(frozen=True, slots=True)
class Grant:
    """The run_ids that may be read, and the one that may be written. Private rows are for `private_to` alone.

    `sessions_of` opens `session:s` for every session s of that project, `threads_of` for every session s of that user
    with that agent outside isolated projects: which ones they are is looked up by the statement that reads, so that a
    move counts from the next read on and a large project costs no long list.
    `is_broad` hints that they are many. `shares` are the run_ids of shared knowledge, such as facts, that may be
    written from the place beside its own.
    Of the profiles of `profiles_of`, what was shared by hand opens by their run_id. What was said opens line by line:
    what was said in `lines_in`, with `lines_of_theirs` also what they said in their sessions and in rooms in which
    they sit now; with `lines_to` only what was said to that agent. Nothing said in an isolated project is among it.
    `vouches`: the caller's key vouches for the users that it speaks of. A conversation that it makes introduces its
    user to its agent, and what it appends as a user is theirs. `owner`: the caller is the tenant's owner.
    `by` is who acts, for the audit; None is work in the background.
    `retracted` also shows an owner the messages that were retracted, in the transcript.
    """

    tenant_id: UUID
    run_ids: frozenset[str] = frozenset()
    sessions_of: str | None = None
    threads_of: Threads | None = None
    visibilities: frozenset[Visibility] = frozenset()
    private_to: str | None = None
    everything: bool = False
    writes: str | None = None
    is_broad: bool = False
    shares: frozenset[str] = frozenset()
    profiles_of: frozenset[str] = frozenset()
    lines_in: frozenset[str] = frozenset()
    lines_of_theirs: bool = False
    lines_to: str | None = None
    vouches: bool = False
    owner: bool = False
    by: Actor | None = None
    retracted: bool = False

    @property
    def is_nothing(self) -> bool:
        return not self.everything and not self.run_ids

    @property
    def follows_sessions(self) -> bool:
        """Tell whether sessions open that it does not name one by one."""
        return self.sessions_of is not None or self.threads_of is not None

    def opens(self, place: Place) -> bool:
        """Tell whether what was said in the place may be read."""
        if self.everything:
            return True
        in_project = place.kind == "session" and place.project is not None and place.project.id == self.sessions_of
        in_threads = self.threads_of is not None and self.threads_of.hold(place)
        is_named = place.run_id in self.run_ids
        if place.visibility not in self.visibilities or not (in_project or in_threads or is_named):
            return False
        return place.visibility != "private" or place.user == self.private_to

    def lets_share(self, run_id: str) -> bool:
        """Tell whether shared knowledge may be written under the run_id."""
        return self.everything or run_id == self.writes or run_id in self.shares

    def only(self, run_id: str) -> "Grant":
        """Return this grant narrowed to one run_id, for a read that needs no more; nothing if it is not inside."""
        if self.everything:
            return self  # it names no visibility that could be left of it
        if run_id in self.run_ids:
            return replace(
                self, run_ids=frozenset({run_id}), sessions_of=None, threads_of=None, is_broad=False,
                profiles_of=frozenset(),
            )  # fmt: skip
        # it may still be one of the sessions that it follows: the statement that reads finds out
        return replace(self, run_ids=frozenset(), profiles_of=frozenset())


def make_viewer(key: Key, agent: str | None = None, user: str | None = None) -> Viewer:
    """Combine a key with the agent and user that the request names. Raises Forbidden if the key is bound to another."""
    for what, bound, requested in (("agent", key.agent, agent), ("user", key.user, user)):
        if bound is not None and requested is not None and requested != bound:
            raise Forbidden(f"this key is bound to the {what} {bound!r} and can't act as {requested!r}")
    viewer = Viewer(
        key.tenant_id,
        key.role,
        agent if key.agent is None else key.agent,
        user if key.user is None else key.user,
        _binding(key),
    )
    return replace(viewer, by=_actor(key, viewer))


def _actor(key: Key, viewer: Viewer) -> Actor:
    """Name the user whom the key vouches for, or the agent, or else whose the key is."""
    id_ = None if key.id == KEYLESS_ID else key.id
    if viewer.user is not None and not viewer.is_bot:
        return Actor(id_, f"user:{viewer.user}")
    if viewer.agent is not None:
        return Actor(id_, f"agent:{viewer.agent}")
    return Actor(id_, "owner" if is_owner(viewer) else f"key:{key.id}")


def _binding(key: Key) -> Binding:
    if key.agent is None:
        return "nobody" if key.user is None else "user"
    return "agent" if key.user is None else "both"


def narrow_viewer(viewer: Viewer, agent: str | None = None, user: str | None = None) -> Viewer:
    """Narrow a viewer to the agent and user that a request names. Raises Forbidden if it acts for another."""
    for what, is_, requested in (("agent", viewer.agent, agent), ("user", viewer.user, user)):
        if is_ is not None and requested is not None and requested != is_:
            raise Forbidden(f"this request acts for the {what} {is_!r} and can't act for {requested!r}")
    return replace(viewer, agent=viewer.agent or agent, user=viewer.user or user)


def not_introduced(agent: str, user: str) -> NotFound:
    """Return the one refusal for a user who was not introduced to the agent and for one who does not exist."""
    return NotFound(
        f"no user {user!r} was introduced to the agent {agent!r}; the tenant's owner, or a key bound to that user, "
        f"does so with PUT /v1/agents/{agent}/users/{user} (or: keepword agents introduce {agent} {user})"
    )


def grant(viewer: Viewer, place: object) -> Grant:
    """Total: a combination that no rule knows gets a Grant that opens nothing."""
    kind = getattr(place, "kind", None)
    rule = _RULES.get((type(place), str(kind))) if viewer.role in _ROLES else None
    allowed = rule(viewer, place) if rule else None
    result = allowed or Grant(viewer.tenant_id)
    return result if viewer.by is None else replace(result, by=viewer.by)


def everything_in(tenant_id: UUID) -> Grant:
    """Return the grant of a tenant's owner, for work in the background that nobody asks for in particular."""
    return Grant(tenant_id, everything=True)


def _room(viewer: Viewer, place: Place) -> Grant | None:
    if not (_is_in(viewer.user, place.users) and _is_in(viewer.agent, place.agents)):
        return None
    if place.project and place.project.isolated:
        return _open(viewer, place, sessions_of=place.project.id)
    grant = _open(viewer, place, *map(profile_run, place.users))
    # several people read here: of each profile the lines that were said here, unless the tenant's setting opens more
    is_all = place.settings is not None and place.settings.profiles_in_rooms == "all"
    return _with_lines(grant, place.users, place.run_id, viewer.agent or place.agent, place.settings, of_theirs=is_all)


def _direct(viewer: Viewer, place: Place) -> Grant | None:
    if place.user is None or not _is_own(viewer, place):
        return None
    rooms = _rooms(place)
    grant = _with_own_lines(_open(viewer, place, *_profile(place), *map(room_run, rooms)), place)
    seen = _DIRECT_WITH_ROOMS if rooms else _DIRECT
    # messages here are for one user: nothing of them may be written where others read
    return replace(grant, visibilities=seen, private_to=place.user, shares=frozenset())


def _session(viewer: Viewer, place: Place) -> Grant | None:
    if not _is_own(viewer, place):
        return None
    profile = _profile(place)
    reach = place.reach
    grant = _open(
        viewer, place, *profile, sessions_of=place.project.id if place.project and reach == "project" else None
    )
    if reach == "user" and place.user is not None:
        grant = replace(grant, threads_of=Threads(place.user, place.agent))
    grant = _with_own_lines(grant, place)
    return replace(grant, shares=grant.shares | profile) if grant.writes else grant


def _across(viewer: Viewer, place: AgentSessions) -> Grant | None:
    if viewer.agent not in {None, place.agent} or (place.user is not None and viewer.user not in {None, place.user}):
        return None
    sessions = frozenset(map(session_run, place.sessions - (place.strangers if viewer.is_bot else frozenset())))
    if place.user is not None:
        if not _is_known(viewer, place):
            return None
        grant = Grant(viewer.tenant_id, sessions | {profile_run(place.user)}, visibilities=_OPEN)
        return _with_lines(grant, frozenset({place.user}), None, place.agent, place.settings, of_theirs=True)
    if viewer.role == "admin" and viewer.user is None:
        return Grant(viewer.tenant_id, sessions, visibilities=frozenset({"public"}))
    return None


def _roster(viewer: Viewer, place: OwnPlaces) -> Grant | None:
    if viewer.agent is None and viewer.user is None:
        return None
    # no visibility: the rows of places open, the words in them do not
    return Grant(viewer.tenant_id, place.run_ids - (place.strangers if viewer.is_bot else frozenset()))


def _acquaintance(viewer: Viewer, place: Acquaintance) -> Grant | None:
    """Open introductions: an agent's to the agent, a user's to the user, who may change them, all to the owner."""
    if viewer.agent is None and viewer.user is None:
        return _everywhere(viewer, WholeTenant())
    if viewer.agent not in {None, place.agent} or (place.user is not None and viewer.user not in {None, place.user}):
        return None
    label = introduction_run(place.agent, viewer.user or place.user)
    decides = place.user is not None and viewer.user == place.user and not viewer.is_bot and viewer.role in _WRITERS
    return Grant(viewer.tenant_id, frozenset({label}), writes=label if decides else None)


def _agent_files(viewer: Viewer, files: AgentFiles) -> Grant | None:
    """Open an agent's tree to the agent, which all its users share: written only where it acts for none of them."""
    if viewer.agent is None and viewer.user is None:
        return _everywhere(viewer, WholeTenant())
    if viewer.agent != files.agent or viewer.is_person:
        return None
    writes = files.run_id if viewer.role in _WRITERS and viewer.user is None else None
    return Grant(viewer.tenant_id, frozenset({files.run_id}), visibilities=frozenset({"shared"}), writes=writes)


def _user_files(viewer: Viewer, files: UserFiles) -> Grant | None:
    if viewer.agent is None and viewer.user is None:
        return _everywhere(viewer, WholeTenant())
    if not _is_own(viewer, files):
        return None
    return Grant(
        viewer.tenant_id, frozenset({files.run_id}), visibilities=frozenset({"private"}), private_to=files.user,
        writes=files.run_id if viewer.role in _WRITERS else None,
    )  # fmt: skip


def _items(viewer: Viewer, place: ItemOwner) -> Grant | None:
    """Open the items of exactly those for whom the viewer acts; the tenant's owner names an agent or a user, too."""
    if (viewer.agent, viewer.user) != (place.agent, place.user):
        return None
    if viewer.is_bot and place.user is not None and not place.introduced:
        return None
    label = items_run(place.agent, place.user)
    writes = label if viewer.role in _WRITERS else None
    return Grant(viewer.tenant_id, frozenset({label}), visibilities=frozenset({"shared"}), writes=writes)


def _everywhere(viewer: Viewer, _: WholeTenant) -> Grant | None:
    if viewer.role != "admin" or viewer.agent is not None or viewer.user is not None:
        return None
    return Grant(viewer.tenant_id, everything=True)


_RULES: dict[tuple[type, str], Callable[[Viewer, Any], Grant | None]] = {
    (Place, "room"): _room,
    (Place, "direct"): _direct,
    (Place, "session"): _session,
    (AgentSessions, "across"): _across,
    (OwnPlaces, "roster"): _roster,
    (Acquaintance, "acquaintance"): _acquaintance,
    (AgentFiles, "agent files"): _agent_files,
    (UserFiles, "user files"): _user_files,
    (ItemOwner, "items"): _items,
    (WholeTenant, "everywhere"): _everywhere,
}


def _open(viewer: Viewer, place: Place, *more: str, sessions_of: str | None = None) -> Grant:
    """Open the place itself, its project's shared knowledge, the tenant's, and what else its rule names."""
    project = frozenset({project_run(place.project.id)} if place.project else ())
    tenant = () if place.project and place.project.isolated else (GLOBAL_RUN,)
    reach = project.union((place.run_id, *more), tenant)
    writes = place.run_id if viewer.role in _WRITERS else None
    broad = sessions_of is not None and place.project is not None and place.project.sessions > FEW_SESSIONS
    shares = project if writes else frozenset()
    return Grant(
        viewer.tenant_id, reach, sessions_of, visibilities=_OPEN, writes=writes, is_broad=broad, shares=shares,
        vouches=writes is not None and not viewer.is_bot, owner=is_owner(viewer),
    )  # fmt: skip


def _with_own_lines(grant: Grant, place: Place) -> Grant:
    """Open the lines of the one person who is there."""
    if not (_profile(place) and place.user):
        return grant
    return _with_lines(grant, frozenset({place.user}), place.run_id, place.agent, place.settings, of_theirs=True)


def _with_lines(
    grant: Grant, people: frozenset[str], run_id: str | None, agent: str, settings: TenantSettings | None,
    *, of_theirs: bool,
) -> Grant:  # fmt: skip
    if settings is None:
        return grant
    return replace(
        grant,
        profiles_of=people,
        lines_in=frozenset({run_id} if run_id else ()),
        lines_of_theirs=of_theirs,
        lines_to=agent if settings.profile_per_agent else None,
    )


def _profile(place: Place) -> set[str]:
    if place.user is None or (place.project and place.project.isolated):
        return set()
    return {profile_run(place.user)}


def _rooms(place: Place) -> frozenset[str]:
    """Return the rooms that a direct conversation reads, in which both of it sit; a room never reads the reverse."""
    is_isolated = place.project is not None and place.project.isolated
    reads_rooms = place.settings is not None and place.settings.direct_reads_rooms
    return place.rooms if reads_rooms and not is_isolated else frozenset()


def _is_in(who: str | None, participants: frozenset[str]) -> bool:
    return who is None or who in participants


def _is_own(viewer: Viewer, place: Place | UserFiles) -> bool:
    return viewer.user in {None, place.user} and viewer.agent in {None, place.agent} and _is_known(viewer, place)


def is_owner(viewer: Viewer) -> bool:
    """Tell whether the viewer may read all of the tenant: an admin who is bound to no agent and no user."""
    return viewer.role == "admin" and viewer.bound_to == "nobody"


def _is_known(viewer: Viewer, place: Place | AgentSessions | UserFiles) -> bool:
    """Tell whether the caller may act with the place's user: an agent's own key only once they were introduced."""
    return not viewer.is_bot or place.user is None or place.introduced
