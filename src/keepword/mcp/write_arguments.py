"""The arguments of the tools that write, and of the facts that they write."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from keepword.answers import FactType, LandmarkKind, MemoryType, ScopeKind
from keepword.mcp.arguments import Arguments

# a fact is a place's, or one that a conversation's place opens
Conversation = Annotated[
    str | None,
    Field(description="Id of the conversation; leave it out to use the one that this server was set up with."),
]
_EXPIRES = "When it stops being true, ISO 8601 with a zone such as 2026-01-31T09:00:00Z"
_UNDO = "Take back an earlier call of this tool for the same thing."
_SCOPE = "Whose fact it is: user, project, room, or global (the whole workspace)."
_SCOPE_ID = "The id of that user, project or room; leave it out for global."
_KEY = "The fact's key, such as timezone or opening_date."


class Add(Arguments):
    content: str = Field(description="What to keep, word for word.")
    conversation: Conversation = None
    kind: Literal["statement", "message"] = Field(
        "statement",
        description="statement: remember this one sentence, with who and what in it, so that it is understood without "
        "its context. message: append it to the conversation as something that was said.",
    )
    role: Literal["user", "assistant"] | None = Field(None, description="Of a message: who said it; default: user.")
    event_id: str | None = Field(None, description="Of a message: makes a retry store nothing twice.")
    type: MemoryType | None = Field(None, description="Of a statement; default: fact.")
    project: str | None = Field(None, description="Of a statement: keep it for all places of this project.")
    categories: list[str] | None = Field(None, description="Of a statement: labels to filter by, such as travel.")
    metadata: dict[str, JsonValue] | None = Field(None, description="Further values to keep with it, as JSON.")
    expires_at: str | None = Field(None, description=f"Of a statement. {_EXPIRES}.")


class Update(Arguments):
    memory: str = Field(description="Id of the memory, as memory_search and memory_add tell it.")
    content: str | None = Field(None, description="What it says from now on; what it said stays in its history.")
    type: MemoryType | None = Field(None, description="What kind of memory it is from now on.")
    categories: list[str] | None = Field(None, description="All its labels from now on.")
    metadata: dict[str, JsonValue] | None = Field(None, description="All its further values from now on.")
    expires_at: str | None = Field(None, description=f"{_EXPIRES}, or never.")
    conversation: Conversation = None


class Forget(Arguments):
    memory: str | None = Field(None, description="Id of the memory to delete.")
    conversation: Conversation = None
    seq: int | None = Field(
        None, ge=1, description="Instead of a memory: number of the message in the conversation to retract. It is then "
        "found and shown no more, and neither is what was derived from it alone.",
    )  # fmt: skip
    reason: str | None = Field(None, description="Why a message is retracted.")
    undo: bool = Field(False, description=_UNDO)


class FactSet(Arguments):
    key: str = Field(description=_KEY)
    value: JsonValue = Field(None, description="The value, any JSON. Not needed with remove.")
    scope_kind: ScopeKind = Field(description=_SCOPE)
    scope_id: str | None = Field(None, description=_SCOPE_ID)
    type: FactType | None = Field(None, description="Declare what later values must be.")
    remove: bool = Field(False, description="Delete the fact instead; its history stays.")
    conversation: Conversation = None


class FactGet(Arguments):
    scope_kind: ScopeKind | None = Field(None, description=f"{_SCOPE} Leave it out for all that may be read here.")
    scope_id: str | None = Field(None, description=_SCOPE_ID)
    key: str | None = Field(None, description=f"{_KEY} Leave it out for all facts of the scope.")
    limit: int = Field(50, ge=1, le=200, description="How many at most.")
    cursor: str | None = Field(None, description="next of an earlier page, to go on from there.")
    conversation: Conversation = None


class Pin(Arguments):
    conversation: Conversation = None
    seq: int | None = Field(None, ge=1, description="Number of the message in the conversation.")
    text: str | None = Field(None, description="The part of the message to pin, word for word; default: all of it.")
    kind: LandmarkKind = Field("pin", description="What it is; default: pin.")
    landmark: str | None = Field(None, description="Id of the landmark to unpin, with undo.")
    undo: bool = Field(False, description=_UNDO)

    def given(self) -> dict[str, Any]:
        return super().given() | {"kind": self.kind}
