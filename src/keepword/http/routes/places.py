"""Users, agents, rooms with their participants, projects with their members."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from keepword import access
from keepword.access import Grant
from keepword.answers import (
    Agent,
    AgentPage,
    Members,
    Participants,
    Project,
    ProjectPage,
    ProjectPut,
    Room,
    RoomPage,
    User,
    UserPage,
)
from keepword.errors import NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import require, respond, respond_page
from keepword.http.schemas import Body, Label, PathName, PathSlug
from keepword.http.services import Services
from keepword.transcript import registry

router = APIRouter(prefix="/v1")


Paging = Annotated[ListQuery, Query()]
MemberKind = Literal["conversations", "rooms"]


class PutNamed(Body):
    """A user or a room; without a name an existing one keeps its own."""

    name: Label | None = None


class PutAgent(Body):
    name: Label | None = None
    context_window: int | None = Field(None, ge=1, le=100_000_000, description="in tokens; default 128,000")


class PutProject(Body):
    name: Label | None = None
    isolated: bool | None = Field(None, description="nothing from outside comes in, nothing from inside goes out")


NamedBody = Annotated[PutNamed, Depends(JsonBody(PutNamed))]
AgentBody = Annotated[PutAgent, Depends(JsonBody(PutAgent))]
ProjectBody = Annotated[PutProject, Depends(JsonBody(PutProject))]

_id, _slug = attrgetter("id"), attrgetter("slug")
_BODY_PROBLEMS = (400, 413, 415)
_GONE: dict[str, Any] = {"status_code": 204, "response_class": Response, "responses": documented(404)}


@router.get("/users", tags=["users"], response_model=UserPage, responses=documented())
async def list_users(caller: CallerDep, query: Paging) -> Response:
    users = await caller.services.registry.users(authorize.as_owner(caller), query.cursor or "", query.limit + 1)
    return respond_page(UserPage, users, query.limit, _id)


@router.put(
    "/users/{user}", tags=["users"], response_model=User, openapi_extra=takes(PutNamed, {"name": "Alice"}),
    responses={201: {"model": User, "description": "It was made"}, **documented(*_BODY_PROBLEMS)},
)  # fmt: skip
async def put_user(caller: CallerDep, user: PathName, body: NamedBody) -> Response:
    """Make a user, or rename one."""
    stored_user, is_new = await caller.services.registry.put_user(authorize.as_owner(caller), user, body.name)
    return respond(User, stored_user, 201 if is_new else 200)


@router.get("/users/{user}", tags=["users"], response_model=User, responses=documented(404))
async def get_user(caller: CallerDep, user: PathName) -> Response:
    stored_user = await caller.services.registry.user(authorize.as_owner(caller), user)
    return respond(User, require(stored_user, f"no user {user!r}"))


@router.get("/agents", tags=["agents"], response_model=AgentPage, responses=documented())
async def list_agents(caller: CallerDep, query: Paging) -> Response:
    # no place at all: an agent's description is open to the whole tenant
    agents = await caller.services.registry.agents(
        access.grant(caller.viewer, None), query.cursor or "", query.limit + 1
    )
    return respond_page(AgentPage, agents, query.limit, _slug)


@router.put(
    "/agents/{slug}", tags=["agents"], response_model=Agent,
    openapi_extra=takes(PutAgent, {"name": "Helper", "context_window": 200000}),
    responses={201: {"model": Agent, "description": "It was made"}, **documented(*_BODY_PROBLEMS)},
)  # fmt: skip
async def put_agent(caller: CallerDep, slug: PathSlug, body: AgentBody) -> Response:
    """Describe an agent: its name and how many tokens its model's window holds."""
    agent, is_new = await caller.services.registry.put_agent(
        authorize.as_owner(caller), slug, body.name, body.context_window
    )
    return respond(Agent, agent, 201 if is_new else 200)


@router.get("/agents/{slug}", tags=["agents"], response_model=Agent, responses=documented(404))
async def get_agent(caller: CallerDep, slug: PathSlug) -> Response:
    agent = await caller.services.registry.agent(access.grant(caller.viewer, None), slug)
    return respond(Agent, require(agent, f"no agent {slug!r}"))


@router.get("/rooms", tags=["rooms"], response_model=RoomPage, responses=documented())
async def list_rooms(caller: CallerDep, query: Paging) -> Response:
    """List rooms: all of the tenant for an unbound admin, else those that the agent or user is in."""
    grant = await authorize.to_list(caller)
    rooms = await caller.services.registry.rooms(grant, query.cursor or "", query.limit + 1)
    return respond_page(RoomPage, rooms, query.limit, _id)


@router.put(
    "/rooms/{room}", tags=["rooms"], response_model=Room, openapi_extra=takes(PutNamed, {"name": "General"}),
    responses={201: {"model": Room, "description": "It was made"}, **documented(*_BODY_PROBLEMS)},
)  # fmt: skip
async def put_room(caller: CallerDep, room: PathName, body: NamedBody) -> Response:
    """Make a room, or rename one."""
    stored_room, is_new = await caller.services.registry.put_room(authorize.as_owner(caller), room, body.name)
    return respond(Room, stored_room, 201 if is_new else 200)


