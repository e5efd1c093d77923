"""Making, finding and changing conversations. A conversation's place is named when it is made and then fixed."""

from dataclasses import dataclass, field
from typing import Any

from keepword.access import Everywhere, Place, Project, Viewer, grant
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.model import Conversation, Kind
from keepword.transcript.ports import Conversations, Doors

DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class NewConversation:
    """What a caller says of a conversation. `fields` holds only what was said: title, settings and so on."""

    kind: Kind | None = None
    user: str | None = None
    agent: str | None = None
    room: str | None = None
    project: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)


async def put(
    doors: Doors, store: Conversations, viewer: Viewer, external_id: str, wanted: NewConversation
) -> tuple[Conversation, bool]:
    """Make the conversation or update it; the flag tells whether it was made. Concurrent calls make one."""
    _require_self(viewer, wanted)
    existing = await doors.place(viewer.tenant_id, external_id)
    if existing is None:
        place = await _new_place(doors, viewer, external_id, wanted)
        opened = grant(viewer, place)
        _require_write(viewer, opened.writes, external_id)
        if await store.insert(opened, place, wanted.fields):
            return _found(await store.get(opened, external_id), external_id), True
        existing = await _winner(doors, viewer, place)
    _require_write(viewer, grant(viewer, existing).writes, external_id)
    _require_same_place(existing, wanted)
    return await change(store, viewer, existing, wanted.fields), False


async def change(store: Conversations, viewer: Viewer, place: Place, fields: dict[str, Any]) -> Conversation:
    opened = grant(viewer, place)
    _require_write(viewer, opened.writes, place.external_id)
    if not fields:
        return _found(await store.get(opened, place.external_id), place.external_id)
    return _found(await store.update(opened, place.external_id, fields), place.external_id)


async def _new_place(doors: Doors, viewer: Viewer, external_id: str, wanted: NewConversation) -> Place:
    kind = wanted.kind or ("room" if wanted.room else "session")
    agent = wanted.agent or viewer.agent or DEFAULT_AGENT
    if kind == "room":
        return await _in_room(doors, viewer, external_id, wanted, agent)
    if wanted.room is not None:
        raise InvalidInput(f"a conversation of kind {kind!r} has no room", "room")
    user = wanted.user or viewer.user
    if user is not None and not await doors.is_user(viewer.tenant_id, user):
        raise NotFound(f"no user {user!r}; make it with PUT /v1/users/{user}")
    if kind == "direct" and user is None:
        raise InvalidInput("a direct conversation needs its user", "user")
    project = None
    if wanted.project is not None:
        project = await _project(doors, viewer, wanted.project)
    return Place(kind, external_id, agent, user=user, project=project)


async def _in_room(doors: Doors, viewer: Viewer, external_id: str, wanted: NewConversation, agent: str) -> Place:
    if wanted.room is None:
        raise InvalidInput("a conversation of kind 'room' needs its room", "room")
    for name, value in (("user", wanted.user), ("project", wanted.project)):
        if value is not None:
            raise InvalidInput(f"a conversation in a room takes its {name} from the room", name)
    room = await doors.room(viewer.tenant_id, wanted.room)
    if room is None or grant(viewer, room).is_nothing:
        raise NotFound(f"no room {wanted.room!r}")
    if agent not in room.agents:
        join = f"PUT /v1/rooms/{room.room}/participants/agents/{agent}"
        raise NotFound(f"no agent {agent!r} in room {room.room!r}; let it join with {join}")
    return Place("room", external_id, agent, room=room.room, project=room.project, users=room.users, agents=room.agents)


async def _project(doors: Doors, viewer: Viewer, wanted: str) -> Project:
    # whoever puts a session into a project reads the whole project: that is for the tenant's owner to decide
    if grant(viewer, Everywhere()).is_nothing:
        raise Forbidden("only an admin key that is bound to no agent or user may put a conversation into a project")
    found = await doors.project(viewer.tenant_id, wanted)
    if found is None:
        raise NotFound(f"no project {wanted!r}")
    return found


async def _winner(doors: Doors, viewer: Viewer, place: Place) -> Place:
    """Return the conversation that was there first: the same external id, or the direct one of the same two."""
    found = await doors.place(viewer.tenant_id, place.external_id)
    if found is None and place.kind == "direct" and place.user is not None:
        other = await doors.direct(viewer.tenant_id, place.user, place.agent)
        found = await doors.place(viewer.tenant_id, other) if other else None
    if found is None:
        raise Conflict(f"conversation {place.external_id!r} could not be made; try again")
    return found


def _require_self(viewer: Viewer, wanted: NewConversation) -> None:
    for what, is_, asked in (("agent", viewer.agent, wanted.agent), ("user", viewer.user, wanted.user)):
        if is_ is not None and asked is not None and asked != is_:
            raise Forbidden(f"this request acts for the {what} {is_!r} and can't make a conversation of {asked!r}")


def _require_same_place(existing: Place, wanted: NewConversation) -> None:
    project = existing.project.id if existing.project else None
    for name, asked, is_now in (
        ("kind", wanted.kind, existing.kind),
        ("user", wanted.user, existing.user),
        ("agent", wanted.agent, existing.agent),
        ("room", wanted.room, existing.room),
        ("project", wanted.project, project),
    ):
        if asked is not None and asked != is_now:
            raise Conflict(
                f"conversation {existing.external_id!r} has {name} {is_now!r}; its place can't be changed here"
            )


def _require_write(viewer: Viewer, writes: str | None, external_id: str) -> None:
    if writes is not None:
        return
    if viewer.role == "reader":
        raise Forbidden("a key with the role 'reader' may not make or change a conversation")
    raise NotFound(f"no conversation {external_id!r}")


def _found(conversation: Conversation | None, external_id: str) -> Conversation:
    if conversation is None:
        raise NotFound(f"no conversation {external_id!r}")
    return conversation
