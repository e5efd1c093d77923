"""The shapes of bodies and queries about memories."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError, to_json

from keepword.answers import Feedback, Memory, MemoryType
from keepword.http.schemas import Body, Moment, Name, Slug, Time
from keepword.memories.filters import FIELDS
from keepword.transcript.page import MAX_LIMIT

MAX_QUERY_CHARS = 4_000
MAX_TALK_CHARS = 64 * 1024
# candidates of a search before its filter applies
MAX_FOUND = 50
Share = Annotated[float, Field(ge=0, le=1)]
MAX_METADATA_BYTES = 16 * 1024
MAX_CATEGORIES = 20


def _bounded_metadata(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if value and (size := len(to_json(value))) > MAX_METADATA_BYTES:
        limits = {"size": size, "limit": MAX_METADATA_BYTES}
        raise PydanticCustomError("too_large", "{size} bytes; at most {limit}", limits)
    return value


Metadata = Annotated[dict[str, JsonValue], AfterValidator(_bounded_metadata)]
Categories = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]],
    Field(max_length=MAX_CATEGORIES),
    AfterValidator(lambda categories: sorted(set(categories))),
]


def _query(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; to read in time order, list instead")
    if len(text) > MAX_QUERY_CHARS:
        raise ValueError(f"has {len(text)} characters; at most {MAX_QUERY_CHARS}")
    return text


class AddMemory(Body):
    """A memory to keep in a conversation's place, or of a project: then in all of the project's places."""

    conversation: Name | None = Field(
        None, description="in whose place; with a project, an unbound admin may leave it out"
    )
    project: Name | None = Field(None, description="keep it for this project, as project:<id>, shared, of no user")
    content: str = Field(description="one sentence that can be understood alone, up to 8 KiB")
    type: MemoryType = "fact"
    importance: Share | None = Field(None, description="default: as its type says")
    confidence: Share = 1.0
    user: Name | None = Field(None, description="whom it is from; default: the conversation's user")
    agent: Slug | None = Field(None, description="default: the conversation's agent")
    sources: list[UUID] = Field(default_factory=list, max_length=100, description="the messages that it comes from")
    metadata: Metadata = Field(default_factory=dict)
    categories: Categories = Field(default_factory=list)
    expires_at: Time | None = Field(None, description="from then on it is found and shown no more")

    @model_validator(mode="after")
    def _belongs_somewhere(self) -> "AddMemory":
        if self.conversation is None and self.project is None:
            raise ValueError("say where it belongs, with conversation or project")
        if self.project is not None and (self.user is not None or self.sources):
            raise ValueError("a project's memory is of no user and has no sources; leave out user and sources")
        return self


class ChangeMemory(Body):
    content: str | None = None
    type: MemoryType | None = None
    importance: Share | None = None
    confidence: Share | None = None
    metadata: Metadata | None = Field(None, description="as a whole; null empties it")
    categories: Categories | None = Field(None, description="as a whole; null empties them")
    expires_at: Time | None = Field(None, description="null takes the end away")


class RateMemory(Body):
    feedback: Feedback | None = Field(description="null takes it back")
    reason: Annotated[str, Field(max_length=2000)] | None = None


class QueryMemories(Body):
    """Which memories to list: those that pass the filters, in the order in which they became valid."""

    filters: dict[str, JsonValue] = Field(
        description="a tree: fields, which all have to match, and AND, OR, NOT over further trees. Fields: "
        f"{', '.join(FIELDS)}. A value is compared for equality, an object by its operators: eq, ne, in, exists, "
        "contains, gt, gte, lt, lte. Without state, only what is valid; {} is all of that",
    )
    conversation: Name | None = Field(None, description="in whose place to read; an unbound admin may leave it out")
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, description="a page's next")


class DeleteMemories(Body):
    """Which memories to delete: those that pass the filters and may be written here."""

    filters: dict[str, JsonValue] = Field(min_length=1, description="as in a query; {} is refused")
    conversation: Name | None = Field(None, description="in whose place; an unbound admin may leave it out")
    dry_run: bool = Field(False, description="only count them")


class MemoryFilter(Body):
    run_id: str | Annotated[list[str], Field(min_length=1, max_length=100)] | None = Field(
        None, description="only of this place, or of these"
    )
    type: list[MemoryType] | None = Field(None, min_length=1, max_length=6)

    def passes(self, memory: Memory) -> bool:
        run_ids = [self.run_id] if isinstance(self.run_id, str) else self.run_id
        return (self.type is None or memory.type in self.type) and (run_ids is None or memory.run_id in run_ids)


class SearchMemories(Body):
    """What to look for. Without a conversation: what this agent knows of this user, across their conversations."""

    query: Annotated[str, AfterValidator(_query)]
    user_id: Name | None = None
    agent_id: Slug | None = None
    filter: MemoryFilter = Field(default_factory=MemoryFilter)
    conversation: Name | None = Field(None, description="in whose place to search")
    as_of: Moment | None = Field(None, description="what was valid then, by its words alone")
    limit: int = Field(10, ge=1, le=MAX_FOUND)


class SemanticQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(None, description="in whose place to read; an unbound admin may leave it out")
    type: MemoryType | None = None
    user: Name | None = Field(None, description="only what is from this user")
    agent: Slug | None = None
    as_of: Moment | None = Field(None, description="what was valid then; default: what is valid now")
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, min_length=1, max_length=100, description="a page's next")


class PlaceQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(
        None, description="in whose place; a project's memory needs one, unless an unbound admin asks"
    )


class VersionsQuery(PlaceQuery):
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: Annotated[str, Field(pattern="^[1-9][0-9]{0,8}$")] | None = Field(None, description="a page's next")


class TryExtraction(Body):
    """A talk to try extraction on: lines such as `Ann: I moved to Oslo.`, or the words of one person."""

    text: str = Field(max_length=MAX_TALK_CHARS, description="up to 65,536 characters and 500 messages")
    user: Name = Field("user", description="who said what stands before the first name")
    agent: Slug = Field("assistant", description="who speaks under this name, and under words such as `Assistant`")
    at: Time | None = Field(None, description="when it was said; default: now")
    model: bool = Field(False, description="also ask the configured language model")
    agents_word: bool | None = Field(None, description="also what agents say; default: as the tenant's setting says")
