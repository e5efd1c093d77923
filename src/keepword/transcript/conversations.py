"""Making, finding and changing conversations. A conversation's place is named when it is made and then fixed."""

from dataclasses import dataclass, field, replace
from typing import Any

from keepword import access
from keepword.access import Place, Project, Viewer, WholeTenant, not_introduced
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.model import KEYLESS_ID, Conversation, Kind
from keepword.transcript.ports import Assignment, Conversations, PlaceLookup

DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A caller's request for a conversation. `fields` holds the fields that the request has: title, settings and so on.

    `unannounced`: the caller's protocol has no call to make a conversation or a user. Then an unknown user is made, an
    agent that nobody names stays open until somebody does, and the session reads all of its user's with its agent.
    """

    kind: Kind | None = None
    user: str | None = None
    agent: str | None = None
    room: str | None = None
    project: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    unannounced: bool = False


async def put(
    lookup: PlaceLookup,
    store: Conversations,
    viewer: Viewer,
    external_id: str,
    new_conversation: NewConversation,
    key_id: str | None = None,
) -> tuple[Conversation, bool]:
    """Make the conversation or update it; the flag tells whether it was made. Concurrent calls make one.

    A second direct conversation of the same two is the first one under a further name.
    """
    _require_self(viewer, new_conversation)
    if viewer.is_bot and viewer.agent is not None and new_conversation.user is not None:
        # before anything else: the answer must not tell whether there is such a user, or such a conversation
        await _require_user(
            lookup, viewer, viewer.agent, new_conversation.user, unannounced=new_conversation.unannounced
        )
    existing = await lookup.place(viewer.tenant_id, external_id)
    if existing is None:
        place = await _new_place(lookup, viewer, external_id, new_conversation)
        grant = access.grant(viewer, place)
        _require_write(viewer, grant.writes, external_id)
        if new_conversation.unannounced and place.user is not None:
            await store.make_user(grant, place.user)
        made = await store.insert(grant, place, _first_fields(new_conversation, place), key_id)
        if made is not None:
            return made, True
        existing = await _winner(lookup, store, viewer, place)
    require_entry(viewer, existing, external_id)
    if new_conversation.agent is None and new_conversation.user is None:
        require_named(viewer, existing, key_id)
    _require_write(viewer, access.grant(viewer, existing).writes, external_id)
    existing = await assign(lookup, store, viewer, existing, new_conversation, key_id)
    _require_same_place(existing, new_conversation)
    return await change(store, viewer, existing, new_conversation.fields), False


async def assign(
    lookup: PlaceLookup,
    store: Conversations,
    viewer: Viewer,
    place: Place,
    new_conversation: NewConversation,
    key_id: str | None = None,
) -> Place:
    """Give a session the agent and the user that it lacks and that are wanted, and return it as it is then.

    It needs a viewer who may write there as it is now: who acts for one agent or user does not get at what was open to
    none of them. A session with messages gets its user from a viewer who acts for nobody in particular.
    """
    grant = access.grant(viewer, place)
    agent = new_conversation.agent if place.agent_open else None
    user = new_conversation.user if place.user is None else None
    if place.kind != "session" or grant.writes is None or (agent is None and user is None):
        return place
    if user is not None:
        await _require_user(lookup, viewer, agent or place.agent, user, unannounced=new_conversation.unannounced)
        if new_conversation.unannounced:
            await store.make_user(grant, user)
    is_anybody = viewer.agent is None and viewer.user is None
    await store.assign(grant, place, Assignment(agent, user, is_anybody, key_id))
    # a concurrent call may have been first: the stored agent and user count
    return await lookup.place(viewer.tenant_id, place.external_id) or place


def require_entry(viewer: Viewer, place: Place, external_id: str) -> None:
    """Raise Conflict for an id that is another's.

    All conversations share one namespace: that an id is taken can't be hidden from who would make a conversation under
    it. By whom, and why it is closed, is told to nobody.
    """
    if access.grant(viewer, place).is_nothing:
        raise Conflict(f"the id {external_id!r} can't be used by this key; choose another, such as one with a prefix")


def require_named(
    viewer: Viewer, place: Place, key_id: str | None, agent: str | None = None, user: str | None = None
) -> None:
    """Raise Conflict where a key bound to nobody would write into what a bound key made, and does not name whose it is.

    Somebody may have taken in advance an id that a platform uses later, to read what is written there.
    """
    if not place.by_bound_key or viewer.bound_to != "nobody" or key_id == KEYLESS_ID:
        return
    is_agents = place.agent_open or (agent or viewer.agent) in place.agents | {place.agent}
    if not is_agents or place.user not in {None, user or viewer.user}:
        raise Conflict(
            f"conversation {place.external_id!r} was made by a key that is bound to an agent or a user; to write there "
            "with a key that is bound to nobody, name its agent and its user (Keepword-Agent, Keepword-User), or "
            "choose another id"
        )


async def change(store: Conversations, viewer: Viewer, place: Place, fields: dict[str, Any]) -> Conversation:
    grant = access.grant(viewer, place)
    _require_write(viewer, grant.writes, place.external_id)
    _require_reach(fields, place)
    if fields:
        conversation = await store.update(grant, place.external_id, fields)
    else:
        conversation = await store.get(grant, place.external_id)
    return replace(_require(conversation, place.external_id), alias=place.alias)


def _first_fields(new_conversation: NewConversation, place: Place) -> dict[str, Any]:
    fields = new_conversation.fields
    _require_reach(fields, place)
    return {"reach": "user"} | fields if new_conversation.unannounced and place.kind == "session" else fields


def _require_reach(fields: dict[str, Any], place: Place) -> None:
    if fields.get("reach") is not None and place.kind != "session":
        raise InvalidInput(f"a conversation of kind {place.kind!r} has no reach; only a session chooses one", "reach")


async def _new_place(lookup: PlaceLookup, viewer: Viewer, external_id: str, new_conversation: NewConversation) -> Place:
    kind = new_conversation.kind or ("room" if new_conversation.room else "session")
    agent = new_conversation.agent or viewer.agent or DEFAULT_AGENT
    if kind == "room":
        return await _in_room(lookup, viewer, external_id, new_conversation, agent)
    if new_conversation.room is not None:
        raise InvalidInput(f"a conversation of kind {kind!r} has no room", "room")
    user = new_conversation.user or viewer.user
    if user is not None:
        await _require_user(lookup, viewer, agent, user, unannounced=new_conversation.unannounced)
    if kind == "direct" and user is None:
        raise InvalidInput("a direct conversation needs its user", "user")
    project = None
    if new_conversation.project is not None:
        project = await _project(lookup, viewer, new_conversation.project)
    agent_open = new_conversation.unannounced and new_conversation.agent is None and viewer.agent is None
    return Place(
        # a caller who needs an introduction was checked for one above
        kind, external_id, agent, user=user, project=project, agent_open=agent_open, introduced=user is not None,
        by_bound_key=viewer.bound_to != "nobody",
    )  # fmt: skip


async def _require_user(lookup: PlaceLookup, viewer: Viewer, agent: str, user: str, *, unannounced: bool) -> None:
    """Raise NotFound if there is no such user, or for an agent's own key if they were not introduced to it."""
    if viewer.is_bot:
        if not await lookup.is_introduced(viewer.tenant_id, agent, user):
            raise not_introduced(agent, user)
    elif not unannounced and not await lookup.is_user(viewer.tenant_id, user):
        raise NotFound(f"no user {user!r}; make it with PUT /v1/users/{user}")


