"""Where an agent speaks, as it is at this moment: the facts that a grant is decided from."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from keepword.access.settings import TenantSettings
from keepword.model import Kind, Reach, SessionReach, Visibility

FEW_SESSIONS = 64
GLOBAL_RUN = "global"  # what the whole tenant shares; no other label lacks a colon


def room_run(room: str) -> str:
    return f"room:{room}"


def direct_run(user: str, agent: str) -> str:
    # an agent's id holds no colon, so the last one always separates the two
    return f"dm:{user}:{agent}"


def session_run(external_id: str) -> str:
    return f"session:{external_id}"


def profile_run(user: str) -> str:
    return f"profile:{user}"


def project_run(project: str) -> str:
    return f"project:{project}"


def introduction_run(agent: str, user: str | None = None) -> str:
    """Return the label of the agent's introductions: to one user, or to all."""
    return f"introduced:{agent}" if user is None else f"introduced:{agent}:{user}"


def items_run(agent: str | None, user: str | None) -> str:
    # an agent's id holds no colon, so the first one after the word always separates the two
    return f"items:{agent or ''}:{user or ''}"


@dataclass(frozen=True, slots=True)
class Project:
    """`sessions` is how many it has now, counted up to FEW_SESSIONS + 1: it chooses the query plan, not the rights."""

    id: str
    isolated: bool
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation's place. `users` and `agents` are the room's participants now, empty elsewhere.

    `settings` are the tenant's; while they are not known, no line of a profile is shown.
    `agent_open`: nobody named the session's agent yet. `alias` is the name it was asked by, if that is a further one.
    `chosen_reach` was chosen for the session, `asked_reach` is what one call asks for. `rooms` are those in which both
    of a direct conversation sit now, outside isolated projects.
    `introduced`: the user of a session or direct conversation is introduced to its agent now. `by_bound_key`: a key
    that is bound to an agent or a user made the conversation.
    """

    kind: Kind
    external_id: str
    agent: str
    user: str | None = None
    room: str | None = None
    project: Project | None = None
    users: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    conversation_id: UUID | None = None
    settings: TenantSettings | None = None
    agent_open: bool = False
    alias: str | None = None
    introduced: bool = False
    by_bound_key: bool = False
    chosen_reach: SessionReach | None = None
    asked_reach: Reach | None = None
    rooms: frozenset[str] = frozenset()

    @property
    def run_id(self) -> str:
        if self.kind == "room":
            return room_run(self.room or "")
        if self.kind == "direct":
            return direct_run(self.user or "", self.agent)
        return session_run(self.external_id)

    @property
    def reach(self) -> Reach:
        """Which sessions are read here: the first that is wanted and possible of the call's, the project's and so on.

        `own` is this place alone, `user` all sessions of its user with its agent outside isolated projects, `project`
        those of its project.
        """
        default = self.settings.session_reach if self.settings else None
        wishes: tuple[Reach | None, ...] = (
            self.asked_reach, "project" if self.project else None, self.chosen_reach, default,
        )  # fmt: skip
        for wanted in wishes:
            if wanted is not None and self._can_reach(wanted):
                return wanted
        return "own"

    def _can_reach(self, reach: Reach) -> bool:
        if self.kind != "session" or reach == "own":
            return reach == "own"
        if reach == "project":
            return self.project is not None
        return self.user is not None and self.project is None

    @property
    def visibility(self) -> Visibility:
        return "private" if self.kind == "direct" else "public"


@dataclass(frozen=True, slots=True)
class WholeTenant:
    """Not one place but the whole tenant, for its owner and for admin tools."""

    kind: Literal["everywhere"] = "everywhere"


@dataclass(frozen=True, slots=True)
class AgentSessions:
    """One agent's sessions, of one user or of all, outside isolated projects. `settings` as in a Place.

    `introduced`: the one user is introduced to the agent now. `strangers` are the sessions whose users are not.
    """

    agent: str
    user: str | None
    sessions: frozenset[str] = frozenset()
    settings: TenantSettings | None = None
    introduced: bool = False
    strangers: frozenset[str] = frozenset()
    kind: Literal["across"] = "across"


@dataclass(frozen=True, slots=True)
class OwnPlaces:
    """The places that a viewer is in, by run_id: for listing conversations, not for what was said in them.

    `strangers` are those of them whose users are not introduced to their agents.
    """

    run_ids: frozenset[str]
    strangers: frozenset[str] = frozenset()
    kind: Literal["roster"] = "roster"


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """The introductions of an agent: of one user, or of all. No words are read or written here."""

    agent: str
    user: str | None = None
    kind: Literal["acquaintance"] = "acquaintance"


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """An agent's own tree of files."""

    agent: str
    kind: Literal["agent files"] = "agent files"

    @property
    def run_id(self) -> str:
        return f"agent:{self.agent}"


@dataclass(frozen=True, slots=True)
class UserFiles:
    """A user's tree of files with an agent. `introduced`: the agent's own key may act with the user."""

    user: str
    agent: str
    introduced: bool = False
    kind: Literal["user files"] = "user files"

    @property
    def run_id(self) -> str:
        return f"files:{self.user}:{self.agent}"


@dataclass(frozen=True, slots=True)
class ItemOwner:
    """Whose items: an agent's, a user's, those of an agent with one user, or of keys that name neither.

    `introduced`: the user is introduced to the agent now.
    """

    agent: str | None
    user: str | None
    introduced: bool = False
    kind: Literal["items"] = "items"
