"""How it stands: what needs somebody first, then what waits, then a census."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from keepword.access import Grant
from keepword.recall.ports import Counts, Coverage, Queue

LATE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Report:
    alerts: Sequence[str]
    queues: Mapping[str, object]
    coverage: Mapping[str, object]
    census: Mapping[str, object]


class Stats:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    async def report(self, grant: Grant) -> Report:
        """Count inside the grant; queues and coverage are of the whole tenant, so its owner alone sees them."""
        census = await self._counts.census(grant)
        if not grant.everything:
            return Report([], {}, {}, census)
        queues = await self._counts.queues(grant)
        coverage = await self._counts.coverage(grant)
        return Report(
            alerts(queues),
            {queue.space: _without_space(queue) for queue in queues},
            {found.space: _share(found) for found in coverage},
            census,
        )


def alerts(queues: Sequence[Queue]) -> list[str]:
    found = []
    for queue in queues:
        if queue.failed:
            found.append(f"{queue.failed} entries could not be embedded for {queue.space}: {queue.last_error}")
        if queue.oldest_seconds is not None and queue.oldest_seconds > LATE_SECONDS:
            minutes = int(queue.oldest_seconds // 60)
            found.append(f"{queue.waiting} entries wait for {queue.space}, one for {minutes} min; is a worker running?")
    return found


def _without_space(queue: Queue) -> dict[str, object]:
    return {name: value for name, value in asdict(queue).items() if name != "space"}


def _share(found: Coverage) -> dict[str, object]:
    share = found.embedded / found.entries if found.entries else 1.0
    return {"entries": found.entries, "embedded": found.embedded, "share": round(share, 4)}
