"""Webhooks as mem0's clients manage them; deliveries are Keepword's own, signed and without words."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from keepword.answers import Webhook
from keepword.errors import InvalidInput, NotFound
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.mem0_errors import documented
from keepword.http.responses import require
from keepword.http.routes.mem0 import schemas, shapes
from keepword.http.routes.mem0.managing import ORGANIZATION
from keepword.webhooks.events import check_url, new_secret
from keepword.webhooks.ports import WebhookDraft

router = APIRouter()

# Keepword does not sort memories into categories by itself, so nothing is ever sent of that
NEVER_SENT = "memory_categorize"
_EVENTS: Mapping[str, tuple[str, ...]] = {
    "memory_add": ("memory.added",),
    "memory_update": ("memory.merged", "memory.superseded", "memory.changed", "memory.restored", "memory.rated"),
    "memory_delete": ("memory.deleted", "memory.expired"),
}
_MOST = 200
_ABSENT = "no such webhook"
_EXAMPLE = {"url": "https://example.com/mem0", "name": "crm", "event_types": ["memory_add", "memory_delete"]}
_PROJECT = "/api/v1/webhooks/projects/{project_id}/"
_ONE = "/api/v1/webhooks/{webhook_id}/"

WebhookBody = Annotated[schemas.Mem0Webhook, Depends(JsonBody(schemas.Mem0Webhook))]
WebhookChangeBody = Annotated[schemas.Mem0WebhookChange, Depends(JsonBody(schemas.Mem0WebhookChange))]


@router.get(_PROJECT, responses=documented(404))
async def list_webhooks(caller: CallerDep, project_id: str) -> Response:
    """List the tenant's webhooks that are told of memories, up to 200."""
    grant, project = authorize.as_owner(caller), str(caller.viewer.tenant_id)
    _require_own(project_id, project)
    hooks = await caller.services.webhooks.page(grant, None, _MOST)
    return shapes.answer([_shown(hook, project) for hook in hooks if _theirs(hook.events)])


@router.post(_PROJECT, openapi_extra=takes(schemas.Mem0Webhook, _EXAMPLE), responses=documented(404, 413))
async def add_webhook(caller: CallerDep, project_id: str, body: WebhookBody) -> Response:
    """Make a webhook. Its secret, by which deliveries are signed, is in this answer and nowhere else."""
    grant, project = authorize.as_owner(caller), str(caller.viewer.tenant_id)
    _require_own(project_id, project)
    draft = WebhookDraft(body.name, check_url(body.url), _own(body.event_types), new_secret())
    made = await caller.services.webhooks.add(grant, draft)
    return shapes.answer(_shown(made.webhook, project) | {"secret": made.secret})


@router.put(_ONE, openapi_extra=takes(schemas.Mem0WebhookChange, _EXAMPLE), responses=documented(404, 413))
async def change_webhook(caller: CallerDep, webhook_id: str, body: WebhookChangeBody) -> Response:
    """Change a webhook; what is not given stays."""
    grant = authorize.as_owner(caller)
    changes: dict[str, Any] = {}
    if body.name is not None:
        changes["name"] = body.name
    if body.url is not None:
        changes["url"] = check_url(body.url)
    if body.event_types is not None:
        changes["events"] = list(_own(body.event_types))
    if not changes:
        raise InvalidInput("say what to change: name, url or event_types", "name")
    id_ = require(shapes.identifier(webhook_id), _ABSENT)
    require(await caller.services.webhooks.change(grant, id_, changes), _ABSENT)
    return shapes.answer({"message": "Webhook updated successfully"})


@router.delete(_ONE, responses=documented(404))
async def delete_webhook(caller: CallerDep, webhook_id: str) -> Response:
    """Delete a webhook with its deliveries."""
    grant = authorize.as_owner(caller)
    id_ = require(shapes.identifier(webhook_id), _ABSENT)
    require(await caller.services.webhooks.delete(grant, id_) or None, _ABSENT)
    return shapes.answer({"message": "Webhook deleted successfully"})


def _require_own(project_id: str, project: str) -> None:
    if project_id != project:
        raise NotFound("no such project; GET /v1/ping/ tells the key's own")


def _own(event_types: Sequence[str]) -> tuple[str, ...]:
    """Return Keepword's events for theirs."""
    known = {*_EVENTS, NEVER_SENT}
    if unknown := [one for one in event_types if one not in known]:
        raise InvalidInput(f"event_types: {unknown[0][:80]!r} is none of {', '.join(sorted(known))}", "event_types")
    events = tuple(event for name in dict.fromkeys(event_types) for event in _EVENTS.get(name, ()))
    if not events:
        raise InvalidInput(f"event_types: nothing is ever sent of {NEVER_SENT}", "event_types")
    return events


def _theirs(events: Sequence[str]) -> list[str]:
    """Return their events for Keepword's, where at least one of each is told of."""
    is_all = bool({"*", "memory"} & set(events))
    return [name for name, own in _EVENTS.items() if is_all or set(own) & set(events)]


def _shown(hook: Webhook, project: str) -> dict[str, Any]:
    return {
        "webhook_id": hook.id,
        "name": hook.name,
        "url": hook.url,
        "event_types": _theirs(hook.events),
        "owner": ORGANIZATION,
        "is_active": hook.is_active,
        "project": project,
        "created_at": hook.created_at,
        "updated_at": hook.updated_at,
    }
