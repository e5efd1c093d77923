"""What the API answers about imports of histories."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

ImportState = Literal["uploading", "waiting", "running", "cancelling", "checked", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class HistoryImport:
    id: UUID
    kind: Annotated[str, Field(description="of which program, such as `chatgpt` or `slack`")]
    file: Annotated[str, Field(description="what the uploaded file is called")]
    options: Annotated[dict[str, Any], Field(description="what was chosen when it was made")]
    state: Annotated[ImportState, Field(description="`checked`: a dry run has ended, and the upload is kept")]
    dry_run: Annotated[bool, Field(description="it is only read and counted; nothing is stored")]
    uploaded_bytes: int
    read_bytes: Annotated[int, Field(description="how much was read of `total_bytes`, unpacked")]
    total_bytes: Annotated[int, Field(description="0 until it runs")]
    report: Annotated[
        dict[str, Any],
        Field(
            description="counts of `conversations`, `messages`, `stored`, `known` (here before), `memories`, `files`; "
            "the first 200 `people` and who they are here; `left_out`: all that was not understood or changed, with "
            "its count and an example. Empty until it runs"
        ),
    ]
    error: Annotated[str | None, Field(description="why it failed, or why it waits")]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class HistoryImportPage:
    """The newest is first."""

    imports: tuple[HistoryImport, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]
