"""Background work that failed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

# `embed` stands for entries that could not be embedded
RetriedTask = Literal["compact", "describe", "extract", "landmark", "recompact", "embed"]


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that was given up, and why it failed last."""

    id: int
    task: str
    conversation: str | None
    attempts: int
    error: str | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class FailedJobPage:
    """The newest is first."""

    jobs: tuple[FailedJob, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]


@dataclass(frozen=True, slots=True)
class RetriedJobs:
    retried: Annotated[int, Field(description="how many run again, or would after a dry run")]
    dry_run: bool
