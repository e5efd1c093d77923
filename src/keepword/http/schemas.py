"""The shapes of bodies and queries; those of answers are in keepword.answers."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_json

from keepword import patterns
from keepword.answers import EntryKind, SearchMode
from keepword.compose import untrusted_text
from keepword.errors import InvalidInput, TooLarge
from keepword.model import MAX_SLUG_CHARS, Draft, Kind, Reach, Role, SessionReach, check_name, check_slug
from keepword.period import PERIODS
from keepword.recall import RECIPES, RecallRequest
from keepword.recall.recipe import DEFAULT
from keepword.recall.search import MAX_QUERY_BYTES, resolve_mode
from keepword.transcript.chat_formats import is_parts, to_drafts

MAX_TEXT_BYTES = 1024 * 1024
MAX_TURN_BYTES = untrusted_text.MAX_CHARS
MAX_PARTS = 1000
MAX_SETTINGS_BYTES = 64 * 1024  # a page lists two hundred of them
_LATEST_YEAR = 9999
_WRITTEN_OUT = patterns.at_start(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ]|\Z)")


_CONTENT_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "array", "maxItems": MAX_PARTS,
            "items": {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
        },
        {"type": "null"},
    ]
}  # fmt: skip


def _of_at_most(limit: int) -> Callable[[str], str]:
    def check(text: str) -> str:
        # a character is at most four bytes: most texts need no counting
        if len(text) * 4 > limit and (size := len(text.encode())) > limit:
            raise PydanticCustomError("too_large", "{size} bytes; at most {limit}", {"size": size, "limit": limit})
        return text

    return check


def _bounded_json(value: Any) -> Any:
    if value and (size := len(to_json(value))) > MAX_TEXT_BYTES:
        raise PydanticCustomError("too_large", "{size} bytes; at most {limit}", {"size": size, "limit": MAX_TEXT_BYTES})
    return value


def _content(value: Any) -> Any:
    if isinstance(value, str):
        return _of_at_most(MAX_TEXT_BYTES)(value)
    if value is None:
        return ""
    if not is_parts(value) or len(value) > MAX_PARTS:
        raise PydanticCustomError(
            "content",
            "a text, or a list of up to {most} content parts, each with a type, is needed",
            {"most": MAX_PARTS},
        )
    return value


def _result(value: Any) -> Any:
    """Keep a result that is no text as JSON text: that is how models are given it."""
    if value is None:
        return None
    return _of_at_most(MAX_TEXT_BYTES)(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _role(value: Any) -> Any:
    return "system" if value == "developer" else value


def _bounded_settings(value: Any) -> Any:
    if value and (size := len(to_json(value))) > MAX_SETTINGS_BYTES:
        limits = {"size": size, "limit": MAX_SETTINGS_BYTES}
        raise PydanticCustomError("too_large", "{size} bytes; at most {limit}", limits)
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL character, which the database can't compare with")
    return value


def _name(value: str) -> str:
    try:
        return check_name(value, "name")
    except InvalidInput as exc:
        raise ValueError(str(exc)) from exc


def _slug(value: str) -> str:
    try:
        return check_slug(value, "slug")
    except InvalidInput as exc:
        raise ValueError(str(exc)) from exc


def _parse_time(value: Any) -> datetime:
    parsed = _read_time(value)
    if parsed is None or parsed.tzinfo is None:
        raise ValueError("a time is written with its zone, such as 2024-01-31T12:00:00Z")
    return parsed


def _parse_moment(value: Any) -> datetime:
    parsed = _read_time(value)
    if parsed is None:
        raise ValueError("a time is written as 2024-01-31T12:00:00Z, a day as 2024-01-31")
    return parsed


def _read_time(value: Any) -> datetime | None:
    # pydantic would also take numbers, as seconds or milliseconds since 1970, whichever seems likelier
    with suppress(ValueError):
        if isinstance(value, str) and _WRITTEN_OUT.match(value):
            return datetime.fromisoformat(value.upper())
    return None


def read_moment(text: str) -> datetime | None:
    """Parse a time or day; None if it is neither."""
    parsed = _read_time(text)
    with suppress(ValueError):
        return None if parsed is None else _storable(parsed)
    return None


def _storable(value: datetime) -> datetime:
    # a day of room on both sides, so that no time zone leads out of the calendar
    in_utc = value.astimezone(UTC) if value.tzinfo and 1 < value.year < _LATEST_YEAR else value
    if not (1 < value.year < _LATEST_YEAR and 1 < in_utc.year < _LATEST_YEAR):
        raise ValueError("a time between the years 2 and 9998 is needed")
    return in_utc


_CHOSEN_REACH = (
    "what a session outside projects reads: `own`, itself; `user`, all sessions of its user with its agent outside "
    "isolated projects; null, what the tenant chose"
)
ASKED_REACH = (
    "for this call, in place of what was chosen for the session: `own`, `user` or, in a project, `project`; one that "
    "the place can't have has no effect"
)
Text = Annotated[str, AfterValidator(_of_at_most(MAX_TEXT_BYTES))]
TurnText = Annotated[str, AfterValidator(_of_at_most(MAX_TURN_BYTES))]
Label = Annotated[str, Field(max_length=1000), AfterValidator(_without_nul)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_name)]
Slug = Annotated[str, Field(min_length=1, max_length=MAX_SLUG_CHARS), AfterValidator(_slug)]
Time = Annotated[AwareDatetime, AfterValidator(_storable), BeforeValidator(_parse_time)]
# a time to look for: one without a zone, such as a day's start, is in the service's own zone (period.Calendar)
Moment = Annotated[
    datetime,
    AfterValidator(_storable),
    BeforeValidator(_parse_moment),
    WithJsonSchema({"type": "string", "examples": ["2024-01-31", "2024-01-31T12:00:00Z"]}),
]
PathName = Annotated[str, Path(min_length=1, max_length=200, examples=["demo"]), AfterValidator(_name)]
PathSlug = Annotated[str, Path(min_length=1, max_length=MAX_SLUG_CHARS, examples=["helper"]), AfterValidator(_slug)]
ToolCallId = Annotated[str, Field(min_length=1, max_length=200)]
EventId = Annotated[str, Field(min_length=1, max_length=200)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewMessage(Body):
    """One message of a conversation. It needs a content, a tool call, a tool's result or an attachment.

    Messages of the OpenAI and Anthropic APIs are taken as they are. One that calls several tools, or brings several
    results, is stored as several messages.
    """

    role: Annotated[Role, BeforeValidator(_role)] = Field(description="developer is another word for system")
    content: Annotated[JsonValue, AfterValidator(_content), WithJsonSchema(_CONTENT_SCHEMA)] = Field(
        "", description="a text, or content parts: texts are kept, of others their type, size and address"
    )
    user: Name | None = Field(None, description="who spoke, for role user; default: the conversation's user")
    agent: Slug | None = Field(None, description="default: the conversation's agent")
    tool_name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    tool_args: Annotated[JsonValue, AfterValidator(_bounded_json)] = None
    tool_result: Annotated[str | None, BeforeValidator(_result), WithJsonSchema({})] = Field(
        None, description="any JSON; what is no text is kept as JSON text"
    )
    tool_calls: Annotated[list[JsonValue], AfterValidator(_bounded_json)] | None = Field(
        None, max_length=MAX_PARTS, description="of role assistant, as OpenAI writes them"
    )
    tool_call_id: ToolCallId | None = Field(None, description="tells which call a result belongs to")
    attachments: Annotated[list[JsonValue], AfterValidator(_bounded_json)] = Field(
        default_factory=list, max_length=1000
    )
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_bounded_json)] = Field(default_factory=dict)
    event_id: EventId | None = Field(None, description="makes a retry store nothing twice")
    created_at: Time | None = Field(None, description="when it was said, a day ahead at most; default: now")
    refusal: Text | None = Field(None, description="of OpenAI's answers: kept as the content where that is empty")
    annotations: Annotated[list[JsonValue], AfterValidator(_bounded_json)] | None = Field(
        None, description="of OpenAI's answers: kept in metadata"
    )
    audio: None = Field(None, description="of OpenAI's answers, where there is none")
    function_call: None = Field(None, description="of OpenAI's answers, where there is none; send tool_calls")

    @model_validator(mode="after")
    def _says_something(self) -> "NewMessage":
        says = self.content or self.refusal or self.tool_name or self.tool_calls or self.attachments
        # a tool may answer nothing, which is an answer
        if not says and self.tool_result is None and not (self.role == "tool" and self.tool_call_id):
            raise ValueError("a message needs content, tool_name, tool_result or attachments")
        if self.user is not None and self.role != "user":
            raise ValueError("only messages of role 'user' name a user")
        return self

    def drafts(self, field: str = "") -> list[Draft]:
        """Return its drafts; `field` is its position in the body."""
        content: Any = self.content or self.refusal or ""
        metadata = self.metadata | ({"annotations": self.annotations} if self.annotations else {})
        draft = Draft(
            self.role, content if isinstance(content, str) else "", self.user, self.agent, self.tool_name,
            self.tool_args, self.tool_result, self.attachments, metadata, self.event_id, self.created_at,
        )  # fmt: skip
        try:
            drafts = to_drafts(draft, content, self.tool_calls or (), self.tool_call_id)
        except InvalidInput as exc:
            raise InvalidInput(f"{field}{exc}", f"{field}{exc.field}") from exc
        for one in drafts:
            require_bounded(one, field)
        return drafts


def require_bounded(draft: Draft, field: str) -> None:
    """Check the drafts that were made of parts: their fields have the same bounds as a message's."""
    if not (draft.content or draft.tool_name or draft.tool_result is not None or draft.attachments):
        raise InvalidInput(f"{field}content has no text and nothing else; say something", f"{field}content")
    for name, text in (("content", draft.content), ("tool_result", draft.tool_result or "")):
        if len(text) * 4 > MAX_TEXT_BYTES and (size := len(text.encode())) > MAX_TEXT_BYTES:
            raise TooLarge(f"{field}{name}: {size} bytes; at most {MAX_TEXT_BYTES}", f"{field}{name}")
    for name, value in (("tool_args", draft.tool_args), ("metadata", draft.metadata)):
        if value and (size := len(to_json(value))) > MAX_TEXT_BYTES:
            raise TooLarge(f"{field}{name}: {size} bytes; at most {MAX_TEXT_BYTES}", f"{field}{name}")


