"""The tenant's API keys, for its owner."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from keepword.access import managed_keys
from keepword.access.keys import parse_lifetime
from keepword.access.managed_keys import KeyDraft
from keepword.answers import ApiKeyPage, NewApiKey
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_key_id_cursor
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import Body, Name, PathName, Slug
from keepword.model import KEYLESS_ID, KeyRole

router = APIRouter(prefix="/v1/keys", tags=["keys"])


class MakeKey(Body):
    """A key to make. An admin's that is bound to nobody manages the tenant."""

    role: KeyRole
    agent: Slug | None = Field(None, description="bind it to this agent")
    user: Name | None = Field(None, description="bind it to this user, who is made if new")
    expires: Annotated[str, Field(max_length=10)] | None = Field(
        None, description="how long it works, such as 90d, 12h or 1y; default: until it is revoked"
    )


MakeKeyDep = Annotated[MakeKey, Depends(JsonBody(MakeKey))]


@router.get("", response_model=ApiKeyPage, responses=documented())
async def list_keys(caller: CallerDep, query: Annotated[ListQuery, Query()]) -> Response:
    """List the tenant's keys, the newest first, also those that ended. Secrets are not stored."""
    grant = authorize.as_owner(caller)
    after = parse_key_id_cursor(query.cursor)
    keys = await caller.services.managed_keys.page(grant, after, query.limit + 1)
    return respond_page(ApiKeyPage, keys, query.limit, lambda one: one.id)


@router.post(
    "", response_model=NewApiKey, status_code=201, responses=documented(400, 409, 413, 415),
    openapi_extra=takes(MakeKey, {"role": "agent", "agent": "helper", "expires": "90d"}),
)  # fmt: skip
async def make_key(caller: CallerDep, body: MakeKeyDep) -> Response:
    """Make a key, and show its secret this once. The first key of a service is made on its machine."""
    services = caller.services
    grant = authorize.as_owner(caller)
    until = services.clock() + parse_lifetime(body.expires) if body.expires is not None else None
    draft = KeyDraft(body.role, body.agent, body.user, until)
    made = await managed_keys.make(services.managed_keys, grant, draft, by_key=caller.key.id != KEYLESS_ID)
    answer = respond(NewApiKey, made, 201)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.delete("/{key_id}", status_code=204, response_class=Response, responses=documented(404, 409))
async def revoke_key(caller: CallerDep, key_id: PathName) -> None:
    """Stop a key from working, from the next request on. The last one that manages the tenant stays."""
    await managed_keys.revoke(caller.services.managed_keys, authorize.as_owner(caller), key_id)
