"""The frozen values that the rooms share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from keepword.errors import InvalidInput

Role = Literal["user", "assistant", "system", "tool"]
KeyRole = Literal["admin", "agent", "reader"]
Kind = Literal["room", "direct", "session"]
Visibility = Literal["public", "private", "shared"]
# what a session reads; in a project it is always `project`
SessionReach = Literal["own", "user"]
Reach = Literal["own", "user", "project"]

KEYLESS_ID = "none"  # of the key that stands for a caller on loopback without one
MAX_NAME_CHARS = 200
MAX_SLUG_CHARS = 100


def check_name(value: str, field_name: str) -> str:
    """Names are chosen by callers and stand in paths and run_ids: no slash, no control character, no edge blanks."""
    if not 1 <= len(value) <= MAX_NAME_CHARS:
        raise InvalidInput(f"{field_name} must have 1 to {MAX_NAME_CHARS} characters, not {len(value)}", field_name)
    if value in {".", ".."} or "/" in value or value != value.strip() or not value.isprintable():
        raise InvalidInput(
            f"{field_name} {value!r} may not hold a slash, a control character or blanks at its ends",
            field_name,
        )
    # what is left of bytes that are no UTF-8: two different ids must not become one
    if "\ufffd" in value:
        raise InvalidInput(f"{field_name} {value!r} was not sent as UTF-8", field_name)
    return value


def check_slug(value: str, field_name: str) -> str:
    """Check an agent's id: a name of at most 100 characters without a colon; upper and lower case differ."""
    if len(value) > MAX_SLUG_CHARS:
        raise InvalidInput(f"{field_name} must have 1 to {MAX_SLUG_CHARS} characters, not {len(value)}", field_name)
    if ":" in value:  # it separates user and agent in a run_id
        raise InvalidInput(
            f"{field_name} {value!r} may not hold a colon; '_', '.', '-' and blanks inside may", field_name
        )
    return check_name(value, field_name)


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as a caller hands it in. `created_at` None means: when it is stored."""

    role: Role
    content: str = ""
    user: str | None = None
    agent: str | None = None
    tool_name: str | None = None
    tool_args: Any = None
    tool_result: str | None = None
    attachments: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    event_id: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an append answers for one message."""

    id: UUID
    seq: Annotated[int, Field(description="counts from 1 inside the conversation")]
    created_at: datetime
    duplicate: Annotated[bool, Field(description="true if this event was stored before")]


@dataclass(frozen=True, slots=True)
class Retraction:
    """Who took a message back, when and why. Of one that was erased, nothing can be given back."""

    by: str | None
    at: datetime
    reason: str | None = None
    erased_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Message:
    id: UUID
    conversation: str
    seq: int
    role: Role
    user: str | None
    agent: str | None
    content: str
    tool_name: str | None
    tool_args: Any
    tool_result: str | None
    attachments: Sequence[Any]
    metadata: dict[str, Any]
    event_id: str | None
    created_at: datetime
    retracted: Annotated[
        Retraction | None, Field(description="set if it was taken back; such a message is shown to the owner alone")
    ] = None


@dataclass(frozen=True, slots=True)
class StoredMessage(Message):
    """A message that an append stored, or had stored before: then it is a duplicate."""

    duplicate: bool = False

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.id, self.seq, self.created_at, self.duplicate)


@dataclass(frozen=True, slots=True)
class Conversation:
    id: UUID
    external_id: str
    kind: Kind
    run_id: str
    visibility: Visibility
    user: str | None
    agent: str
    room: str | None
    project: str | None
    channel: str
    channel_id: str | None
    bot_identity: str | None
    title: str | None
    settings: dict[str, Any]
    active: bool
    reach: Annotated[
        SessionReach | None, Field(description="what was chosen for the session; null: what the tenant chose")
    ]
    message_count: int
    created_at: datetime
    updated_at: datetime
    alias: Annotated[
        str | None, Field(description="the name asked for, where that is a further one of external_id")
    ] = None


@dataclass(frozen=True, slots=True)
class Key:
    """What a key proves. A bound agent or user can't be exchanged for another by the request."""

    id: str
    tenant_id: UUID
    tenant: str
    role: KeyRole
    agent: str | None = None
    user: str | None = None
    # what its tenant chose
    audits_reads: bool = False
    time_zone: str | None = None
