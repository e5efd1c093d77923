"""Who calls, whom there are memories of, what became of an add, and what is kept of a project."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from keepword import transcript
from keepword.access import Grant
from keepword.answers import Memory
from keepword.errors import InvalidInput, NotFound, TooLarge
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import Caller, CallerDep
from keepword.http.mem0_errors import documented
from keepword.http.routes.mem0 import schemas, shapes
from keepword.memories.labels import ends_add
from keepword.memories.ports import AddStatus
from keepword.transcript.conversations import DEFAULT_AGENT
from keepword.transcript.page import PageRequest

router = APIRouter()

ORGANIZATION = "keepword"
# entities and events, the newest
_MOST_ENTITIES = 1_000
_LAST_MESSAGES = 200
# it is read with each place's settings
MAX_PROJECT_BYTES = 8 * 1024
_PROJECT = "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"
_CHANGE = {"custom_instructions": "Keep what concerns travel."}

ProjectBody = Annotated[schemas.Mem0ProjectChange, Depends(JsonBody(schemas.Mem0ProjectChange))]


@router.get("/v1/ping/", responses=documented())
async def ping(caller: CallerDep) -> Response:
    """Tell whether the key works, and whose it is."""
    project = str(caller.viewer.tenant_id)
    return shapes.answer({"status": "ok", "org_id": ORGANIZATION, "project_id": project, "user_email": None})


@router.get("/v1/entities/", responses=documented(404))
async def users(request: Request, caller: CallerDep, query: Annotated[schemas.PageQuery, Query()]) -> Response:
    """List the users, agents, apps and runs that there are memories of, the last changed first."""
    grant = await _readable(caller)
    counts = await caller.services.memories.entities(grant, _MOST_ENTITIES)
    results = [
        {
            "id": one.name, "name": one.name, "type": one.kind, "created_at": one.created_at,
            "updated_at": one.updated_at, "total_memories": one.memories, "owner": ORGANIZATION, "metadata": None,
        }
        for one in counts
    ]  # fmt: skip
    start = (query.page - 1) * query.page_size if "page" in request.query_params else 0
    shown = results[start : start + query.page_size] if "page" in request.query_params else results
    size = query.page_size if "page" in request.query_params else _MOST_ENTITIES
    totals = {f"total_{kind}s": sum(one.kind == kind for one in counts) for kind in ("user", "agent", "app", "run")}
    return shapes.answer(shapes.page(request, len(results), query.page, size, shown) | totals)


@router.get("/v1/event/{event_id}/", responses=documented(404))
async def event(caller: CallerDep, event_id: str) -> Response:
    """Tell whether what was added was read for memories, and which were found."""
    id_, services = shapes.identifier(event_id), caller.services
    if id_ is None:
        raise InvalidInput("event_id should be a valid UUID", "event_id")
    _, grant = await authorize.of_memory(caller, id_, None)
    if found := await _events(caller, grant, await services.memories.adds(grant, [id_])):
        return shapes.answer(found[0])
    # what was kept with infer: false is a memory at once
    if kept := await services.memories.get(grant, [id_]):
        return shapes.answer(_kept(kept[0]))
    raise NotFound(f"no event {event_id}")


@router.get("/v1/events/", responses=documented(404))
async def events(request: Request, caller: CallerDep) -> Response:
    """List what was added last, as far as it is among the last 200 messages."""
    services = caller.services
    grant = await _readable(caller)
    newest = await transcript.browse(services.transcript, grant, PageRequest(_LAST_MESSAGES, "desc"))
    ends = [one.id for one in newest.messages if ends_add(one.metadata)]
    found = await _events(caller, grant, await services.memories.adds(grant, ends) if ends else [])
    found.sort(key=lambda one: (one["created_at"], one["id"]), reverse=True)
    return shapes.answer(shapes.page(request, len(found), 1, max(1, len(found)), found))


@router.get(_PROJECT, responses=documented(404))
async def get_project(request: Request, caller: CallerDep, org_id: str, project_id: str) -> Response:
    """Read what is kept of the project: the tenant's settings for mem0's clients."""
    _require_project(caller, org_id, project_id)
    authorize.as_owner(caller)
    settings = await caller.services.lookup.settings(caller.viewer.tenant_id)
    kept = dict(settings.mem0) if settings else {}
    full = dict.fromkeys(schemas.Mem0ProjectChange.model_fields) | kept | {
        "id": project_id, "project_id": project_id, "org_id": org_id, "name": project_id,
    }  # fmt: skip
    fields = request.query_params.getlist("fields")
    return shapes.answer(full if not fields else {name: full.get(name) for name in fields if name in full})


@router.patch(
    _PROJECT, openapi_extra=takes(schemas.Mem0ProjectChange, _CHANGE), responses=documented(404, 413)
)  # fmt: skip
async def update_project(caller: CallerDep, org_id: str, project_id: str, body: ProjectBody) -> Response:
    """Keep settings of the project. They are given back as they are; no search or extraction reads them."""
    _require_project(caller, org_id, project_id)
    owner, lookup = authorize.as_owner(caller), caller.services.lookup
    changes = body.model_dump(exclude_unset=True)
    if not changes:
        raise InvalidInput(
            f"say what to change: {', '.join(schemas.Mem0ProjectChange.model_fields)}", "custom_instructions"
        )
    settings = await lookup.settings(caller.viewer.tenant_id)
    kept = (dict(settings.mem0) if settings else {}) | changes
    if (size := len(schemas.Mem0ProjectChange(**kept).model_dump_json().encode())) > MAX_PROJECT_BYTES:
        raise TooLarge(f"the project's settings have {size} bytes; at most {MAX_PROJECT_BYTES} are kept")
    await lookup.change_settings(owner, {"mem0": kept})
    return shapes.answer(
        {"message": "Project updated successfully. Keepword keeps these settings and does not use them."}
    )


async def _readable(caller: Caller) -> Grant:
    return await authorize.in_sessions_or_tenant(caller, DEFAULT_AGENT, None)


def _require_project(caller: Caller, org_id: str, project_id: str) -> None:
    if (org_id, project_id) != (ORGANIZATION, str(caller.viewer.tenant_id)):
        raise NotFound("no such project; GET /v1/ping/ tells the key's own")


async def _events(caller: Caller, grant: Grant, adds: Iterable[AddStatus]) -> list[dict[str, Any]]:
    those = list(adds)
    ids = [id_ for one in those for id_ in one.memory_ids]
    memories = {one.id: one for one in await caller.services.memories.get(grant, ids)} if ids else {}
    return [_event(one, [memories[id_] for id_ in one.memory_ids if id_ in memories]) for one in those]


def _event(add: AddStatus, memories: list[Memory]) -> dict[str, Any]:
    done = add.is_read
    results = [
        {"id": one.id, "memory": one.content, "data": {"memory": one.content}, "event": "ADD"} for one in memories
    ]
    return {
        "id": add.id, "event_type": "ADD", "status": "SUCCEEDED" if done else "PENDING", "payload": None,
        "results": results, "created_at": add.said_at, "updated_at": add.said_at, "started_at": add.said_at,
        "completed_at": max((one.created_at for one in memories), default=add.said_at) if done else None,
        "latency": None, "error": None,
    }  # fmt: skip


def _kept(memory: Memory) -> dict[str, Any]:
    return _event(AddStatus(memory.id, memory.conversation or "", memory.created_at, True, (memory.id,)), [memory])