@router.get("/rooms/{room}", tags=["rooms"], response_model=Room, responses=documented(404))
async def get_room(caller: CallerDep, room: PathName) -> Response:
    stored_room = await caller.services.registry.room(await authorize.in_room(caller, room), room)
    return respond(Room, require(stored_room, f"no room {room!r}"))


@router.get("/rooms/{room}/participants", tags=["rooms"], response_model=Participants, responses=documented(404))
async def list_participants(caller: CallerDep, room: PathName) -> Response:
    participants = await caller.services.registry.participants(await authorize.in_room(caller, room), room)
    return respond(Participants, participants)


@router.put("/rooms/{room}/participants/users/{user}", tags=["rooms"], **_GONE)
async def join_user(caller: CallerDep, room: PathName, user: PathName) -> None:
    """Let a user join; from the next read on, old messages included."""
    await registry.join(caller.services.registry, authorize.as_owner(caller), room, user=user)


@router.delete("/rooms/{room}/participants/users/{user}", tags=["rooms"], **_GONE)
async def leave_user(caller: CallerDep, room: PathName, user: PathName) -> None:
    """Let a user leave; the next read shows them nothing of the room."""
    if not await caller.services.registry.leave(authorize.as_owner(caller), room, user=user):
        raise NotFound(f"no user {user!r} in room {room!r}")


@router.put("/rooms/{room}/participants/agents/{slug}", tags=["rooms"], **_GONE)
async def join_agent(caller: CallerDep, room: PathName, slug: PathSlug) -> None:
    await registry.join(caller.services.registry, authorize.as_owner(caller), room, agent=slug)


@router.delete("/rooms/{room}/participants/agents/{slug}", tags=["rooms"], **_GONE)
async def leave_agent(caller: CallerDep, room: PathName, slug: PathSlug) -> None:
    if not await caller.services.registry.leave(authorize.as_owner(caller), room, agent=slug):
        raise NotFound(f"no agent {slug!r} in room {room!r}")


@router.get("/projects", tags=["projects"], response_model=ProjectPage, responses=documented())
async def list_projects(caller: CallerDep, query: Paging) -> Response:
    projects = await caller.services.registry.projects(authorize.as_owner(caller), query.cursor or "", query.limit + 1)
    return respond_page(ProjectPage, projects, query.limit, _id)


@router.put(
    "/projects/{project}", tags=["projects"], response_model=ProjectPut,
    openapi_extra=takes(PutProject, {"name": "Apollo", "isolated": True}),
    responses={201: {"model": ProjectPut, "description": "It was made"}, **documented(*_BODY_PROBLEMS)},
)  # fmt: skip
async def put_project(caller: CallerDep, project: PathName, body: ProjectBody) -> Response:
    """Make or change a project. Where `isolated` is taken away, `opened` names what opens up by it."""
    done = await registry.put_project(
        caller.services.registry, authorize.as_owner(caller), project, body.name, body.isolated
    )
    return respond(ProjectPut, done, 201 if done.made else 200)


@router.get("/projects/{project}", tags=["projects"], response_model=Project, responses=documented(404))
async def get_project(caller: CallerDep, project: PathName) -> Response:
    stored_project = await caller.services.registry.project(authorize.as_owner(caller), project)
    return respond(Project, require(stored_project, f"no project {project!r}"))


@router.get("/projects/{project}/members", tags=["projects"], response_model=Members, responses=documented(404))
async def list_members(caller: CallerDep, project: PathName) -> Response:
    services, owner = caller.services, authorize.as_owner(caller)
    require(await services.registry.project(owner, project), f"no project {project!r}")
    return respond(Members, await services.registry.members(owner, project))


@router.put("/projects/{project}/members/{kind}/{member}", tags=["projects"], **_GONE)
async def add_member(caller: CallerDep, project: PathName, kind: MemberKind, member: PathName) -> None:
    """Move a conversation or a room into the project, out of the one it was in."""
    services, owner = caller.services, authorize.as_owner(caller)
    await registry.move(services.registry, owner, kind, await _named(services, owner, kind, member), project)


@router.delete("/projects/{project}/members/{kind}/{member}", tags=["projects"], **_GONE)
async def remove_member(caller: CallerDep, project: PathName, kind: MemberKind, member: PathName) -> None:
    """Move it out: from the next read on it is on its own."""
    services, owner = caller.services, authorize.as_owner(caller)
    require(await services.registry.project(owner, project), f"no project {project!r}")
    named = await _named(services, owner, kind, member)
    if named not in getattr(await services.registry.members(owner, project), kind):
        raise NotFound(f"no {member!r} among the {kind} of project {project!r}")
    await registry.move(services.registry, owner, kind, named, None)


async def _named(services: Services, owner: Grant, kind: MemberKind, member: str) -> str:
    """Return a member's own name; a conversation may be named by an alias."""
    place = await services.lookup.place(owner.tenant_id, member) if kind == "conversations" else None
    return place.external_id if place else member
