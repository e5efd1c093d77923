"""What searching and composing return."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from keepword.model import Role

EntryKind = Literal["message", "summary", "memory", "landmark"]
Mode = Literal["hybrid", "words", "fts", "meaning", "trigram", "regex"]
QuotesIn = Literal["user", "system"]
SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Signal:
    """`share` is what it added to the score, `rank` the place by this signal alone."""

    value: float
    weight: float
    share: float
    rank: int


@dataclass(frozen=True, slots=True)
class Term:
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
    """A turn beside a hit."""

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
    """What matches in what a summary was made from."""

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
    """`id` is that of the message, summary, memory or landmark; `why` is there if `explain` was asked for.

    `similarity`: how near it comes in meaning, up to 1; None where the search did not compare that.
    """

    kind: EntryKind
    id: UUID
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
    inside: tuple[Inside, ...]
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Cite:
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
    shortened: tuple[Cite, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The best first. Nothing found is an answer; `hint` then says what to try."""

    results: tuple[Hit, ...]
    searched: dict[str, Any]
    degraded: tuple[str, ...]
    hint: str | None
    answer: Synthesis | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Alerts first: what needs somebody. All but the census is the tenant's, for its owner alone."""

    alerts: tuple[str, ...]
    queues: dict[str, Any]
    compaction: dict[str, Any]
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
