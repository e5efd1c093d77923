"""Calls for the tenant's owner: keys, and background work that failed."""

from keepword import answers
from keepword.answers import RetriedTask
from keepword.client.transport import HttpTransport, given, segment
from keepword.model import KeyRole


class Keys:
    """The tenant's API keys."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def make(
        self, role: KeyRole, *, agent: str | None = None, user: str | None = None, expires: str | None = None
    ) -> answers.NewApiKey:
        """Make a key that works for a span such as "90d"; `secret` of what is returned is shown this once."""
        body = given(role=role, agent=agent, user=user, expires=expires)
        return await self._wire.call(answers.NewApiKey, "POST", "/v1/keys", body=body)

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.ApiKeyPage:
        """List the keys, the newest first, also those that ended."""
        return await self._wire.call(answers.ApiKeyPage, "GET", "/v1/keys", query=given(limit=limit, cursor=cursor))

    async def revoke(self, key: str) -> None:
        """Stop a key from working, by its id; the last one that manages the tenant stays."""
        await self._wire.do("DELETE", f"/v1/keys/{segment(key, 'key')}")


class Jobs:
    """Background work that failed."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def failed(self, *, limit: int = 50, cursor: str | None = None) -> answers.FailedJobPage:
        """List the jobs that were given up, the newest first."""
        query = given(limit=limit, cursor=cursor)
        return await self._wire.call(answers.FailedJobPage, "GET", "/v1/jobs/failed", query=query)

    async def retry(
        self,
        *,
        task: RetriedTask | None = None,
        error: str | None = None,
        job: int | None = None,
        dry_run: bool = False,
    ) -> answers.RetriedJobs:
        """Let failed work run again: of a task, with such an error, or one job; a dry run only counts it."""
        body = given(task=task, error=error, job=job, dry_run=dry_run)
        return await self._wire.call(answers.RetriedJobs, "POST", "/v1/jobs/retry", body=body)