class NewMessages(Body):
    """Several messages, as clients send them that know no lists at the top."""

    messages: list[NewMessage]


class AppendQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    is_import: bool = Field(
        False, alias="import", description="take messages more than a day ahead; for an unbound admin alone"
    )


class PutConversation(Body):
    """What to make or update. The place (kind, room, user, agent, project) is fixed once it is made."""

    kind: Kind | None = Field(None, description="default: room if a room is named, else session")
    user: Name | None = None
    agent: Slug | None = Field(None, description="default: the key's agent, else 'default'")
    room: Name | None = None
    project: Name | None = None
    channel: Annotated[str, Field(min_length=1, max_length=200)] = "api"
    channel_id: Label | None = None
    bot_identity: Label | None = None
    title: Label | None = None
    settings: Annotated[dict[str, JsonValue], AfterValidator(_bounded_settings)] = Field(default_factory=dict)
    active: bool = True
    reach: SessionReach | None = Field(None, description=_CHOSEN_REACH)


class PatchConversation(Body):
    title: Label | None = None
    settings: Annotated[dict[str, JsonValue], AfterValidator(_bounded_settings)] = Field(default_factory=dict)
    active: bool = True
    reach: SessionReach | None = Field(None, description=_CHOSEN_REACH)


bounded_query = _of_at_most(MAX_QUERY_BYTES)


