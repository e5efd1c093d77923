"""What is told of an erasure: numbers, never a word of what was erased."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

ErasureKind = Literal["message", "conversation", "user", "tenant"]
ErasureState = Literal["dry run", "running", "erased", "done"]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a room or a conversation keeps its messages."""

    retention_days: Annotated[int | None, Field(description="what was set here; null: as in the room or the tenant")]
    days: Annotated[int | None, Field(description="what holds: messages are erased after so many days; null: never")]


@dataclass(frozen=True, slots=True)
class Erasure:
    """How an erasure stands. What it erases is shown to nobody from the first moment on, in every state."""

    id: Annotated[UUID | None, Field(description="null: a dry run, nothing goes")]
    kind: ErasureKind
    state: Annotated[
        ErasureState,
        Field(
            description="`running`: a worker deletes the rows; `erased`: all rows are gone, and the files of the "
            "database are being rewritten; `done`: these are rewritten, too"
        ),
    ]
    counts: Annotated[
        Mapping[str, int],
        Field(
            description="what goes, by kind, as it was counted at the beginning; of a kind with over 100,000 no more "
            "are counted, but for the messages of whole conversations"
        ),
    ]
    erased_messages: Annotated[int, Field(description="how many messages have lost their words so far")]
    requested_at: datetime | None = None
    erased_at: datetime | None = None
    done_at: datetime | None = None
    forgotten_at: Annotated[
        datetime | None,
        Field(
            description="when no process of a service or worker was left that had been there before the rows were "
            "gone: each finishes its requests and begins anew"
        ),
    ] = None
