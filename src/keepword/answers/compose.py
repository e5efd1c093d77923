"""What composing returns. Lists and tuples, not sequences: pydantic writes these fastest."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from keepword.model import Reach

SectionName = Literal[
    "workspace", "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation"
]  # fmt: skip
LineKind = Literal[
    "file", "place", "field", "fact", "profile", "message", "summary", "memory", "landmark", "more", "invocation"
]
ChatRole = Literal["system", "user", "assistant", "tool"]
# the chat message in which quoted sections stand
QuotesIn = Literal["user", "system"]
# tool calls of the transcript: as the structures of a chat, or told in words
ToolsAs = Literal["calls", "text"]
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


class CalledFunction(TypedDict):
    name: str
    arguments: str


class OpenAIToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: CalledFunction


class ChatMessage(TypedDict):
    """A plain dict, as the OpenAI SDK takes it; a call of tools without words has no content."""

    role: ChatRole
    content: NotRequired[str]
    tool_calls: NotRequired[list[OpenAIToolCall]]
    tool_call_id: NotRequired[str]


class AnthropicMessage(TypedDict):
    """A plain dict, as the Anthropic SDK takes it; with tools its content is a list of blocks."""

    role: Literal["user", "assistant"]
    content: str | list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AnthropicCall:
    system: str
    messages: list[AnthropicMessage]


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
    `left_out` names what is not shown; `reach` tells which sessions were read, in a session.
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
    reach: Reach | None = None
