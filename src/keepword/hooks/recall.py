"""What a host is given: the context of a turn, within its tokens, in a mark by which it is cut out again."""

from collections.abc import Iterator
from typing import Any

from keepword.errors import NotFound
from keepword.histories.injected import MEMORY_TAG, without_injected
from keepword.hooks.session import HookSession

PROMPT_TOKENS = 600
START_TOKENS = 800
MAX_PROMPT_CHARS = 20_000
_TRIVIAL_CHARS = 12
_SHOWN = frozenset({"recall", "facts", "landmarks", "summary", "profile"})
_AT_START = "What was decided lately, and what is still open?"


def for_prompt(session: HookSession, prompt: str) -> str | None:
    """Return what matters for a prompt and was not given in this session before; None for nothing."""
    text = without_injected(prompt).strip()[:MAX_PROMPT_CHARS]
    if len(text) < _TRIVIAL_CHARS or text.startswith("/"):
        return None
    return _composed(session, text, ["recall", "facts", "landmarks"], PROMPT_TOKENS)


def for_start(session: HookSession, source: str | None) -> str | None:
    """Return what a new session should know of its project; one that goes on has it already."""
    if source == "resume":
        return None
    sections = ["landmarks", "facts", "recall"] if source == "compact" else ["summary", "landmarks", "facts"]
    return _composed(session, _AT_START, sections, START_TOKENS)


def _composed(session: HookSession, message: str, sections: list[str], budget_tokens: int) -> str | None:
    body = {
        "conversation": session.conversation, "message": message, "sections": sections, "ledger": True,
        "budget_tokens": budget_tokens,
    }  # fmt: skip
    try:
        composed = session.service.call("POST", "/v1/compose", body)
    except NotFound:
        session.make()
        composed = session.service.call("POST", "/v1/compose", body)
    lines = list(_lines(composed))
    return f"<{MEMORY_TAG}>\n{chr(10).join(lines)}\n</{MEMORY_TAG}>" if lines else None


def _lines(composed: Any) -> Iterator[str]:
    for section in composed["sections"]:
        if section["name"] in _SHOWN and section["lines"]:
            yield section["heading"]
            # a text that was said can't end the mark
            yield from (_harmless(line["text"]) for line in section["lines"])


def _harmless(text: str) -> str:
    return text.replace(f"</{MEMORY_TAG}", f"< /{MEMORY_TAG}").replace(f"<{MEMORY_TAG}", f"< {MEMORY_TAG}")
