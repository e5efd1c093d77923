"""A tenant's settings: who reads what, how times are read, and how much it may use on a day."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field

from keepword.access import TenantSettings, check_changes
from keepword.access.settings import ProfilesInRooms, check_lower
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import as_json
from keepword.http.schemas import Body
from keepword.model import SessionReach

router = APIRouter(prefix="/v1/settings", tags=["settings"])


class ShownSettings(BaseModel):
    profile_per_agent: bool = Field(description="an agent is shown only what was said to it of a profile")
    profiles_in_rooms: ProfilesInRooms = Field(
        description="`room`: rooms read of a profile what was said in them; `all`: also what was said in sessions and "
        "other rooms"
    )
    session_reach: SessionReach = Field(
        description="what a session outside projects reads that chose nothing itself: `own`, itself; `user`, all "
        "sessions of its user with its agent outside isolated projects"
    )
    direct_reads_rooms: bool = Field(
        description="a direct conversation reads the rooms in which both its user and its agent sit"
    )
    agents_word: bool = Field(description="what agents say is remembered too, marked as their word")
    audit_reads: bool = Field(description="the audit also names each read: who, which route, where")
    retention_days: int | None = Field(description="messages are erased after so many days; null: never")
    time_zone: str | None = Field(
        description='what "yesterday" and times without a zone mean, such as Europe/Berlin; null: the service\'s'
    )
    quota_messages: int | None = Field(description="most messages on a day (UTC); null: the service's own quota")
    quota_mb: int | None = Field(description="most megabytes of messages on a day")
    quota_background_seconds: int | None = Field(description="longest time of background work on a day")


class SettingsChange(Body):
    profile_per_agent: bool | None = None
    profiles_in_rooms: ProfilesInRooms | None = None
    session_reach: SessionReach | None = None
    direct_reads_rooms: bool | None = None
    agents_word: bool | None = None
    audit_reads: bool | None = None
    retention_days: int | None = Field(None, ge=1, le=36_500)
    time_zone: str | None = Field(None, max_length=64, examples=["Europe/Berlin"])
    quota_messages: int | None = Field(None, ge=1, description="can only be lowered here, as the other quotas")
    quota_mb: int | None = Field(None, ge=1)
    quota_background_seconds: int | None = Field(None, ge=1)


_changes: JsonBody[dict[str, Any]] = JsonBody(dict[str, Any])


@router.get("", response_model=ShownSettings, responses=documented())
async def get_settings(caller: CallerDep) -> Response:
    """Read the tenant's settings, also those that were never changed."""
    authorize.as_owner(caller)
    return _shown(await caller.services.lookup.settings(caller.viewer.tenant_id) or TenantSettings())


@router.patch(
    "", response_model=ShownSettings, openapi_extra=takes(SettingsChange, {"profiles_in_rooms": "room"}),
    responses=documented(400, 413, 415),
)  # fmt: skip
async def change_settings(caller: CallerDep, changes: Annotated[dict[str, Any], Depends(_changes)]) -> Response:
    """Change some of the tenant's settings; the others stay. It counts from the next request on."""
    services = caller.services
    owner = authorize.as_owner(caller)
    checked = check_changes(changes)
    stored_settings = await services.lookup.settings(caller.viewer.tenant_id) or TenantSettings()
    check_lower(checked, stored_settings, services.default_quotas)
    return _shown(await services.lookup.change_settings(owner, checked))


def _shown(settings: TenantSettings) -> Response:
    return as_json(ShownSettings(**settings.shown()).model_dump_json().encode())
