"""Which users are introduced to which agents: with whom a key acts that is bound to an agent alone."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from keepword.answers import IntroducedPage
from keepword.errors import NotFound
from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import respond_page
from keepword.http.schemas import PathName, PathSlug

router = APIRouter(prefix="/v1/agents/{slug}/users", tags=["agents"])

_DONE: dict[str, Any] = {"status_code": 204, "response_class": Response, "responses": documented(404)}


@router.get("", response_model=IntroducedPage, responses=documented(404))
async def list_introduced(caller: CallerDep, slug: PathSlug, query: Annotated[ListQuery, Query()]) -> Response:
    """List the users who are introduced to an agent: to the owner and the agent all, to a user themselves."""
    grant = authorize.to_list_introductions(caller, slug)
    users = await caller.services.registry.introduced(grant, slug, query.cursor or "", query.limit + 1)
    return respond_page(IntroducedPage, users, query.limit, lambda one: one.user)


@router.put("/{user}", **_DONE)
async def introduce_user(caller: CallerDep, slug: PathSlug, user: PathName) -> None:
    """Introduce a user to an agent: from now on its key may have sessions with them and read their facts and profile.

    The tenant's owner does it, or a key bound to that user.
    """
    grant = authorize.to_introduce(caller, slug, user)
    services = caller.services
    if not await services.lookup.is_user(caller.viewer.tenant_id, user):
        raise NotFound(f"no user {user!r}; make it with PUT /v1/users/{user}")
    await services.registry.introduce(grant, slug, user, caller.key.id)


@router.delete("/{user}", **_DONE)
async def withdraw_user(caller: CallerDep, slug: PathSlug, user: PathName) -> None:
    """Withdraw an introduction: the next call of the agent's key finds no conversation with the user any more."""
    grant = authorize.to_introduce(caller, slug, user)
    if not await caller.services.registry.withdraw(grant, slug, user, caller.key.id):
        raise NotFound(f"no user {user!r} is introduced to the agent {slug!r}")
