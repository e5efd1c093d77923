"""The audit of a tenant, for its owner."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from keepword.access.audit import AuditSelection
from keepword.answers import AuditEvent, AuditPage
from keepword.http import authorize
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import AuditQuery
from keepword.http.responses import respond_page

router = APIRouter(prefix="/v1/audit", tags=["audit"])


@router.get("", response_model=AuditPage, responses=documented())
async def list_audit(caller: CallerDep, query: Annotated[AuditQuery, Query()]) -> Response:
    """List who changed rights or removed something, the newest first; with the setting `audit_reads` also who read."""
    grant = authorize.as_owner(caller)
    moment = caller.calendar.moment
    selection = AuditSelection(
        query.action, query.actor, moment(query.since), moment(query.before), parse_time_cursor(query.cursor),
        query.limit + 1,
    )  # fmt: skip
    events = await caller.services.audit.select(grant, selection)
    return respond_page(AuditPage, events, query.limit, _cursor)


def _cursor(event: AuditEvent) -> str:
    return time_cursor(event.at, event.id)
