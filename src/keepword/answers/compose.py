"""What composing returns. Lists and tuples, not sequences: pydantic writes these fastest."""

from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip
LineKind = Literal[
    "file", "place", "field", "fact", "profile", "message", "summary", "memory", "landmark", "more", "invocation"
]
ChatRole = Literal["system", "user", "assistant"]
# the chat message in which quoted sections stand
QuotesIn = Literal["user", "system"]
# "summarised": a summary that is shown stands for it; "older": before the last messages, and in no summary yet
LeftOutReason = Literal["over the budget", "over the window", "injected before", "repeated", "summarised", "older"]


@dataclass(frozen=True, slots=True)
class Line:
    """`text` is as it is rendered; `links` are the ids of what it stands for beside its own source."""

    kind: LineKind
    id: str
    text: str
    tokens: int
    score: float
    reason: str
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """`tokens` are those of its heading and its lines."""

    name: SectionName
    heading: str
    tokens: int
    lines: tuple[Line, ...]


class ChatMessage(TypedDict):
    """A plain dict, as the OpenAI and Anthropic SDKs take it."""

    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True)
class AnthropicCall:
    system: str
    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many of a kind a section does not show, and why; "line" counts lines of a text that is shown in part.

    Messages also say which: `first_seq` and `last_seq` count inside `conversation`.
    """

    section: SectionName
    kind: LineKind | Literal["line"]
    count: int
    reason: LeftOutReason
    conversation: str | None = None
    first_seq: int | None = None
    last_seq: int | None = None


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
