"""The ports of the transcript. Nothing is read without a Grant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from keepword.access import AgentSessions, Grant, OwnPlaces, Place, Project, TenantSettings
from keepword.embedding import Entry
from keepword.model import Conversation, Draft, Message, Receipt, Role
from keepword.slices import Runner, in_thread

# a time, and what breaks a tie: seq in one conversation, the id as a number across several
Position = tuple[datetime, int]
# a page ends after the message that reaches this size
PAGE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MessageRange:
    """A part of a conversation between two positions (exclusive) and two times, read from one of its ends.

    `agent`, `user` and `role` leave out what others said; None does not restrict.
    """

    limit: int
    backward: bool = False
    after: Position | None = None
    until: Position | None = None
    since: datetime | None = None
    before: datetime | None = None
    agent: str | None = None
    user: str | None = None
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class MessageSlice:
    """Messages of a span; `is_cut` if PAGE_BYTES ended them, and there are more."""

    messages: list[Message]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A draft ready to be stored: its id, its entries, and the digest that tells a retry of an event."""

    draft: Draft
    id: UUID
    digest: bytes | None
    entries: tuple[Entry, ...] = ()


class TextIndexer(Protocol):
    """Reads a text once for everything that the index needs."""

    def index_entry(self, text: str, salts: Iterable[str], part: int = 0, *, whole: bool = True) -> Entry: ...


class Transcript(Protocol):
    async def append(self, grant: Grant, place: Place, messages: Sequence[PreparedMessage]) -> list[Receipt]: ...

    async def page(self, grant: Grant, place: Place, span: MessageRange) -> MessageSlice: ...

    async def browse(self, grant: Grant, span: MessageRange) -> MessageSlice: ...


class MessageBuffer(Protocol):
    """A cache of the last messages of a place."""

    def note(self, grant: Grant, place: Place, messages: Sequence[Message]) -> None:
        """Take over messages that were just committed, without waiting; losing them makes no read wrong."""
        ...


@dataclass(frozen=True, slots=True)
class AppendOptions:
    """`run` indexes long texts in another process; without a `buffer`, the next reader fills it from the transcript."""

    run: Runner = in_thread
    buffer: MessageBuffer | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The agent and the user that a session is given; None leaves them as they are. `key_id` gives them."""

    agent: str | None
    user: str | None
    despite_messages: bool
    key_id: str | None


class Conversations(Protocol):
    async def get(self, grant: Grant, external_id: str) -> Conversation | None: ...

    async def insert(
        self, grant: Grant, place: Place, fields: dict[str, Any], made_by: str | None
    ) -> Conversation | None:
        """Return the new one; None if the external id, or the direct conversation of the two, is already there.

        It introduces its user to its agent where the grant vouches for the user. `made_by` is a key.
        """
        ...

    async def assign(self, grant: Grant, place: Place, assignment: Assignment) -> bool:
        """Give a session its missing agent or user; False if it has another, or if its messages forbid a user."""
        ...

    async def add_alias(self, grant: Grant, place: Place, alias: str) -> bool:
        """Let a direct conversation be found by a further name; False if that is another conversation's."""
        ...

    async def make_user(self, grant: Grant, user: str) -> None:
        """Make a user whom nobody announced; an existing one stays as it is."""
        ...

    async def update(self, grant: Grant, external_id: str, fields: dict[str, Any]) -> Conversation | None: ...

    async def list(self, grant: Grant, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[Conversation]: ...


class PlaceLookup(Protocol):
    """The facts that grants are decided from: ids only, before there is a grant."""

    async def place(self, tenant_id: UUID, external_id: str) -> Place | None: ...

    async def room(self, tenant_id: UUID, room: str) -> Place | None:
        """Return the room as a place without a conversation."""
        ...

    async def project(self, tenant_id: UUID, project: str) -> Project | None: ...

    async def derived(self, tenant_id: UUID, id_: UUID) -> str | None:
        """Return the conversation that a summary or a landmark belongs to."""
        ...

    async def direct(self, tenant_id: UUID, user: str, agent: str) -> str | None: ...

    async def is_user(self, tenant_id: UUID, user: str) -> bool: ...

    async def is_introduced(self, tenant_id: UUID, agent: str, user: str) -> bool: ...

    async def roster(self, tenant_id: UUID, agent: str | None, user: str | None) -> OwnPlaces: ...

    async def across(self, tenant_id: UUID, agent: str, user: str | None) -> AgentSessions:
        """Return the agent's sessions outside isolated projects, of one user or of all, without settings."""
        ...

    async def settings(self, tenant_id: UUID) -> TenantSettings | None: ...

    async def change_settings(self, grant: Grant, changes: dict[str, Any]) -> TenantSettings:
        """Change some settings of the tenant; needs the grant of its owner."""
        ...
