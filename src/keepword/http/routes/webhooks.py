"""Webhooks: addresses that are told when a memory, fact, profile or summary changes."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from keepword.answers import MadeWebhook, Webhook, WebhookDelivery, WebhookDeliveryPage, WebhookPage, WebhookTest
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import require, respond, respond_page
from keepword.http.schemas import Body, given
from keepword.webhooks.events import MAX_URL_CHARS, check_events, check_url, new_secret
from keepword.webhooks.ports import WebhookDraft

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])

MAX_NAME_CHARS = 200
MAX_EVENTS = 50
_EXAMPLE = {"url": "https://example.com/keepword", "events": ["memory", "fact.set"], "name": "crm"}
_ABSENT = "no such webhook; GET /v1/webhooks lists them"
_WRITTEN = documented(400, 404, 413, 415)

HookName = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
Url = Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARS)]
Events = Annotated[list[str], Field(min_length=1, max_length=MAX_EVENTS)]


class AddWebhook(Body):
    """Whom to tell of what."""

    url: Url = Field(description="where deliveries are POSTed to; a public address, unless the service allows others")
    events: Events = Field(description="such as `memory.added`, `memory` for all of memories, `*` for all")
    name: HookName = ""


class ChangeWebhook(Body):
    """What to change; the rest stays. `is_active` true starts one again that was stopped."""

    url: Url | None = None
    events: Events | None = None
    name: HookName | None = None
    is_active: bool | None = None


@router.get("", response_model=WebhookPage, responses=documented())
async def list_webhooks(caller: CallerDep, query: Annotated[ListQuery, Query()]) -> Response:
    """List the tenant's webhooks, the oldest first, without their secrets."""
    grant = authorize.as_owner(caller)
    hooks = await caller.services.webhooks.page(grant, parse_time_cursor(query.cursor), query.limit + 1)
    return respond_page(WebhookPage, hooks, query.limit, lambda hook: time_cursor(hook.created_at, hook.id))


@router.post(
    "", status_code=201, response_model=MadeWebhook, responses=documented(400, 413, 415),
    openapi_extra=takes(AddWebhook, _EXAMPLE),
)  # fmt: skip
async def add_webhook(caller: CallerDep, body: Annotated[AddWebhook, Depends(JsonBody(AddWebhook))]) -> Response:
    """Make a webhook. Its secret is in this answer and nowhere else: deliveries are signed with it."""
    grant = authorize.as_owner(caller)
    draft = WebhookDraft(body.name, check_url(body.url), check_events(body.events), new_secret())
    return respond(MadeWebhook, await caller.services.webhooks.add(grant, draft), 201)


@router.get("/{webhook_id}", response_model=Webhook, responses=documented(404))
async def get_webhook(caller: CallerDep, webhook_id: UUID) -> Response:
    """Read a webhook, without its secret."""
    return respond(
        Webhook, require(await caller.services.webhooks.get(authorize.as_owner(caller), webhook_id), _ABSENT)
    )


@router.patch(
    "/{webhook_id}", response_model=Webhook, responses=_WRITTEN,
    openapi_extra=takes(ChangeWebhook, {"is_active": True}),
)  # fmt: skip
async def change_webhook(
    caller: CallerDep, webhook_id: UUID, body: Annotated[ChangeWebhook, Depends(JsonBody(ChangeWebhook))]
) -> Response:
    """Change a webhook; what was not delivered yet goes to the new address."""
    grant = authorize.as_owner(caller)
    changes = _checked(given(body, "url", "events", "name", "is_active"))
    return respond(Webhook, require(await caller.services.webhooks.change(grant, webhook_id, changes), _ABSENT))


@router.delete("/{webhook_id}", status_code=204, response_class=Response, responses=documented(404))
async def delete_webhook(caller: CallerDep, webhook_id: UUID) -> None:
    """Delete a webhook with its deliveries; nothing more is sent, but for an attempt that is under way."""
    is_gone = await caller.services.webhooks.delete(authorize.as_owner(caller), webhook_id)
    require(is_gone or None, _ABSENT)


@router.get("/{webhook_id}/deliveries", response_model=WebhookDeliveryPage, responses=documented(404))
async def list_deliveries(caller: CallerDep, webhook_id: UUID, query: Annotated[ListQuery, Query()]) -> Response:
    """List a webhook's deliveries of the last 7 days, the newest first: what arrived, what is tried again and why."""
    grant, store = authorize.as_owner(caller), caller.services.webhooks
    require(await store.get(grant, webhook_id), _ABSENT)
    rows = await store.deliveries(grant, webhook_id, parse_time_cursor(query.cursor), query.limit + 1)
    return respond_page(WebhookDeliveryPage, rows, query.limit, _cursor)


@router.post("/{webhook_id}/test", status_code=201, response_model=WebhookTest, responses=documented(404))
async def test_webhook(caller: CallerDep, webhook_id: UUID) -> Response:
    """Send the event `webhook.test`, to see whether the address takes it."""
    delivery = await caller.services.webhooks.test(authorize.as_owner(caller), webhook_id)
    return respond(WebhookTest, WebhookTest(require(delivery, _ABSENT)), 201)


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    changes = {name: value for name, value in changes.items() if value is not None}
    if "url" in changes:
        changes["url"] = check_url(changes["url"])
    if "events" in changes:
        changes["events"] = list(check_events(changes["events"]))
    return changes


def _cursor(delivery: WebhookDelivery) -> str:
    return time_cursor(delivery.at, delivery.id)
