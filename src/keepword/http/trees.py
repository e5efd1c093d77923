"""Which tree of files a request names, and what the caller may do with it."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from keepword import access, facts
from keepword.access import AgentFiles, Grant, UserFiles, WholeTenant, not_introduced, project_run
from keepword.errors import InvalidInput, NotFound
from keepword.facts import FactSubject
from keepword.files import ROOT, Tree, TreeKind, TreeWriter
from keepword.http import authorize
from keepword.http.guards import Caller
from keepword.http.schemas import Name, Slug
from keepword.model import check_slug


class TreeQuery(BaseModel):
    """Without a scope: of the user with the agent for whom the request acts, or of the agent alone."""

    model_config = ConfigDict(extra="forbid")

    scope: TreeKind | None = Field(
        None, description="whose files: of an `agent`, a `user` with an agent, a `room` or a `project`"
    )
    id: Name | None = Field(None, description="of the agent, user, room or project; default: whom the request acts for")
    agent: Slug | None = Field(None, description="of a user's tree: with which agent; default: the one acted for")
    conversation: Name | None = Field(None, description="of a project's tree: a conversation in that project")


PathText = Annotated[str, Field(min_length=1, max_length=4096, examples=[f"{ROOT}/notes.md"])]


@dataclass(frozen=True, slots=True)
class TreeAccess:
    tree: Tree
    grant: Grant


async def open_tree(caller: Caller, query: TreeQuery) -> TreeAccess:
    """Return the tree that is named, and what may be done there. A tree that may not be read is not there."""
    viewer = caller.viewer
    scope = query.scope or _default_scope(caller)
    if query.agent is not None and scope != "user":
        raise InvalidInput("agent is of a user's tree; name another tree by its id", "agent")
    if query.conversation is not None and scope != "project":
        raise InvalidInput("conversation is of a project's tree; leave it out", "conversation")
    match scope:
        case "agent":
            return _of_agent(caller, query.id or viewer.agent)
        case "user":
            return await _of_user(caller, query.id or viewer.user, query.agent or viewer.agent)
        case "room":
            return await _of_room(caller, query.id)
        case "project":
            return await _of_project(caller, query.id, query.conversation)


async def open_writer(caller: Caller, query: TreeQuery) -> TreeWriter:
    opened = await open_tree(caller, query)
    return TreeWriter(caller.services.trees, opened.grant, opened.tree, author(caller))


def author(caller: Caller) -> str:
    """Name who writes: the agent, where one acts, else whom the audit names."""
    viewer = caller.viewer
    if viewer.agent is not None and not viewer.is_person:
        return f"agent:{viewer.agent}"
    return viewer.by.name if viewer.by is not None else f"key:{caller.key.id}"


def _default_scope(caller: Caller) -> TreeKind:
    viewer = caller.viewer
    if viewer.agent is None:
        raise InvalidInput(
            "say whose files, with scope and id, or with the headers Keepword-Agent and Keepword-User", "scope"
        )
    return "user" if viewer.user is not None else "agent"


def _of_agent(caller: Caller, slug: str | None) -> TreeAccess:
    place = AgentFiles(check_slug(_required(slug, "the agent"), "id"))
    return _opened("agent", place.run_id, access.grant(caller.viewer, place), f"agent {place.agent!r}", place.agent)


async def _of_user(caller: Caller, user: str | None, agent: str | None) -> TreeAccess:
    viewer, lookup = caller.viewer, caller.services.lookup
    user, agent = _required(user, "the user"), _required(agent, "the agent, with agent=")
    introduced = viewer.is_bot and await lookup.is_introduced(viewer.tenant_id, agent, user)
    if viewer.is_bot and not introduced and viewer.agent == agent:
        raise not_introduced(agent, user)
    place = UserFiles(user, agent, introduced)
    opened = _opened("user", place.run_id, access.grant(viewer, place), f"user {user!r}", None)
    if not viewer.is_bot:
        await facts.require_subject(lookup, viewer.tenant_id, FactSubject("user", user))
    return opened


async def _of_room(caller: Caller, room: str | None) -> TreeAccess:
    tenant_id, room = caller.viewer.tenant_id, _required(room, "the room")
    place = await caller.services.lookup.room(tenant_id, room)
    grant = _owners(caller) or access.grant(caller.viewer, place)
    if place is None:
        raise NotFound(f"no files of room {room!r} for this caller")
    return _opened("room", place.run_id, grant.only(place.run_id), f"room {room!r}", None)


async def _of_project(caller: Caller, project: str | None, conversation: str | None) -> TreeAccess:
    if conversation is None:
        grant = _owners(caller)
        if grant is None:
            raise InvalidInput(
                "say where, with conversation=...; without one, only an unbound admin key opens a project's files",
                "conversation",
            )
        project = _required(project, "the project")
        await facts.require_subject(caller.services.lookup, caller.viewer.tenant_id, FactSubject("project", project))
        return _opened("project", project_run(project), grant, f"project {project!r}", None)
    place, grant = await authorize.in_place(caller, conversation)
    if place.project is None or project not in {None, place.project.id}:
        raise NotFound(f"conversation {conversation!r} is not in {f'project {project!r}' if project else 'a project'}")
    run_id = project_run(place.project.id)
    shares = grant.shares & {run_id}
    narrowed = replace(grant.only(run_id), writes=None, shares=shares)
    return _opened("project", run_id, narrowed, f"project {place.project.id!r}", None)


def _owners(caller: Caller) -> Grant | None:
    grant = access.grant(caller.viewer, WholeTenant())
    return None if grant.is_nothing else grant


def _opened(kind: TreeKind, run_id: str, grant: Grant, whose: str, agent: str | None) -> TreeAccess:
    if grant.is_nothing:
        raise NotFound(f"no files of {whose} for this caller")
    return TreeAccess(Tree(kind, run_id, agent), grant)


def _required(id_: str | None, what: str) -> str:
    if id_ is None:
        raise InvalidInput(f"say which: {what} is not named, by id or by whom the request acts for", "id")
    return id_