async def _in_room(
    lookup: PlaceLookup, viewer: Viewer, external_id: str, new_conversation: NewConversation, agent: str
) -> Place:
    if new_conversation.room is None:
        raise InvalidInput("a conversation of kind 'room' needs its room", "room")
    for name, value in (("user", new_conversation.user), ("project", new_conversation.project)):
        if value is not None:
            raise InvalidInput(f"a conversation in a room takes its {name} from the room", name)
    room = await lookup.room(viewer.tenant_id, new_conversation.room)
    if room is None or access.grant(viewer, room).is_nothing:
        raise NotFound(f"no room {new_conversation.room!r}")
    if agent not in room.agents:
        join = f"PUT /v1/rooms/{room.room}/participants/agents/{agent}"
        raise NotFound(f"no agent {agent!r} in room {room.room!r}; let it join with {join}")
    return Place(
        "room", external_id, agent, room=room.room, project=room.project, users=room.users, agents=room.agents,
        by_bound_key=viewer.bound_to != "nobody",
    )  # fmt: skip


async def _project(lookup: PlaceLookup, viewer: Viewer, project_id: str) -> Project:
    # a session in a project reads the whole project: only the tenant's owner may put it there
    if access.grant(viewer, WholeTenant()).is_nothing:
        raise Forbidden("only an admin key that is bound to no agent or user may put a conversation into a project")
    project = await lookup.project(viewer.tenant_id, project_id)
    if project is None:
        raise NotFound(f"no project {project_id!r}")
    return project


async def _winner(lookup: PlaceLookup, store: Conversations, viewer: Viewer, place: Place) -> Place:
    """Return the conversation that was there first: of the same name, or the direct one of the same two."""
    existing = await lookup.place(viewer.tenant_id, place.external_id)
    if existing is None and place.kind == "direct" and place.user is not None:
        name = await lookup.direct(viewer.tenant_id, place.user, place.agent)
        direct = await lookup.place(viewer.tenant_id, name) if name else None
        if direct and await store.add_alias(access.grant(viewer, direct), direct, place.external_id):
            existing = replace(direct, alias=place.external_id)
    if existing is None:
        raise Conflict(f"conversation {place.external_id!r} could not be made; try again")
    return existing


def _require_self(viewer: Viewer, new_conversation: NewConversation) -> None:
    for what, is_, requested in (
        ("agent", viewer.agent, new_conversation.agent),
        ("user", viewer.user, new_conversation.user),
    ):
        if is_ is not None and requested is not None and requested != is_:
            raise Forbidden(f"this request acts for the {what} {is_!r} and can't make a conversation of {requested!r}")


def _require_same_place(existing: Place, new_conversation: NewConversation) -> None:
    project = existing.project.id if existing.project else None
    for name, requested, is_now in (
        ("kind", new_conversation.kind, existing.kind),
        ("user", new_conversation.user, existing.user),
        ("agent", new_conversation.agent, existing.agent),
        ("room", new_conversation.room, existing.room),
        ("project", new_conversation.project, project),
    ):
        if requested is None or requested == is_now:
            continue
        if (existing.kind, name, is_now) == ("session", "user", None):
            raise Conflict(
                f"conversation {existing.external_id!r} has messages and no user; only a request that acts for no "
                "agent or user in particular (a key bound to neither) may name its user now"
            )
        raise Conflict(f"conversation {existing.external_id!r} has {name} {is_now!r}; its place can't be changed here")


def _require_write(viewer: Viewer, writes: str | None, external_id: str) -> None:
    if writes is not None:
        return
    if viewer.role == "reader":
        raise Forbidden("a key with the role 'reader' may not make or change a conversation")
    raise NotFound(f"no conversation {external_id!r}")


def _require(conversation: Conversation | None, external_id: str) -> Conversation:
    if conversation is None:
        raise NotFound(f"no conversation {external_id!r}")
    return conversation
