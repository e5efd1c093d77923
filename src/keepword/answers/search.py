"""What searching returns."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from keepword.model import Role

EntryKind = Literal["message", "summary", "memory", "landmark"]
# what a caller may write; `fts` is another word for `words`
SearchMode = Literal["hybrid", "words", "fts", "meaning", "trigram", "regex"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One part of a score; `value` is raw."""

    value: float
    weight: float
    share: Annotated[float, Field(description="what it added to the score")]
    rank: Annotated[int, Field(description="the place by this signal alone")]


@dataclass(frozen=True, slots=True)
class Term:
    """How far the entry has one word of the query, and by what: itself, a similar word, the turns beside it."""

    weight: float
    match: float
    by: Literal["own", "similar", "beside"] | None


@dataclass(frozen=True, slots=True)
class Reason:
    """`total` is the sum of the signals' shares, from which the score is made."""

    total: float
    arms: tuple[str, ...]
    signals: dict[str, Signal]
    terms: dict[str, Term]


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """A turn beside a hit; `source_id` names the message, summary, memory or landmark."""

    kind: EntryKind
    source_id: UUID
    part: int
    run_id: str
    conversation: str | None
    seq: int | None
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    importance: float
    text: str


@dataclass(frozen=True, slots=True)
class Inside:
    """What matches inside a summary: a message that it covers, or a summary that it was made from."""

    kind: EntryKind
    id: UUID
    score: float
    text: str
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    seq: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """`context` are the turns beside it; `why` is there if `explain` was asked for."""

    kind: EntryKind
    id: Annotated[UUID, Field(description="of the message, summary, memory or landmark")]
    part: int
    score: Annotated[float, Field(description="mode hybrid with best or fast: the chance that it answers; else a sum")]
    text: str
    role: Role | None
    user: str | None
    agent: str | None
    created_at: datetime
    run_id: str
    conversation: str | None
    seq: int | None
    context: tuple[ContextMessage, ...]
    why: Reason | None
    inside: Annotated[
        tuple[Inside, ...], Field(description="of a summary: what matches in what it was made from, best first")
    ]
    similarity: Annotated[
        float | None, Field(description="how near it comes in meaning, up to 1; null if not compared")
    ]
    superseded_by: Annotated[
        UUID | None, Field(description="the memory that holds now in place of what this message said")
    ] = None


@dataclass(frozen=True, slots=True)
class Cite:
    """A finding: the message, summary, memory or landmark, and its number in the answer."""

    number: int
    kind: EntryKind
    id: UUID
    conversation: str | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    cites: tuple[Cite, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """An answer whose every sentence rests on findings, by their numbers in `text`."""

    text: str
    sentences: tuple[Sentence, ...]
    model: str
    shortened: Annotated[tuple[Cite, ...], Field(description="findings of which the model read only the beginning")]
    left_out: Annotated[int, Field(description="findings that the model's window had no room for")]


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The best first. Nothing found is an answer; `hint` then says what to try."""

    results: tuple[Hit, ...]
    searched: dict[str, Any]
    degraded: Annotated[tuple[str, ...], Field(description="what could not be used for this answer, and why")]
    hint: str | None
    answer: Annotated[
        Synthesis | None, Field(description="with synthesize; null if there is none, then degraded says why")
    ]


@dataclass(frozen=True, slots=True)
class Source:
    """One thing by its id, whole: a message, summary, memory or landmark."""

    kind: EntryKind
    id: UUID
    text: str
    run_id: str
    conversation: str | None
    seq: Annotated[int | None, Field(description="of a message, and of what a landmark is a part of")]
    role: Role | None
    user: str | None
    agent: str | None
    created_at: Annotated[datetime, Field(description="when it was said; of a summary, its first message")]
    changed_at: Annotated[datetime, Field(description="when its text was written last")]


@dataclass(frozen=True, slots=True)
class Sources:
    """Those that may be read, in the order in which they were asked for; others are missing."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many messages are of a day, in the tenant's time zone; days without any are left out."""

    day: date
    messages: int


@dataclass(frozen=True, slots=True)
class Growth:
    """The days are in order."""

    days: tuple[DayCount, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """Alerts first: what needs somebody. Queues, compaction and coverage are the tenant's, for its owner alone."""

    alerts: tuple[str, ...]
    queues: Annotated[
        dict[str, Any], Field(description="what waits for each vector space, and each task of the background")
    ]
    compaction: Annotated[
        dict[str, Any], Field(description="unsummarised messages, summaries by tier, the trees' depth")
    ]
    coverage: dict[str, Any]
    census: dict[str, Any]
