"""Whom and what mem0's clients name: a user, an agent, an app and a run, and the session that the four stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from keepword.access import Viewer
from keepword.answers import Memory
from keepword.errors import Forbidden, InvalidInput
from keepword.model import MAX_NAME_CHARS, check_name, check_slug

PREFIX = "mem0:"
KINDS = ("user", "agent", "app", "run")
_COLONS = 5


@dataclass(frozen=True, slots=True)
class Entities:
    user: str | None = None
    agent: str | None = None
    app: str | None = None
    run: str | None = None

    @classmethod
    def checked(cls, user: str | None, agent: str | None, app: str | None, run: str | None) -> Self:
        """Raise InvalidInput for a name that can't be one here."""
        for what, value in (("user_id", user), ("app_id", app), ("run_id", run)):
            if value is not None:
                check_name(value, what)
        if agent is not None:
            check_slug(agent, "agent_id")
        return cls(user, agent, app, run)

    @property
    def session(self) -> str:
        """Return the external id of their session; sql/code/68_mem0.sql reads the same form."""
        name = PREFIX + ":".join(_written(one) for one in (self.user, self.agent, self.app, self.run))
        if len(name) > MAX_NAME_CHARS:
            raise InvalidInput(
                f"user_id, agent_id, app_id and run_id have {len(name) - len(PREFIX)} characters together; at most "
                f"{MAX_NAME_CHARS - len(PREFIX)}",
                "user_id",
            )
        return name

    def by(self, viewer: Viewer) -> "Entities":
        """Fill in whom the caller acts for. Raises Forbidden if it acts for another."""
        for what, named, own in (("user_id", self.user, viewer.user), ("agent_id", self.agent, viewer.agent)):
            if own is not None and named not in {None, own}:
                raise Forbidden(f"{what} is {named!r}, and this key speaks for {own!r} alone")
        return Entities(self.user or viewer.user, self.agent or viewer.agent, self.app, self.run)

    def shown(self) -> dict[str, str | None]:
        return {"user_id": self.user, "agent_id": self.agent, "app_id": self.app, "run_id": self.run}


def of_memory(memory: Memory) -> Entities:
    """Return whom a memory is of; what was said in another conversation than mem0's has that as its run."""
    name = memory.conversation
    if name is None or not name.startswith(PREFIX):
        return Entities(memory.user, memory.agent, None, name)
    _, _, agent, app, run, *_ = (*name.split(":"), *[""] * _COLONS)
    return Entities(memory.user, _read(agent), _read(app), _read(run))


def session_of(body: Mapping[str, Any]) -> str:
    """Return the session that an add is about, before it is known whether the names can be any; "" where none is named.

    A key that speaks for somebody may fill in who is missing, which makes it another session.
    """
    named = [value if isinstance(value := body.get(f"{kind}_id"), str) else None for kind in KINDS]
    try:
        return Entities(*named).session if any(named) else ""
    except InvalidInput:
        return ""


def _written(part: str | None) -> str:
    return (part or "").replace("%", "%25").replace(":", "%3A")


def _read(part: str) -> str | None:
    return part.replace("%3A", ":").replace("%25", "%") or None
