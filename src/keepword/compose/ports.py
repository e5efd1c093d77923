"""The ports of compose. Nothing is read without a Grant."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from keepword.access import Grant
from keepword.answers import Agent
from keepword.compaction.ports import Landmarks, Summaries
from keepword.compose.files import Files
from keepword.facts import Facts
from keepword.profiles import Profiles
from keepword.recall import Recall
from keepword.working import WorkingStores


class Agents(Protocol):
    async def agent(self, grant: Grant, slug: str) -> Agent | None: ...


@dataclass(frozen=True, slots=True)
class TurnStores:
    """The layers that a turn is composed from. `together` lets the statements inside it share a round trip."""

    recall: Recall
    facts: Facts
    profiles: Profiles
    landmarks: Landmarks
    summaries: Summaries
    working: WorkingStores
    agents: Agents
    files: Files
    together: Callable[[], AbstractContextManager[None]] = nullcontext
