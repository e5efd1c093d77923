"""What searching and composing return."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from keepword.model import Role

EntryKind = Literal["message", "summary", "memory", "landmark"]
# what a caller may write; `fts` is another word for `words`
SearchMode = Literal["hybrid", "words", "fts", "meaning", "trigram", "regex"]
QuotesIn = Literal["user", "system"]
SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip


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
    score: float
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


@dataclass(frozen=True, slots=True)
class Line:
    """`links` are the ids of what says the same and was left out for it."""

    kind: str
    id: str
    text: str
    tokens: int
    score: float
    reason: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """`tokens` are those of its heading and its lines."""

    name: SectionName
    heading: str
    tokens: int
    lines: tuple[Line, ...]


class ChatMessage(TypedDict):
    """A plain dict, as the OpenAI and Anthropic SDKs take it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class AnthropicCall:
    system: str
    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many of a kind a section does not show, and why; `line` counts lines of a text that is shown in part.

    Messages also say which: `first_seq` and `last_seq` count inside `conversation`.
    """

    section: SectionName
    kind: str
    count: int
    reason: str
    conversation: str | None
    first_seq: int | None
    last_seq: int | None


@dataclass(frozen=True, slots=True)
class ComposedContext:
    """The context of one turn. `injected_tokens` count against the budget; `share` is of the window.

    `degraded` names the layers that were left out and why; `compacted` tells how many messages were just summarised.
    `proposed_tokens` are those of everything before messages gave way and before anything was cut to fit the window;
    `left_out` names what is not shown.
    """

    text: str
    messages: list[ChatMessage]
    anthropic: AnthropicCall
    sections: tuple[Section, ...]
    tokens: int
    injected_tokens: int
    window_tokens: int
    share: float
    template: str
    degraded: tuple[str, ...]
    compacted: int
    proposed_tokens: int
    left_out: tuple[LeftOut, ...]
