"""All grants of the routes: what a caller may do in the place where its request acts.

Absent and forbidden look the same: who may not know of a thing is told that it is not there.
"""

from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from keepword import access, facts, transcript
from keepword.access import (
    Acquaintance,
    AgentSessions,
    Grant,
    ItemOwner,
    Place,
    TenantSettings,
    Viewer,
    WholeTenant,
    is_owner,
    not_introduced,
)
from keepword.errors import Conflict, Forbidden, InvalidInput, NotFound
from keepword.facts import FactSubject
from keepword.http.guards import Caller
from keepword.http.queries import MessageQuery
from keepword.memories import operations as memories
from keepword.model import Reach
from keepword.transcript import NewConversation


def as_owner(caller: Caller) -> Grant:
    """Return the grant of the tenant's owner, or refuse."""
    grant = access.grant(caller.viewer, WholeTenant())
    if grant.is_nothing:
        raise Forbidden(
            "this manages the whole tenant; it needs an admin key that is bound to no agent or user, "
            "and no header Keepword-Agent or Keepword-User"
        )
    return grant


def in_conversation(caller: Caller, external_id: str, hint: str = "") -> tuple[Place, Grant]:
    """Return the place of the conversation that the path names, and what the caller may do there."""
    return _opened(caller.viewer, caller.place, f"no conversation {external_id!r}{hint}")


def in_known_conversation(caller: Caller, external_id: str) -> tuple[Grant, Place] | None:
    """Return a conversation that AEGIS' clients never announced; one that may not be read is as unknown as any."""
    try:
        place, grant = in_conversation(caller, external_id)
    except NotFound:
        return None
    return grant, place


async def in_known_or_new_conversation(caller: Caller, external_id: str) -> tuple[Grant, Place]:
    """Return the conversation that the path names, or make a session with that id for the caller."""
    if caller.place is None:
        services, viewer = caller.services, caller.viewer
        session = NewConversation(unannounced=True)
        await transcript.put(services.lookup, services.conversations, viewer, external_id, session, caller.key.id)
        caller = caller._replace(place=await services.lookup.place(viewer.tenant_id, external_id))
    else:
        transcript.require_entry(caller.viewer, caller.place, external_id)
        transcript.require_named(caller.viewer, caller.place, caller.key.id)
    place, grant = in_conversation(caller, external_id)
    return grant, place


async def in_named_session(
    caller: Caller, external_id: str, agent: str, user: str | None, fields: dict[str, Any]
) -> tuple[Place, Grant]:
    """Return the session of an agent and a user under a name of a protocol's own; the first call makes it."""
    services, viewer = caller.services, caller.viewer
    place = await find_place(caller, external_id)
    if place is None:
        session = NewConversation("session", user, agent, fields=fields, unannounced=True)
        await transcript.put(services.lookup, services.conversations, viewer, external_id, session, caller.key.id)
        place = await services.lookup.place(viewer.tenant_id, external_id)
    if place is not None:
        transcript.require_entry(viewer, place, external_id)
        transcript.require_named(viewer, place, caller.key.id, agent, user)
        if (place.kind, place.agent, place.user) != ("session", agent, user):
            raise Conflict(f"conversation {external_id!r} is of others than these; choose other ids")
    return _opened(viewer, place, f"no conversation {external_id!r}")


async def in_sessions_or_tenant(caller: Caller, agent: str, user: str | None) -> Grant:
    """Return what may be read without a conversation: the tenant for its owner, else an agent's sessions with a user.

    The agent and the user are those that the request asks for; whom the caller acts for goes before them.
    """
    viewer = caller.viewer
    owner = access.grant(viewer, WholeTenant())
    if not owner.is_nothing:
        return owner
    named = viewer.user or user
    grant = await across_sessions(caller, viewer.agent or agent, named)
    if grant.is_nothing and named is None:
        raise InvalidInput(
            "name one user (user_id); without one this reads all users, which needs an admin key bound to no user",
            "user_id",
        )
    if grant.is_nothing:
        raise Forbidden(f"this key may not read the sessions of that agent with the user {named!r}")
    return grant


async def in_place(caller: Caller, conversation: str) -> tuple[Place, Grant]:
    """Return the place of a conversation that the query or the body names, and what the caller may do there."""
    return _opened(caller.viewer, await find_place(caller, conversation), f"no conversation {conversation!r}")


async def in_place_or_tenant(
    caller: Caller, conversation: str | None, reach: Reach | None = None
) -> tuple[Place | None, Grant]:
    """Return what may be read in a conversation's place; without one, the whole tenant, for its owner.

    `reach` is what this call asks for in place of what was chosen for the session.
    """
    if conversation is not None:
        place, _ = await in_place(caller, conversation)
        return with_reach(caller.viewer, place, reach)
    if reach is not None:
        raise InvalidInput("reach is of a conversation; name the one in whose place to read", "reach")
    grant = access.grant(caller.viewer, WholeTenant())
    if grant.is_nothing:
        raise Forbidden(
            "without a conversation this reads the whole tenant, which needs an admin key bound to no agent or "
            "user; name the conversation in whose place to read"
        )
    return None, grant


