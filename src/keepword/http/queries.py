"""What may be asked behind the question mark of a route."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from keepword.http.schemas import ASKED_REACH, Label, Moment, Name, Slug
from keepword.model import Reach, Role
from keepword.period import PERIODS
from keepword.transcript.page import MAX_LIMIT


class MessageQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    order: Literal["asc", "desc"] = "asc"
    cursor: str | None = Field(None, min_length=1, max_length=100, description="a page's next or previous")
    since: Moment | None = Field(None, description="from this time on; a day such as 2024-01-31: from its start on")
    before: Moment | None = Field(None, description="up to this time, not including it; a day: up to its start")
    window: str | None = Field(None, description=f"a named time: {', '.join(PERIODS)}")
    agent: Slug | None = Field(None, description="only what this agent said or was told")
    user: Name | None = Field(None, description="only what this user said")
    role: Role | None = Field(None, description="only what was said in this role")
    retracted: bool = Field(True, description="false: leave out what was retracted, which the owner alone is shown")


class BrowseQuery(MessageQuery):
    conversation: Name | None = Field(None, description="whose place to read in; an unbound admin may leave it out")
    reach: Reach | None = Field(None, description=ASKED_REACH)


class StatsQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name | None = Field(None, description="count what may be read in its place; default: the tenant")


class GrowthQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    days: int = Field(30, ge=1, le=366, description="today and those before it, in the tenant's time zone")


class McpQuery(StatsQuery):
    reach: Reach = Field("user", description="which sessions to read from a session where a call names none")


class ListQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: Name | None = Field(None, description="a page's next")


class NoQuery(BaseModel):
    """Of a route without parameters."""

    model_config = ConfigDict(extra="forbid")


class EraseQuery(BaseModel):
    """A misspelt `dry_run` must not erase."""

    model_config = ConfigDict(extra="forbid")

    dry_run: bool = Field(False, description="true: count what would go, and erase nothing")


class AuditQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    action: Label | None = Field(None, description="only this action, or with `memory` all that begin with `memory.`")
    actor: Label | None = Field(None, description="only what this one did, such as `user:ann`, `agent:ada` or `owner`")
    since: Moment | None = Field(None, description="from this time on; a day such as 2024-01-31: from its start on")
    before: Moment | None = Field(None, description="up to this time, not including it; a day: up to its start")
    limit: int = Field(50, ge=1, le=MAX_LIMIT)
    cursor: Name | None = Field(None, description="a page's next")
