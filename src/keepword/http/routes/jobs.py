"""Background work that failed, for the tenant's owner."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from keepword.answers import FailedJobPage, RetriedJobs, RetriedTask
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.cursors import parse_number_cursor
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import respond, respond_page
from keepword.http.schemas import Body
from keepword.stats.ports import RetrySelection

router = APIRouter(prefix="/v1/jobs", tags=["operations"])


class RetryJobs(Body):
    """Which failed work to do again; without any of them, all of the tenant's."""

    task: RetriedTask | None = Field(None, description="`embed`: entries that could not be embedded")
    error: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="only what failed with an error that contains this"
    )
    job: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(None, description="only this one")
    dry_run: bool = Field(False, description="only count")


RetryJobsDep = Annotated[RetryJobs, Depends(JsonBody(RetryJobs))]


@router.get("/failed", response_model=FailedJobPage, responses=documented())
async def list_failed(caller: CallerDep, query: Annotated[ListQuery, Query()]) -> Response:
    """List the jobs that were given up after their attempts, the newest first."""
    grant = authorize.as_owner(caller)
    after = parse_number_cursor(query.cursor)
    jobs = await caller.services.failed_work.page(grant, after, query.limit + 1)
    return respond_page(FailedJobPage, jobs, query.limit, lambda one: str(one.id))


@router.post(
    "/retry", response_model=RetriedJobs, responses=documented(400, 413, 415),
    openapi_extra=takes(RetryJobs, {"task": "compact", "dry_run": True}),
)  # fmt: skip
async def retry_failed(caller: CallerDep, body: RetryJobsDep) -> Response:
    """Let failed work run again, from the first attempt on."""
    grant = authorize.as_owner(caller)
    selection = RetrySelection(body.task, body.error, body.job)
    retried = await caller.services.failed_work.retry(grant, selection, dry_run=body.dry_run)
    return respond(RetriedJobs, RetriedJobs(retried, body.dry_run))