def to_read_transcript(caller: Caller, grant: Grant, query: MessageQuery) -> Grant:
    """Show the tenant's owner retracted messages as well, unless they act for somebody or do not ask for them."""
    viewer = caller.viewer
    acts_for_nobody = viewer.agent is None and viewer.user is None
    return replace(grant, retracted=query.retracted and is_owner(viewer) and acts_for_nobody)


async def in_turn(caller: Caller, viewer: Viewer, conversation: str) -> tuple[Place, Grant]:
    """Return the place of a turn, and what may be read there on behalf of whom the body names."""
    missing = f"no conversation {conversation!r}, or whoever is named here is not in it"
    return _opened(viewer, await find_place(caller, conversation), missing)


def with_reach(viewer: Viewer, place: Place, reach: Reach | None) -> tuple[Place, Grant]:
    """Return the place as a call with the reach sees it, and what may be read there."""
    reached = replace(place, asked_reach=reach)
    return reached, access.grant(viewer, reached)


async def in_room(caller: Caller, room: str) -> Grant:
    place, grant = _opened(
        caller.viewer, await caller.services.lookup.room(caller.viewer.tenant_id, room), f"no room {room!r}"
    )
    return grant.only(place.run_id)


async def to_list(caller: Caller) -> Grant:
    """Return the grant for listing places: the owner's, or that of the agent or user who is named."""
    viewer = caller.viewer
    if viewer.agent is None and viewer.user is None:
        grant = access.grant(viewer, WholeTenant())
        if grant.is_nothing:
            raise InvalidInput("say whose to list, with the header Keepword-Agent or Keepword-User")
        return grant
    return access.grant(viewer, await caller.services.lookup.roster(viewer.tenant_id, viewer.agent, viewer.user))


async def across_sessions(caller: Caller, agent: str, user: str | None) -> Grant:
    """Return what may be read of an agent's sessions, of one user or of all; nothing where it acts for others.

    Raises NotFound for an agent's own key and a user who was not introduced to it.
    """
    return _across(caller.viewer, await caller.services.lookup.across(caller.viewer.tenant_id, agent, user))


async def about_user(caller: Caller, user: str) -> Grant:
    """Return what may be read about a user for the agent that is named, as `across_sessions`, but of no session."""
    viewer, lookup = caller.viewer, caller.services.lookup
    agent = viewer.agent or ""
    introduced = viewer.is_bot and await lookup.is_introduced(viewer.tenant_id, agent, user)
    settings = await lookup.settings(viewer.tenant_id)
    return _across(viewer, AgentSessions(agent, user, settings=settings, introduced=introduced))


async def about_subject(caller: Caller, subject: FactSubject | None, conversation: str | None) -> Grant:
    """Return what may be done with facts in the conversation's place, or where the subject itself says where that is.

    Without a subject: with all facts.
    """
    if conversation is not None:
        return (await in_place(caller, conversation))[1]
    viewer, lookup = caller.viewer, caller.services.lookup
    owner = access.grant(viewer, WholeTenant())
    if not owner.is_nothing:
        if subject is not None:
            await facts.require_subject(lookup, viewer.tenant_id, subject)
        return owner
    match subject:
        case FactSubject("room", str(room)):
            return access.grant(viewer, await lookup.room(viewer.tenant_id, room))
        case FactSubject("user", str(user)):
            return await about_user(caller, user)
    raise InvalidInput(
        "say where, with conversation=...; without one, only an unbound admin key reads and writes these facts",
        "conversation",
    )


async def of_derived(caller: Caller, id_: UUID, what: str) -> tuple[Place, Grant]:
    """Return the place that a summary or a landmark belongs to, and what may be done there."""
    tenant_id, lookup = caller.viewer.tenant_id, caller.services.lookup
    name = await lookup.derived(tenant_id, id_)
    place = await lookup.place(tenant_id, name) if name is not None else None
    return _opened(caller.viewer, place, f"no {what} {id_}")


async def of_memory(caller: Caller, memory_id: UUID, conversation: str | None) -> tuple[Place | None, Grant]:
    """Return the place that a memory belongs to, and what may be read there.

    A project's memory belongs to no conversation: it is read in the place of the one that is named, or by the owner.
    """
    its_own = await caller.services.lookup.derived(caller.viewer.tenant_id, memory_id)
    named = its_own if its_own is not None else conversation
    place = await find_place(caller, named) if named is not None else None
    grant = access.grant(caller.viewer, WholeTenant() if named is None else place)
    if grant.is_nothing:
        raise memories.absent(memory_id)
    return place if its_own is not None else None, grant


