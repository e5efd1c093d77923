"""Finding the place that a request is about, and writing JSON answers."""

from keepword.access import AgentSessions, Grant, Place, Viewer, WholeTenant, grant, not_introduced
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.http.guards import Caller
from keepword.http.services import Services


def enter(caller: Caller, external_id: str, hint: str = "") -> tuple[Place, Grant]:
    """Return the conversation's place and what the caller may do there; absent and forbidden look the same."""
    opened = grant(caller.viewer, caller.place)
    if caller.place is None or opened.is_nothing:
        raise NotFound(f"no conversation {external_id!r}{hint}")
    return caller.place, opened


def own(viewer: Viewer) -> Grant:
    """Return the grant of the tenant's owner, or refuse."""
    opened = grant(viewer, WholeTenant())
    if opened.is_nothing:
        raise Forbidden(
            "this manages the whole tenant; it needs an admin key that is bound to no agent or user, "
            "and no header Keepword-Agent or Keepword-User"
        )
    return opened


async def place_of(services: Services, caller: Caller, conversation: str) -> Place | None:
    """Return a conversation's place: what was found with the key, or looked up now."""
    if caller.conversation == conversation:
        return caller.place
    return await services.lookup.place(caller.viewer.tenant_id, conversation)


async def look_in(services: Services, caller: Caller, conversation: str | None) -> tuple[Place | None, Grant]:
    """Return what may be read in a conversation's place; without one, the whole tenant, for its owner."""
    viewer = caller.viewer
    if conversation is None:
        opened = grant(viewer, WholeTenant())
        if opened.is_nothing:
            raise Forbidden(
                "without a conversation this reads the whole tenant, which needs an admin key bound to no agent or "
                "user; name the conversation in whose place to read"
            )
        return None, opened
    place = await place_of(services, caller, conversation)
    opened = grant(viewer, place)
    if opened.is_nothing:
        raise NotFound(f"no conversation {conversation!r}")
    return place, opened


async def list_grant(services: Services, viewer: Viewer) -> Grant:
    """Return the grant for listing places: the owner's, or that of the agent or user who is named."""
    if viewer.agent is None and viewer.user is None:
        opened = grant(viewer, WholeTenant())
        if opened.is_nothing:
            raise InvalidInput("say whose to list, with the header Keepword-Agent or Keepword-User")
        return opened
    return grant(viewer, await services.lookup.roster(viewer.tenant_id, viewer.agent, viewer.user))


async def look_across(services: Services, viewer: Viewer, agent: str, user: str | None) -> Grant:
    """Return what may be read of an agent's sessions, of one user or of all; nothing where it acts for others.

    Raises NotFound for an agent's own key and a user who was not introduced to it.
    """
    return _grant_across(viewer, await services.lookup.across(viewer.tenant_id, agent, user))


async def look_at_user(services: Services, viewer: Viewer, user: str) -> Grant:
    """Return what may be read about a user for the agent that is named, as `look_across`, but of no session."""
    agent, tenant_id = viewer.agent or "", viewer.tenant_id
    introduced = viewer.is_bot and await services.lookup.is_introduced(tenant_id, agent, user)
    settings = await services.lookup.settings(tenant_id)
    return _grant_across(viewer, AgentSessions(agent, user, settings=settings, introduced=introduced))


def _grant_across(viewer: Viewer, place: AgentSessions) -> Grant:
    opened = grant(viewer, place)
    is_own = viewer.agent == place.agent and viewer.user in {None, place.user}
    if opened.is_nothing and viewer.is_bot and is_own and place.user is not None and not place.introduced:
        raise not_introduced(place.agent, place.user)
    return opened
