"""Statistics: alerts first, then queues, then counts."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from zoneinfo import ZoneInfo

from keepword.access import Grant
from keepword.answers import Growth, Stats
from keepword.stats.ports import Counts, Coverage, JobStats, QueueDepth

LATE_SECONDS = 600


class StatsReader:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    async def growth(self, grant: Grant, since: datetime, zone: ZoneInfo) -> Growth:
        """Count the tenant's messages of each day since then. Its owner's alone."""
        return Growth(tuple(await self._counts.messages_by_day(grant, since, zone.key)))

    async def report(self, grant: Grant) -> Stats:
        """Count inside the grant; queues and coverage are of the whole tenant, so its owner alone sees them."""
        census = await self._counts.census(grant)
        if not grant.everything:
            return Stats((), {}, {}, {}, census)
        queues = await self._counts.queues(grant)
        coverage = await self._counts.coverage(grant)
        jobs = await self._counts.jobs(grant)
        compaction = await self._counts.compaction(grant)
        return Stats(
            (*alerts(queues), *job_alerts(jobs)),
            {queue.space: _without(queue, "space") for queue in queues}
            | {one.task: _without(one, "task") for one in jobs},
            asdict(compaction) | {"depth": compaction.depth},
            {space_coverage.space: _share(space_coverage) for space_coverage in coverage},
            census,
        )


def alerts(queues: Sequence[QueueDepth]) -> list[str]:
    messages = []
    for queue in queues:
        if queue.failed:
            messages.append(f"{queue.failed} entries could not be embedded for {queue.space}: {queue.last_error}")
        if queue.oldest_seconds is not None and queue.oldest_seconds > LATE_SECONDS:
            minutes = int(queue.oldest_seconds // 60)
            messages.append(
                f"{queue.waiting} entries wait for {queue.space}, one for {minutes} min; is a worker running?"
            )
    return messages


def job_alerts(jobs: Sequence[JobStats]) -> list[str]:
    messages = []
    for one in jobs:
        if one.failed:
            again = "`keepword jobs retry-failed` lets them run again"
            messages.append(f"{one.failed} {one.task} jobs failed, the last with {one.last_error}; {again}")
        if one.dead:
            messages.append(f"{one.dead} {one.task} jobs belong to a worker that is gone; any other takes them over")
        if one.oldest_seconds is not None and one.oldest_seconds > LATE_SECONDS:
            minutes = int(one.oldest_seconds // 60)
            messages.append(
                f"{one.waiting} {one.task} jobs wait, the oldest work for {minutes} min; is a worker running?"
            )
    return messages


def _without(one: QueueDepth | JobStats, left_out: str) -> dict[str, object]:
    return {name: value for name, value in asdict(one).items() if name != left_out}


def _share(coverage: Coverage) -> dict[str, object]:
    share = coverage.embedded / coverage.entries if coverage.entries else 1.0
    return {"entries": coverage.entries, "embedded": coverage.embedded, "share": round(share, 4)}
