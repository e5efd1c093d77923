from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from keepword.access import Grant
from keepword.answers import DayCount, FailedJob, RetriedTask


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """What waits for one space, and what failed; `oldest_seconds` is the age of the longest waiting."""

    space: str
    waiting: int
    failed: int
    last_error: str | None
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class Coverage:
    space: str
    entries: int
    embedded: int


@dataclass(frozen=True, slots=True)
class JobStats:
    """How a task of the background is doing. `pending`: messages, or conversations with anything left to compact.

    `failed` jobs gave up after their attempts, `dead` ones belong to workers that are gone.
    """

    task: str
    pending: int
    waiting: int
    running: int
    failed: int
    dead: int
    last_error: str | None
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class CompactionStats:
    """`quoted`: summaries made without a model; `refused`: a model was asked, and quoting had to serve."""

    unsummarised_messages: int
    unsummarised_conversations: int
    threads: int
    sessions: int
    days: int
    weeks: int
    stored: int
    quoted: int
    refused: int

    @property
    def depth(self) -> int:
        """How many levels of summaries stand above the messages: 1 for leaves alone, 4 with weeks."""
        return sum(map(bool, (self.threads, self.sessions, self.days, self.weeks)))


@dataclass(frozen=True, slots=True)
class RetrySelection:
    """Which failed work to do again: of a task, with an error that contains a text, or one job."""

    task: RetriedTask | None = None
    error: str | None = None
    job: int | None = None


class FailedWork(Protocol):
    async def page(self, grant: Grant, after: int | None, limit: int) -> Sequence[FailedJob]:
        """Return failed jobs, the newest first, from the one behind `after` on."""
        ...

    async def retry(self, grant: Grant, selection: RetrySelection, *, dry_run: bool) -> int:
        """Let failed work run again, or only count it."""
        ...


class Counts(Protocol):
    async def census(self, grant: Grant) -> dict[str, int]:
        """Count what may be read, by kind."""
        ...

    async def messages_by_day(self, grant: Grant, since: datetime, zone: str) -> list[DayCount]:
        """Count the tenant's messages by day, in order."""
        ...

    async def queues(self, grant: Grant) -> list[QueueDepth]: ...

    async def coverage(self, grant: Grant) -> list[Coverage]: ...

    async def jobs(self, grant: Grant) -> list[JobStats]: ...

    async def compaction(self, grant: Grant) -> CompactionStats: ...
