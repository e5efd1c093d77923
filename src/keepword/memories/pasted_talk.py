"""Reads a pasted talk: lines that begin with a name and a colon, each with the lines below it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from keepword import patterns
from keepword.model import Message, Role

MAX_MESSAGES = 500
NAME = "pasted"
# a name is a few words with a colon and a blank behind them; what is longer is a sentence
_SPEAKER = patterns.at_start(r"(?P<name>[^\W\d_][\w.'’-]{0,39}(?: [\w.'’-]{1,40}){0,2}):(?:[ \t]++|$)")
# these labels say what a line is, not who said it
_LABELS = frozenset(
    "action|action item|decided|decision|example|fyi|http|https|idea|important|note|ps|question|reminder|spec|"
    "specification|summary|tip|to-do|todo|update|warning".split("|")
)
_AGENTS = frozenset("agent|ai|assistant|bot|chatgpt|claude|gpt|model".split("|"))
_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Talk:
    """`is_cut`: it goes on after these messages."""

    messages: Sequence[Message]
    is_cut: bool = False


def read(text: str, user: str, agent: str, at: datetime) -> Talk:
    """Read a talk. What stands before the first name was said by `user`.

    `agent` is who speaks behind its own name and behind words such as "Assistant".
    """
    messages: list[Message] = []
    for speaker, lines in _turns(text.replace("\r\n", "\n")):
        content = "\n".join(lines).strip("\n")
        if not content.strip():
            continue
        if len(messages) == MAX_MESSAGES:
            return Talk(messages, is_cut=True)
        messages.append(_message(len(messages) + 1, speaker or user, content, agent, at))
    return Talk(messages)


def _turns(text: str) -> Iterator[tuple[str | None, list[str]]]:
    speaker: str | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        match = _SPEAKER.match(line)
        if match is None or match["name"].casefold() in _LABELS:
            lines.append(line)
            continue
        yield speaker, lines
        speaker, lines = match["name"], [line[match.end() :]]
    yield speaker, lines


def _message(seq: int, speaker: str, content: str, agent: str, at: datetime) -> Message:
    role = _role(speaker, agent)
    return Message(
        UUID(int=seq), NAME, seq, role, speaker if role == "user" else None,
        agent, content, None, None, None, (), {}, None, at,
    )  # fmt: skip


def _role(speaker: str, agent: str) -> Role:
    name = speaker.casefold()
    if name in _SYSTEM:
        return "system"
    return "assistant" if name in _AGENTS or name == agent.casefold() else "user"
