"""Sources: messages, summaries, memories and landmarks by their ids, as memories and composed turns name them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from keepword.answers import Sources
from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import cut, respond
from keepword.http.schemas import ASKED_REACH, Name
from keepword.model import Reach

router = APIRouter(prefix="/v1", tags=["recall"])

MAX_SOURCES = 100


class SourcesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: list[UUID] = Field(min_length=1, max_length=MAX_SOURCES, description="as often as there are ids")
    conversation: Name | None = Field(None, description="in whose place to read; an unbound admin may leave it out")
    reach: Reach | None = Field(None, description=ASKED_REACH)


@router.get("/sources", response_model=Sources, responses=documented(404))
async def read_sources(caller: CallerDep, query: Annotated[SourcesQuery, Query()]) -> Response:
    """Read things by their ids; one that may not be read here is missing, like one that does not exist.

    Where they are too large for one answer, the last ones are missing; ask for these again.
    """
    _, grant = await authorize.in_place_or_tenant(caller, query.conversation, query.reach)
    stored = {one.id: one for one in await caller.services.sources.read(grant, query.id)}
    asked = [stored[id_] for id_ in dict.fromkeys(query.id) if id_ in stored]
    return respond(Sources, Sources(tuple(cut(asked, MAX_SOURCES, lambda one: len(one.text)))))
