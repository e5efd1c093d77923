"""What every reader of a history yields, in the words of its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

ThreadKind = Literal["session", "direct", "room"]
Role = Literal["user", "assistant", "system", "tool"]

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who speaks. `id` is what messages name them by; `is_owner`: it is their export."""

    id: str
    name: str | None = None
    handle: str | None = None
    is_bot: bool = False
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation of the source, before its messages.

    `members` are those who may read it; None: whoever speaks. `project` is an id, `folder` one on the machine where a
    coding agent worked.
    """

    id: str
    kind: ThreadKind = "session"
    title: str | None = None
    members: tuple[str, ...] | None = None
    project: str | None = None
    project_name: str | None = None
    folder: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message. `author` is a person's id; None is the owner for role user, the agent for others.

    `edited` tells one version of a message from another, where the source says that it was edited.
    """

    thread: str
    id: str
    role: Role
    text: str = ""
    author: str | None = None
    at: datetime | None = None
    tool_name: str | None = None
    tool_args: Any = None
    tool_result: str | None = None
    call_id: str | None = None
    attachments: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    edited: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryMemory:
    """A sentence that another memory keeps, without the words that it came from."""

    id: str
    text: str
    thread: str
    at: datetime | None = None
    author: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that was not imported, or not as it was: `what` is counted by its words, `where` names an example."""

    what: str
    where: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A block of memory that an agent keeps in its prompt."""

    agent: str
    name: str
    content: str


Record = Person | Thread | HistoryMessage | HistoryMemory | HistoryFile | Omission


def from_epoch(value: Any) -> datetime | None:
    """Return the time of seconds since 1970, also written as text; None for what is none.

    One beyond the calendar is its first or last moment, so that whoever reads it can say that it can't be.
    """
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    try:
        return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)  # noqa: PLR2004 - milliseconds
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)


def from_iso(value: Any) -> datetime | None:
    """Return a written time; without a zone it is UTC."""
    try:
        parsed = datetime.fromisoformat(value)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of a source's JSON, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list of a source's JSON, an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


def given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}