async def to_change_memory(
    caller: Caller, memory_id: UUID, conversation: str | None, *, deleted: bool = False
) -> Grant:
    place, grant = await of_memory(caller, memory_id, conversation)
    if place is not None:
        transcript.require_append(grant, caller.viewer, place)
        return grant
    memory = await memories.get(caller.services.memories, grant, memory_id, deleted=deleted)
    if not grant.lets_share(memory.run_id):
        raise memories.not_shared(memory.run_id)
    return grant


async def own_settings(caller: Caller) -> TenantSettings:
    """Return the settings of the caller's tenant, for what reads nothing that is stored."""
    return await caller.services.lookup.settings(caller.viewer.tenant_id) or TenantSettings()


def to_speak_for_user(caller: Caller, user: str, what: Literal["erase", "export"]) -> Grant:
    """Let a user's own key erase or export them, and the tenant's owner everybody; for others nobody is there."""
    viewer = caller.viewer
    if viewer.user == user and viewer.bound_to == "user" and viewer.agent is None:
        return replace(access.grant(viewer, None), vouches=True)
    grant = access.grant(viewer, WholeTenant())
    if grant.is_nothing:
        raise NotFound(f"no user {user!r} whom this key may {what}")
    return grant


def to_follow_erasure(caller: Caller) -> Grant:
    """Return the grant for asking how far an erasure is: the owner's, or the caller's own key."""
    grant = access.grant(caller.viewer, WholeTenant())
    return access.grant(caller.viewer, None) if grant.is_nothing else grant


def require_agent(caller: Caller, slug: str) -> None:
    """Refuse writes in an agent's name to a person's key, whichever agent the request names."""
    if caller.viewer.is_person:
        raise Forbidden(
            f"this would be written by the agent {slug!r}, and this key speaks as the user {caller.viewer.user!r} "
            "alone; use a key that is bound to the agent, or to nobody"
        )


def to_read_files(caller: Caller, slug: str) -> Grant:
    """Let an agent read its own files, and the tenant's owner all.

    A person's key names an agent only to say whom it talks to: it reads no files.
    """
    if caller.viewer.agent == slug and not caller.viewer.is_person:
        return access.grant(caller.viewer, None)
    grant = access.grant(caller.viewer, WholeTenant())
    if grant.is_nothing:
        raise NotFound(f"no files of agent {slug!r} for this caller; act as that agent, or use an unbound admin key")
    return grant


async def to_use_items(caller: Caller) -> Grant:
    """Return the grant for the items of the agent and user for whom the request acts, or of those who name neither."""
    viewer, lookup = caller.viewer, caller.services.lookup
    agent, user = viewer.agent, viewer.user
    introduced = False
    if viewer.is_bot and agent is not None and user is not None:
        introduced = await lookup.is_introduced(viewer.tenant_id, agent, user)
        if not introduced:
            raise not_introduced(agent, user)
    return access.grant(viewer, ItemOwner(agent, user, introduced))


def to_list_introductions(caller: Caller, slug: str) -> Grant:
    grant = access.grant(caller.viewer, Acquaintance(slug))
    if grant.is_nothing:
        _require_somebody(caller.viewer)
        raise NotFound(f"no users of agent {slug!r} for this caller; act as that agent, or use an unbound admin key")
    return grant


def to_introduce(caller: Caller, slug: str, user: str) -> Grant:
    grant = access.grant(caller.viewer, Acquaintance(slug, user))
    if not grant.everything and grant.writes is None:
        _require_somebody(caller.viewer)
        raise Forbidden(
            f"only the tenant's owner (an admin key bound to nobody) and a key bound to the user {user!r} decide "
            "to whom they are introduced"
        )
    return grant


async def find_place(caller: Caller, conversation: str) -> Place | None:
    """Return a conversation's place: the one that was found with the key, or look it up now."""
    if caller.conversation == conversation:
        return caller.place
    return await caller.services.lookup.place(caller.viewer.tenant_id, conversation)


def _opened(viewer: Viewer, place: Place | None, missing: str) -> tuple[Place, Grant]:
    grant = access.grant(viewer, place)
    if place is None or grant.is_nothing:
        raise NotFound(missing)
    return place, grant


def _across(viewer: Viewer, place: AgentSessions) -> Grant:
    grant = access.grant(viewer, place)
    is_own = viewer.agent == place.agent and viewer.user in {None, place.user}
    if grant.is_nothing and viewer.is_bot and is_own and place.user is not None and not place.introduced:
        raise not_introduced(place.agent, place.user)
    return grant


def _require_somebody(viewer: Viewer) -> None:
    """Raise InvalidInput where a key that is bound to nobody, and is not the owner's, names nobody either."""
    if viewer.agent is None and viewer.user is None:
        raise InvalidInput("say for whom, with the header Keepword-Agent or Keepword-User")
