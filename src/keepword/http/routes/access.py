"""Who may see what: a grant in words, and whether a viewer would see a message; for the tenant's owner."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from keepword.access import Grant, Place, Viewer, explain
from keepword.answers import AccessReport, Source, Verdict
from keepword.errors import NotFound
from keepword.http import authorize
from keepword.http.guards import Caller, CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.schemas import ASKED_REACH, Name, Slug
from keepword.model import KeyRole, Reach

router = APIRouter(prefix="/v1", tags=["keys"])

MAX_MESSAGES = 100
Bound = Literal["nobody", "agent", "user", "both"]


class AccessQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    conversation: Name = Field(description="in whose place to look")
    user: Name | None = Field(None, description="who would look")
    agent: Slug | None = Field(None, description="the agent that would look, or with which the user would")
    role: KeyRole = Field("reader", description="of the key that they would send")
    bound: Bound | None = Field(None, description="whom the key itself names; default: those who are named here")
    reach: Reach | None = Field(None, description=ASKED_REACH)
    message: list[UUID] = Field(default_factory=list, max_length=MAX_MESSAGES, description="would they see it?")

    def viewer(self, tenant_id: UUID) -> Viewer:
        named: dict[tuple[bool, bool], Bound] = {
            (False, False): "nobody", (True, False): "agent", (False, True): "user", (True, True): "both",
        }  # fmt: skip
        bound = self.bound or named[self.agent is not None, self.user is not None]
        return Viewer(tenant_id, self.role, self.agent, self.user, bound)


@router.get("/access", response_model=AccessReport, responses=documented(404))
async def report_access(caller: CallerDep, query: Annotated[AccessQuery, Query()]) -> Response:
    """Say what a viewer may read in a conversation's place, and for messages whether they would see them, and why.

    It asks what every request asks. What a profile tells of a message that is not seen is said in `reads`.
    """
    whole = authorize.as_owner(caller)
    asked = await authorize.find_place(caller, query.conversation)
    if asked is None:
        raise NotFound(f"no conversation {query.conversation!r}")
    viewer = query.viewer(caller.viewer.tenant_id)
    # whether an agent's own key may act with the user depends on both
    place, grant = authorize.with_reach(viewer, asked, query.reach)
    verdicts = await _verdicts(caller, whole, place, grant, query.message)
    report = AccessReport(
        place.external_id, place.kind, place.run_id, query.agent, query.user, not grant.is_nothing,
        place.reach if place.kind == "session" else None, explain.describe(grant, place),
        grant.writes is not None, tuple(sorted(grant.run_ids)), tuple(sorted(grant.visibilities)), verdicts,
    )  # fmt: skip
    return respond(AccessReport, report)


async def _verdicts(
    caller: Caller, whole: Grant, place: Place, grant: Grant, messages: list[UUID]
) -> tuple[Verdict, ...]:
    sources = caller.services.sources
    stored = {one.id: one for one in await sources.read(whole, messages) if one.kind == "message"}
    seen = {one.id for one in await sources.read(grant, list(stored))} if not grant.is_nothing else set()
    origins = {
        name: await authorize.find_place(caller, name) for name in {_conversation(one) for one in stored.values()}
    }
    return tuple(
        _verdict(id_, grant, place, origins[_conversation(stored[id_])], id_ in seen)
        for id_ in dict.fromkeys(messages)
        if id_ in stored
    )


def _conversation(source: Source) -> str:
    return source.conversation or ""


def _verdict(id_: UUID, grant: Grant, place: Place, origin: Place | None, sees: bool) -> Verdict:
    because = explain.why(grant, place, origin, sees=sees) if origin is not None else "its conversation is gone"
    return Verdict(id_, sees, because)
