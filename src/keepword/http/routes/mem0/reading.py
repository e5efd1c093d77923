"""Searching, listing and reading memories."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from keepword.access import Grant
from keepword.answers import Memory
from keepword.errors import InvalidInput
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.mem0_errors import documented
from keepword.http.memory_schemas import MAX_FOUND, MAX_QUERY_CHARS
from keepword.http.routes.mem0 import filters, schemas, shapes
from keepword.memories import operations
from keepword.memories.filters import Tree
from keepword.memories.ports import NumberedPage
from keepword.recall import nearest
from keepword.recall.ports import Filter
from keepword.transcript.conversations import DEFAULT_AGENT

router = APIRouter()

# where the search finds too few that pass a filter, so many that pass it are compared with the query by their words
_COMPARED = 1_000
_LAST_VERSION = (1 << 31) - 1
_MOST_VERSIONS = 1_000
_MOST_SOURCES = 100
_NO_UUID = "memory_id should be a valid UUID"

_FIND = {"query": "Which seat?", "filters": {"user_id": "ann"}}
_LIST = {"filters": {"AND": [{"user_id": "ann"}, {"categories": {"contains": "travel"}}]}}

SearchBody = Annotated[schemas.Mem0Search, Depends(JsonBody(schemas.Mem0Search))]
SelectBody = Annotated[schemas.Mem0Selection, Depends(JsonBody(schemas.Mem0Selection))]
PageDep = Annotated[schemas.PageQuery, Query()]


@router.post("/v3/memories/search/", openapi_extra=takes(schemas.Mem0Search, _FIND), responses=documented(404, 413))
async def search(caller: CallerDep, body: SearchBody) -> Response:
    """Find memories, best first."""
    return shapes.answer({"results": await _search(caller, body)})


@router.post("/v2/memories/search/", openapi_extra=takes(schemas.Mem0Search, _FIND), responses=documented(404, 413))
@router.post("/v1/memories/search/", openapi_extra=takes(schemas.Mem0Search, _FIND), responses=documented(404, 413))
async def search_v1(caller: CallerDep, body: SearchBody) -> Response:
    """Find memories, as older clients do: a list, or with `output_format: v1.1` an object."""
    results = await _search(caller, body)
    return shapes.answer({"results": results} if body.output_format == "v1.1" else results)


@router.post("/v3/memories/", openapi_extra=takes(schemas.Mem0Selection, _LIST), responses=documented(404, 413))
async def get_all(request: Request, caller: CallerDep, body: SelectBody, query: PageDep) -> Response:
    """List memories page by page, the newest first."""
    return shapes.answer(await _page(request, caller, body, query))


@router.post("/v2/memories/", openapi_extra=takes(schemas.Mem0Selection, _LIST), responses=documented(404, 413))
async def get_all_v2(request: Request, caller: CallerDep, body: SelectBody, query: PageDep) -> Response:
    """List memories, as older clients do: a list, or a page where one is asked for."""
    page = await _page(request, caller, body, query)
    return shapes.answer(page if "page" in request.query_params else page["results"])


@router.get("/v1/memories/", responses=documented(404))
async def get_all_v1(
    request: Request, caller: CallerDep, query: Annotated[schemas.PagedListQuery, Query()]
) -> Response:  # fmt: skip
    """List the memories of those who are named in the query, as older clients do."""
    page = await _page(request, caller, query.selection(), query)
    if "page" in request.query_params:
        return shapes.answer(page)
    return shapes.answer({"results": page["results"]} if query.output_format == "v1.1" else page["results"])


@router.get("/v1/memories/{memory_id}/", responses=documented(404))
async def get(caller: CallerDep, memory_id: str) -> Response:
    """Read a memory."""
    id_ = require_id(memory_id)
    _, grant = await authorize.of_memory(caller, id_, None)
    return shapes.answer(shapes.shown(await operations.get(caller.services.memories, grant, id_)))


@router.get("/v1/memories/{memory_id}/history/", responses=documented(404))
async def history(caller: CallerDep, memory_id: str) -> Response:
    """Read all that happened to a memory, the oldest first; a deleted one has a history too."""
    id_, services = require_id(memory_id), caller.services
    _, grant = await authorize.of_memory(caller, id_, None)
    memory = await operations.get(services.memories, grant, id_, deleted=True)
    versions = await services.memories.history(grant, id_, _LAST_VERSION, _MOST_VERSIONS)
    sources = await services.sources.read(grant, memory.sources[:_MOST_SOURCES])
    said = [{"role": "user" if one.user else "assistant", "content": one.text} for one in sources]
    return shapes.answer(shapes.history(memory, versions, said))


def require_id(text: str) -> UUID:
    id_ = shapes.identifier(text)
    if id_ is None:
        raise InvalidInput(_NO_UUID, "memory_id")
    return id_


async def readable(caller: Caller, tree: dict[str, Any]) -> Grant:
    """Return what may be read of what a filter asks for; the filter was checked before."""
    agent, user = filters.named(tree, "agent_id"), filters.named(tree, "user_id")
    return await authorize.in_sessions_or_tenant(caller, agent or DEFAULT_AGENT, user)


def _states(select: schemas.Mem0Selection) -> tuple[str, ...]:
    return filters.WITH_EXPIRED if select.show_expired else filters.VALID


async def _page(
    request: Request, caller: Caller, select: schemas.Mem0Selection, query: schemas.PageQuery
) -> dict[str, Any]:  # fmt: skip
    services, tree, size = caller.services, select.tree(), query.page_size
    compared = filters.compare(caller, tree, _states(select))
    grant = await readable(caller, tree)
    wanted = NumberedPage(compared, size, (query.page - 1) * size, filters.named(tree, "user_id"))
    total, memories = await services.memories.page(grant, wanted)
    shown = [shapes.shown(one, select.fields) for one in memories]
    return shapes.page(request, total, query.page, size, shown)


async def _search(caller: Caller, body: schemas.Mem0Search) -> list[dict[str, Any]]:
    if not body.query.strip() or len(body.query) > MAX_QUERY_CHARS:
        raise InvalidInput(f"query must have 1 to {MAX_QUERY_CHARS} characters that say something", "query")
    services, tree = caller.services, body.tree()
    compared = filters.compare(caller, tree, _states(body))
    grant = await readable(caller, tree)
    wanted = body.limit or body.top_k
    user = filters.named(tree, "user_id")
    scored = await _near(caller, grant, body.query, user, compared, wanted)
    if len(scored) < wanted:
        page = NumberedPage(compared, _COMPARED, user=user, known=len(scored))
        known = {memory.id for _, memory in scored}
        others = [one for one in (await services.memories.page(grant, page))[1] if one.id not in known]
        # never above what the search itself found
        most = min((score for score, _ in scored), default=1.0)
        scored += [(score * most, memory) for score, memory in operations.rank(others, body.query)]
    # their scores are of another scale than Keepword's, so their default threshold is none here
    best = [(score, memory) for score, memory in scored if score >= (body.threshold or 0.0)][:wanted]
    return [shapes.shown(memory, body.fields, score=round(score, 4)) for score, memory in best]


async def _near(
    caller: Caller, grant: Grant, query: str, user: str | None, compared: Tree, wanted: int
) -> list[tuple[float, Memory]]:
    """Return what passes the filter, best first; no score is below the next."""
    services = caller.services
    kept = Filter(("memory",), user=user)
    ranked = await nearest(services.recall, grant, query, kept, MAX_FOUND, caller.viewer.user)
    passing = await services.memories.of_entries(grant, [entry for entry, _ in ranked[:wanted]], compared)
    if len(passing) < wanted and len(ranked) > wanted:
        passing |= await services.memories.of_entries(grant, [entry for entry, _ in ranked[wanted:]], compared)
    shown = [(entry, score) for entry, score in ranked if entry in passing][:wanted]
    if caller.counts_uses:
        services.uses.note(grant, (entry for entry, _ in shown))
    best: list[tuple[float, Memory]] = []
    for entry, score in reversed(shown):
        best.append((max(score, best[-1][0] if best else 0.0), passing[entry]))
    return best[::-1]
