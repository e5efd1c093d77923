"""Which users are introduced to which agents: with whom a key acts that is bound to an agent alone."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from keepword.access import Acquaintance, Grant, Viewer, grant
from keepword.answers import IntroducedPage
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond_page
from keepword.http.schemas import ListQuery, PathName, PathSlug
from keepword.http.services import Services

router = APIRouter(prefix="/v1/agents/{slug}/users", tags=["agents"])

_DONE: dict[str, Any] = {"status_code": 204, "response_class": Response, "responses": documented(404)}


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


@router.get("", response_model=IntroducedPage, responses=documented(404))
async def list_introduced(
    request: Request, caller: CallerDep, slug: PathSlug, query: Annotated[ListQuery, Query()]
) -> Response:
    """List the users who are introduced to an agent: to the owner and the agent all, to a user themselves."""
    opened = grant(caller.viewer, Acquaintance(slug))
    if opened.is_nothing:
        _require_somebody(caller.viewer)
        raise NotFound(f"no users of agent {slug!r} for this caller; act as that agent, or use an unbound admin key")
    users = await _services(request).registry.introduced(opened, slug, query.cursor or "", query.limit + 1)
    return respond_page(IntroducedPage, users, query.limit, lambda one: one.user)


@router.put("/{user}", **_DONE)
async def introduce_user(request: Request, caller: CallerDep, slug: PathSlug, user: PathName) -> None:
    """Introduce a user to an agent: from now on its key may have sessions with them and read their facts and profile.

    The tenant's owner does it, or a key bound to that user.
    """
    opened = _deciding(caller.viewer, slug, user)
    services = _services(request)
    if not await services.lookup.is_user(caller.viewer.tenant_id, user):
        raise NotFound(f"no user {user!r}; make it with PUT /v1/users/{user}")
    await services.registry.introduce(opened, slug, user, caller.key.id)


@router.delete("/{user}", **_DONE)
async def withdraw_user(request: Request, caller: CallerDep, slug: PathSlug, user: PathName) -> None:
    """Withdraw an introduction: the next call of the agent's key finds no conversation with the user any more."""
    opened = _deciding(caller.viewer, slug, user)
    if not await _services(request).registry.withdraw(opened, slug, user, caller.key.id):
        raise NotFound(f"no user {user!r} is introduced to the agent {slug!r}")


def _deciding(viewer: Viewer, slug: str, user: str) -> Grant:
    opened = grant(viewer, Acquaintance(slug, user))
    if not opened.everything and opened.writes is None:
        _require_somebody(viewer)
        raise Forbidden(
            f"only the tenant's owner (an admin key bound to nobody) and a key bound to the user {user!r} decide "
            "to whom they are introduced"
        )
    return opened


def _require_somebody(viewer: Viewer) -> None:
    """Raise InvalidInput where a key that is bound to nobody, and is not the owner's, names nobody either."""
    if viewer.agent is None and viewer.user is None:
        raise InvalidInput("say for whom, with the header Keepword-Agent or Keepword-User")
