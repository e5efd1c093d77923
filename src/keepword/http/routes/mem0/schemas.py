"""The shapes of what mem0's clients send. What Keepword has no use for is left out, as mem0 itself does."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from keepword.errors import InvalidInput
from keepword.http.memory_schemas import Categories, Metadata
from keepword.transcript import MAX_BATCH
from keepword.webhooks.events import MAX_URL_CHARS

MAX_TOP_K = 1_000
MAX_PAGE = 200
Tree = dict[str, JsonValue]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Sent(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Mem0Message(Sent):
    role: str
    content: JsonValue = ""


class Mem0Add(Sent):
    messages: str | Mem0Message | Annotated[list[Mem0Message], Field(min_length=1, max_length=MAX_BATCH)]
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: Metadata | None = None
    categories: Categories | None = None
    infer: bool | None = Field(None, description="false: keep each message as a memory, at once and as it is")
    timestamp: Number | None = Field(None, description="when it was said, in Unix seconds")
    expiration_date: str | None = Field(None, description="the last day, as 2024-01-31")


class Mem0Selection(Sent):
    """Which memories: by a tree of filters, or in older clients by names at the top."""

    filters: Tree | None = None
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    categories: list[str] | None = None
    metadata: dict[str, JsonValue] | None = None
    keywords: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    show_expired: bool | None = None
    fields: list[str] | None = None
    output_format: str | None = None

    def tree(self) -> dict[str, Any]:
        """Return all of it as one tree."""
        parts: list[dict[str, Any]] = [dict(self.filters)] if self.filters else []
        names = ("user_id", "agent_id", "app_id", "run_id")
        parts += [{name: value} for name in names if (value := getattr(self, name)) is not None]
        if self.categories:
            parts.append({"categories": {"in": self.categories}})
        if self.metadata:
            parts.append({"metadata": self.metadata})
        if self.keywords:
            parts.append({"keywords": {"contains": self.keywords}})
        dates = {"gte": self.start_date, "lte": self.end_date}
        if given := {operator: day for operator, day in dates.items() if day is not None}:
            parts.append({"created_at": given})
        return parts[0] if len(parts) == 1 else {"AND": parts} if parts else {}


class Mem0Search(Mem0Selection):
    query: str
    top_k: int = Field(10, ge=1, le=MAX_TOP_K)
    limit: int | None = Field(None, ge=1, le=MAX_TOP_K, description="another word for top_k in older clients")
    threshold: float | None = Field(None, ge=0, le=1)


class Mem0Change(Sent):
    text: str | None = None
    data: str | None = Field(None, description="another word for text in older clients")
    metadata: Metadata | None = None
    expiration_date: str | None = None


class Mem0BatchChange(Sent):
    memory_id: str
    text: str | None = None
    metadata: Metadata | None = None


class Mem0BatchUpdate(Sent):
    memories: list[Mem0BatchChange] = Field(min_length=1, max_length=1_000)


class Mem0BatchMemory(Sent):
    memory_id: str


class Mem0BatchDelete(Sent):
    memories: list[Mem0BatchMemory] = Field(min_length=1, max_length=1_000)


class Mem0Rating(Sent):
    memory_id: str
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: Annotated[str, Field(max_length=2_000)] | None = None


class Mem0ProjectChange(Sent):
    custom_instructions: str | None = None
    custom_categories: JsonValue = None
    multilingual: bool | None = None
    decay: bool | None = None
    agent_custom_instructions: str | None = None


EventTypes = Annotated[list[str], Field(min_length=1, max_length=20)]
WebhookName = Annotated[str, Field(max_length=200)]
WebhookUrl = Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARS)]


class Mem0Webhook(Sent):
    url: WebhookUrl
    name: WebhookName = ""
    event_types: EventTypes


class Mem0WebhookChange(Sent):
    url: WebhookUrl | None = None
    name: WebhookName | None = None
    event_types: EventTypes | None = None


_SELECTED = {"user_id", "agent_id", "app_id", "run_id", "start_date", "end_date", "keywords"}


class WhoseQuery(BaseModel):
    """Of whom, in the query."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None

    def selection(self) -> Mem0Selection:
        sent = self.model_dump(include=_SELECTED, exclude_none=True)
        if any("\0" in value for value in sent.values()):
            raise InvalidInput("the query holds a NUL character, which no name has")
        return Mem0Selection(**sent)


class ListQuery(WhoseQuery):
    start_date: str | None = None
    end_date: str | None = None
    keywords: str | None = None
    output_format: str | None = None


class PageQuery(BaseModel):
    page: int = Field(1, ge=1, le=1_000_000)
    page_size: int = Field(100, ge=1, le=MAX_PAGE)


class PagedListQuery(ListQuery, PageQuery):
    """A list of those who are named in the query."""
