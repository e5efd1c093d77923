"""Search and stats."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from keepword.answers import Growth, SearchResults, Stats
from keepword.http import memory_queries
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import GrowthQuery, StatsQuery
from keepword.http.responses import respond
from keepword.http.schemas import SearchBody

router = APIRouter(prefix="/v1", tags=["recall"])

_EXAMPLE = {"query": "when do we fly?", "conversation": "demo", "explain": True}

SearchBodyDep = Annotated[SearchBody, Depends(JsonBody(SearchBody))]


@router.post(
    "/search",
    response_model=SearchResults,
    responses=documented(400, 404, 413, 415),
    openapi_extra=takes(SearchBody, _EXAMPLE),
)
async def search(caller: CallerDep, body: SearchBodyDep) -> Response:
    """Find what matters in everything that may be read in a conversation's place, best first."""
    return respond(SearchResults, await memory_queries.search(caller, body))


@router.get("/stats", response_model=Stats, responses=documented(404))
async def stats(caller: CallerDep, query: Annotated[StatsQuery, Query()]) -> Response:
    """Tell how it stands: alerts, queues, coverage and a census."""
    return respond(Stats, await memory_queries.report(caller, query))


@router.get("/stats/growth", response_model=Growth, responses=documented())
async def growth(caller: CallerDep, query: Annotated[GrowthQuery, Query()]) -> Response:
    """Count the tenant's messages of each of the last days, by their own times, for its owner."""
    return respond(Growth, await memory_queries.growth(caller, query.days))
