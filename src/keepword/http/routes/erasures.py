"""Erasing messages, conversations, users and the tenant, and telling how far an erasure is."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from keepword.answers import Erasure
from keepword.erasure import erase
from keepword.erasure.erase import EraseStores
from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import EraseQuery
from keepword.http.responses import require, respond
from keepword.http.routes.retractions import PathSeq, retract_stores
from keepword.http.schemas import PathName
from keepword.http.services import Services

router = APIRouter(prefix="/v1", tags=["erasure"])

Asked = Annotated[EraseQuery, Query()]
_PROBLEMS = documented(404, 409)


@router.delete("/conversations/{external_id}/messages/{seq}", response_model=Erasure, responses=_PROBLEMS)
async def erase_message(caller: CallerDep, external_id: PathName, seq: PathSeq, query: Asked) -> Response:
    """Erase a message for good, by the rights of a retraction: its words, and what was derived from it alone."""
    place, grant = authorize.in_conversation(caller, external_id)
    services = caller.services
    erasure = await erase.erase_message(
        stores(services), retract_stores(services), grant, caller.viewer, place, seq, dry_run=query.dry_run
    )
    return respond(Erasure, erasure)


@router.delete("/conversations/{external_id}", response_model=Erasure, responses=_PROBLEMS)
async def erase_conversation(caller: CallerDep, external_id: PathName, query: Asked) -> Response:
    """Erase a conversation for good. Its user may, and an admin who may write there.

    From this answer on nobody reads it; `GET /v1/erasures/{id}` tells when its rows are gone.
    """
    place, grant = authorize.in_conversation(caller, external_id)
    erasure = await erase.erase_conversation(
        stores(caller.services), grant, caller.viewer, place, dry_run=query.dry_run
    )
    return respond(Erasure, erasure)


@router.delete("/users/{user}", response_model=Erasure, responses=_PROBLEMS)
async def erase_user(caller: CallerDep, user: PathName, query: Asked) -> Response:
    """Erase a user for good: what they said, their conversations, profile, facts, memories and keys.

    The tenant's owner may, and a key that is bound to the user.
    """
    grant = authorize.to_speak_for_user(caller, user, "erase")
    return respond(Erasure, await erase.erase_user(stores(caller.services), grant, user, dry_run=query.dry_run))


@router.delete("/tenant", response_model=Erasure, responses=_PROBLEMS)
async def erase_tenant(caller: CallerDep, query: Asked) -> Response:
    """Erase all that the key's tenant has, and revoke its keys, this one too."""
    grant = authorize.as_owner(caller)
    return respond(Erasure, await erase.erase_tenant(stores(caller.services), grant, dry_run=query.dry_run))


@router.get("/erasures/{erasure_id}", response_model=Erasure, responses=documented(404))
async def get_erasure(caller: CallerDep, erasure_id: UUID) -> Response:
    """Tell how far an erasure is: the tenant's owner, and the key that asked for it."""
    found = await caller.services.erasures.find(authorize.to_follow_erasure(caller), erasure_id)
    return respond(Erasure, require(found, f"no erasure {erasure_id}"))


def stores(services: Services) -> EraseStores:
    return EraseStores(services.erasures, services.erasure_queue, services.memories, services.reader)
