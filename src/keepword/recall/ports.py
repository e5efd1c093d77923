"""The ports of recall: the index and the deep model. Nothing is read without a Grant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from keepword.access import Grant
from keepword.answers import ContextMessage, EntryKind, Source
from keepword.recall.question import Question
from keepword.recall.score import Candidates, Floats


@dataclass(frozen=True, slots=True)
class Filter:
    """The caller's filters beside the query's words; None does not restrict."""

    kinds: tuple[EntryKind, ...] | None = None
    agent: str | None = None
    user: str | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeepQuery:
    """A question's vector in a deep space. `is_tuned`: its model was tuned for conversation."""

    space_id: int
    vector: Floats
    is_tuned: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The query of one search. `instant`: also by the instant space; `deep_space`: where the deep model will answer.

    `asker`: the user whose own words "I" and "my" mean.
    """

    question: Question
    filter: Filter
    instant: bool = True
    deep_space: int | None = None
    asker: str | None = None


@dataclass(frozen=True, slots=True)
class EntryView(ContextMessage):
    """An entry as a person or an agent reads it; no answer shows its number, which counts all tenants' entries.

    `covers`: the first and last `seq` of the messages that a summary was made from. `memories`: those that were read
    from a message; one of them may be superseded.
    """

    entry_id: int = field(kw_only=True)
    covers: tuple[int, int] | None = field(default=None, kw_only=True)
    memories: tuple[UUID, ...] = field(default=(), kw_only=True)
    superseded_by: UUID | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Use:
    """How often an entry was given to an agent, and when last (its own time if never)."""

    entry_id: int
    importance: float
    times: int
    last_at: datetime


class PendingSearch(Protocol):
    """A search that was begun while the deep model still thinks."""

    async def candidates(self, deep: DeepQuery | None) -> Candidates:
        """Return the candidates, with the question's deep vector if the model gave one."""
        ...


class Index(Protocol):
    async def begin(self, grant: Grant, query: Query) -> PendingSearch:
        """Start the part of a search that does not need the question's deep vector."""
        ...

    async def inside(self, grant: Grant, query: Query, deep: DeepQuery | None, summary_id: UUID) -> Candidates:
        """Return a summary's sources: its children, and those of its messages that come nearest to the question.

        Frequencies are not told: they are those of the search that found the summary.
        """
        ...

    async def matching(
        self, grant: Grant, pattern: str, mode: Literal["trigram", "regex"], filter_: Filter, limit: int
    ) -> list[tuple[int, float]]: ...

    async def show(self, grant: Grant, entry_ids: Sequence[int]) -> list[EntryView]: ...

    async def around(self, grant: Grant, entry_ids: Sequence[int], turns: int) -> dict[int, list[EntryView]]:
        """Return the turns beside each entry, in order and without it."""
        ...

    async def uses(self, grant: Grant, entry_ids: Sequence[int]) -> list[Use]: ...

    async def count_uses(self, grant: Grant, amounts: Mapping[int, int]) -> None:
        """Add to how often each entry, by its id, was given to an agent."""
        ...


class DeepModel(Protocol):
    async def space(self) -> int | None:
        """Return the number of the deep space that is served and can be asked, if there is one."""
        ...

    async def ask(self, text: str) -> DeepQuery | None:
        """Return the vector of a question, or None if no deep space is served. Raises Unavailable."""
        ...


class SourceReader(Protocol):
    async def read(self, grant: Grant, ids: Sequence[UUID]) -> list[Source]:
        """Return those of the messages, summaries, memories and landmarks that may be read, in any order."""
        ...
