"""An extracted memory, before consolidation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from keepword.answers import MemoryType, SaidBy

PIPELINE_VERSION = 2
# importance of a memory before its first use: repeating a corrected mistake annoys most
IMPORTANCE: dict[MemoryType, float] = {
    "correction": 0.9,
    "preference": 0.8,
    "decision": 0.7,
    "fact": 0.6,
    "task": 0.5,
    "action": 0.5,
}


def standing(said_by: SaidBy, *, vouched: bool) -> int:
    """Rank whose word it is: an agent's, a user's that nobody vouches for, a user's."""
    return 0 if said_by == "agent" else 1 + vouched


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """One self-contained sentence. `at` is when its newest source was said; `user` is who said it.

    `weight` is an importance that was told; without one, its type says it. `by` is the model that found it, or the
    rules, where both read the same messages. `vouched`: whoever stored the messages, or told it, vouches for the user.
    `said_by` tells a person's word from an agent's.
    """

    type: MemoryType
    text: str
    confidence: float
    at: datetime
    sources: Sequence[UUID]
    user: str | None = None
    agent: str | None = None
    weight: float | None = None
    by: str | None = None
    vouched: bool = True
    # of what was told: what its teller put to it
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    categories: Sequence[str] = ()
    expires_at: datetime | None = None
    said_by: SaidBy = "user"

    @property
    def standing(self) -> int:
        return standing(self.said_by, vouched=self.vouched)

    @property
    def importance(self) -> float:
        return IMPORTANCE[self.type] if self.weight is None else self.weight