class SearchBody(Body):
    """What to look for, and in whose place."""

    query: Annotated[str, AfterValidator(bounded_query)]
    conversation: Name | None = Field(
        None, description="in whose place to search; an unbound admin may leave it out, for the whole tenant"
    )
    reach: Reach | None = Field(None, description=ASKED_REACH)
    mode: SearchMode = Field("hybrid", description="fts is another word for words")
    recipe: str = Field(DEFAULT, description=f"how signals are weighed: {', '.join(sorted(RECIPES))}")
    kinds: Annotated[list[EntryKind], Field(min_length=1, max_length=4)] | None = None
    agent: Slug | None = Field(None, description="only what this agent said or was told")
    user: Name | None = Field(None, description="only what this user said")
    since: Moment | None = Field(None, description="from this time on; a day such as 2024-01-31: from its start on")
    before: Moment | None = Field(None, description="up to this time, not including it; a day: up to its start")
    window: str | None = Field(None, description=f"a named time: {', '.join(PERIODS)}")
    time_words: bool = Field(
        True, description='read "yesterday", "in May" or "when did we last" in the query, unless a time is given'
    )
    limit: int = Field(10, ge=1, le=50)
    min_score: float | None = Field(None, ge=0, le=1, description="leave out what has a lower score")
    context: int = Field(0, ge=0, le=10, description="how many turns before and after each hit to return with it")
    expand: bool = Field(True, description="follow the best summaries down to what they were made from")
    explain: bool = Field(False, description="say why each hit is there")
    synthesize: bool = Field(False, description="also answer in a few cited sentences; needs a language model")

    def request(self) -> RecallRequest:
        return RecallRequest(
            self.query, mode=resolve_mode(self.mode), recipe=self.recipe,
            kinds=tuple(self.kinds) if self.kinds else None, agent=self.agent, user=self.user, since=self.since,
            before=self.before, window=self.window, time_words=self.time_words, limit=self.limit, context=self.context,
            explain=self.explain, expand=self.expand, min_score=self.min_score,
        )  # fmt: skip


def given(body: BaseModel, *names: str) -> dict[str, Any]:
    """Return the named fields that the caller really sent."""
    return {name: getattr(body, name) for name in names if name in body.model_fields_set}
