"""The composed context as messages of a chat, ready to be sent to a model."""

from collections.abc import Sequence
from itertools import groupby

from keepword.compose.header import minute
from keepword.compose.neutralise import inside, label
from keepword.compose.parts import AnthropicCall, ChatMessage, Item, Section, Turn

_OPENING = "(the conversation so far)"
_GUTTER = "  | "


def render(sections: Sequence[Section]) -> str:
    return "".join(_section(section) for section in sections).removesuffix("\n")


def as_openai(
    sections: Sequence[Section], turns: Sequence[Turn], invocation: Item, gap: Item | None
) -> list[ChatMessage]:
    """Return one system message with all but the transcript, then the transcript, then who speaks now.

    `gap` tells which messages are missing before the transcript.
    """
    before = [ChatMessage("user", said(gap))] if gap else []
    now = ChatMessage("user", said(invocation))
    return [ChatMessage("system", _system(sections)), *before, *map(_turn, turns), now]


def as_anthropic(chat: Sequence[ChatMessage]) -> AnthropicCall:
    """Return the same with the system's text apart; roles alternate, and a user speaks first."""
    system, *turns = chat
    merged: list[ChatMessage] = []
    for role, same in groupby(turns, key=lambda message: message.role):
        merged.append(ChatMessage(role, "\n\n".join(message.content for message in same)))
    if merged[0].role != "user":
        merged.insert(0, ChatMessage("user", _OPENING))
    return AnthropicCall(system.content, merged)


def said(item: Item) -> str:
    """Return what somebody said with who and when in front; no text can imitate that."""
    when = "now" if item.kind == "invocation" else minute(item.when)
    return f"[{when} · {label(item.who) or 'user'}] {inside(item.text, _GUTTER)}"


def _turn(turn: Turn) -> ChatMessage:
    if turn.role == "assistant":
        return ChatMessage("assistant", inside(turn.item.text, ""))
    return ChatMessage("user", said(turn.item))


def _system(sections: Sequence[Section]) -> str:
    return render([section for section in sections if section.name not in {"transcript", "invocation"}])


def _section(section: Section) -> str:
    return "\n".join([section.heading, *(line.text for line in section.lines), "", ""])
