"""Conversations and messages, and where they are: users, agents, rooms, projects."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from keepword.model import Conversation, KeyRole, Message, Receipt, Role


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """`agent` and `user` are whom this request acts for."""

    tenant: str
    role: KeyRole
    key: Annotated[str | None, Field(description="the id of the key, which is no secret; null without one")]
    agent: str | None
    user: str | None
    owner: Annotated[bool, Field(description="whether this request may read and manage the whole tenant")]


@dataclass(frozen=True, slots=True)
class Receipts:
    """The messages stored, in the order given."""

    messages: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Cursors are null where there is nothing more in that direction now."""

    messages: tuple[Message, ...]
    next: str | None
    previous: str | None


@dataclass(frozen=True, slots=True)
class ConversationPage:
    conversations: tuple[Conversation, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class BufferedMessage:
    """A message as the buffer shows it: who, when, what."""

    id: UUID
    conversation: str
    seq: int
    role: Role
    user: str | None
    agent: str | None
    ts: datetime
    text: str
    tool_name: str | None
    tool_args: Any
    tool_result: str | None
    attachments: tuple[Any, ...]
    tool_call_id: str | None


@dataclass(frozen=True, slots=True)
class Buffer:
    """The newest is last."""

    messages: tuple[BufferedMessage, ...]


@dataclass(frozen=True, slots=True)
class RetractedMessage:
    """A message that is retracted, and since when."""

    conversation: str
    id: UUID
    seq: int
    retracted_at: datetime


@dataclass(frozen=True, slots=True)
class User:
    id: str
    name: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class UserPage:
    users: tuple[User, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Agent:
    """`context_window` is in tokens."""

    slug: str
    name: str | None
    context_window: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AgentPage:
    agents: tuple[Agent, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class IntroducedUser:
    """A user who is introduced to an agent. `introduced_by` is a key, None if nobody knows it any more."""

    user: str
    introduced_by: str | None
    introduced_at: datetime


@dataclass(frozen=True, slots=True)
class IntroducedPage:
    users: tuple[IntroducedUser, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One version; without content it says that the file was deleted."""

    name: str
    version: int
    content: str | None
    written_at: datetime


@dataclass(frozen=True, slots=True)
class AgentFiles:
    files: tuple[AgentFile, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]


@dataclass(frozen=True, slots=True)
class FileVersions:
    """The newest is first."""

    versions: tuple[AgentFile, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]


@dataclass(frozen=True, slots=True)
class Room:
    id: str
    name: str | None
    project: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RoomPage:
    rooms: tuple[Room, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Participants:
    users: tuple[str, ...]
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str | None
    isolated: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectPage:
    projects: tuple[Project, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Members:
    """The conversations (sessions and direct ones) and rooms that are in a project now."""

    conversations: tuple[str, ...]
    rooms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectPut:
    """What a put of a project did: `opened` are the members that an isolated project no longer shields."""

    project: Project
    made: bool
    opened: Members
