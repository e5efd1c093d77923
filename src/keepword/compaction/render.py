"""Renders the source of a summary for a model: a preamble, then each message or child with its time and speaker."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from keepword import patterns, tokens
from keepword.answers import BufferedMessage
from keepword.compaction.plan import Tier
from keepword.compaction.sources import LEVELS, SummarySource, TierSummary, minute
from keepword.model import Message

# the most tokens that a model may write on each level, its thinking included
BUDGET_TOKENS: dict[str, int] = {"leaf": 7_000, "branch": 14_000, "root": 20_000}
# models have tokenizers of their own: our count of the input may be too low by this factor
_SLACK = 1.25
_HEADER_TOKENS = 40
_LEAST_PIECE_TOKENS = 64
_SEAM = patterns.anywhere(r"(?<=\n)|(?<=[.!?])(?=\s)|(?<=\s)")


@dataclass(frozen=True, slots=True)
class Block:
    """One message or child as the model sees it: a header in brackets, and the text."""

    header: str
    text: str

    def __str__(self) -> str:
        # only headers begin at the left margin, so that no message can fake one
        indented = "\n".join(f"  {line}" if line else "" for line in self.text.split("\n"))
        return f"[{self.header}]\n{indented}"


@cache
def system_prompt(tier: Tier) -> str:
    return f"{read_prompt(LEVELS[tier])}\n{read_prompt('rules')}"


@cache
def read_prompt(name: str) -> str:
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def budget(tier: Tier, context_tokens: int) -> int:
    """Return how many tokens the model may write: at most a third of its window."""
    return min(BUDGET_TOKENS[LEVELS[tier]], context_tokens // 3)


def free_tokens(tier: Tier, context_tokens: int, budget_tokens: int) -> int:
    """Return how many tokens of input fit beside the instructions and the answer."""
    left = context_tokens - budget_tokens
    return max(_LEAST_PIECE_TOKENS, int(left / _SLACK) - tokens.count(system_prompt(tier)))


def preamble(source: SummarySource) -> str:
    about = source.about
    lines = {
        "conversation": about.external_id,
        "agent": about.agent,
        "channel": about.channel,
        "title": about.title or "none",
        "span": f"{minute(source.earliest_at)} to {minute(source.latest_at)}",
        "messages": str(source.message_count),
    }
    return "\n".join(f"{name}: {_one_line(value)}" for name, value in lines.items())


def blocks(source: SummarySource) -> list[Block]:
    if source.children:
        return [_child(number, child) for number, child in enumerate(source.children, 1)]
    ordered = sorted(source.messages, key=lambda message: (message.created_at, message.seq))
    return [
        Block(f"#{number:02} {minute(message.created_at)} {speaker(message)}", message_text(message, source))
        for number, message in enumerate(ordered, 1)
    ]


def speaker(message: Message) -> str:
    who = f"{message.agent or 'unknown'}/{message.role}"
    return f"{who}:{_one_line(message.user)}" if message.user else who


def message_text(message: Message, source: SummarySource, *, brief: bool = False) -> str:
    """Return all that a message says, its tool call, result and attachments included; nothing is shortened.

    Only `brief` leaves out a call's arguments where a sentence tells of it.
    """
    return "\n".join(_parts(message, source, brief=brief))


def _parts(message: Message, source: SummarySource, *, brief: bool) -> Iterator[str]:
    sentence = source.sentences.get(message.id)
    if message.content or sentence:
        yield message.content or str(sentence)
    if not (brief and sentence):
        yield from call_lines(message)


def call_lines(message: Message | BufferedMessage) -> Iterator[str]:
    """Tell of a message's tool call, its result and its attachments."""
    if message.tool_name and (message.tool_args is not None or message.tool_result is None):
        arguments = "" if message.tool_args is None else json.dumps(message.tool_args, ensure_ascii=False)
        yield f"called {message.tool_name}({arguments})"
    if message.tool_result is not None:
        yield f"result of {message.tool_name or 'a tool'}: {message.tool_result}"
    if message.attachments:
        yield f"attached: {json.dumps(list(message.attachments), ensure_ascii=False)}"


def _child(number: int, child: TierSummary) -> Block:
    span = f"{minute(child.earliest_at)} to {minute(child.latest_at)}"
    return Block(f"#{number:02} {span} {child.tier}, {child.message_count} messages", child.text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def pack(given: Sequence[Block], room_tokens: int) -> list[list[Block]]:
    """Split the input into parts that fit, in order; a block that is too long alone is split as well."""
    parts: list[list[Block]] = []
    filled = 0
    for block in (piece for one in given for piece in _pieces(one, room_tokens)):
        size = tokens.count(str(block)) + 1
        if not parts or filled + size > room_tokens:
            parts.append([])
            filled = 0
        parts[-1].append(block)
        filled += size
    return parts


def _pieces(block: Block, room_tokens: int) -> list[Block]:
    if tokens.count(str(block)) < room_tokens:
        return [block]
    texts = list(cut(block.text, max(_LEAST_PIECE_TOKENS // 2, room_tokens - _HEADER_TOKENS)))
    return [Block(f"{block.header} part {number} of {len(texts)}", text) for number, text in enumerate(texts, 1)]


def cut(text: str, most_tokens: int) -> Iterator[str]:
    """Cut a text where lines, sentences or words end, else anywhere; joined, the pieces are the text."""
    held, size = "", 0
    for part in _SEAM.split(text):
        for atom in _atoms(part, most_tokens):
            cost = tokens.count(atom) + 2 * atom.count("\n") + 1
            if held and size + cost > most_tokens:
                yield held
                held, size = "", 0
            held, size = held + atom, size + cost
    if held:
        yield held


def _atoms(part: str, most_tokens: int) -> Iterator[str]:
    # a token is a byte or more, and a character at most four bytes
    step = max(1, most_tokens // 4)
    if len(part) <= step:
        yield part
    else:
        yield from (part[at : at + step] for at in range(0, len(part), step))
