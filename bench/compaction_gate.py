"""Short conversations summarised by a real model: what the gate says of its first and second text, and of the result.

MODEL_URL=http://127.0.0.1:8091/v1 DATA=folder python bench/compaction_gate.py [tau-bench]       MESSAGES=14

Takes the first messages of TALKS=3 of LoCoMo's conversations, or of tau-bench's; their files are not part of the
project. Loss is the weighted share of identifiers, numbers, dates and decisions that a text lacks, beside that of
quoting.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from uuid import uuid4

from compaction import SETS, Talk
from keepword.compaction.gate import Gate
from keepword.compaction.sources import ConversationHeading, SummarySource
from keepword.compaction.summarize import count_messages, read_sources, summarize
from keepword.llm.chat import Chat, Endpoint
from keepword.llm.port import Answer, Prompt
from keepword.model import Message

MESSAGES = int(os.environ.get("MESSAGES", "14"))
TALKS = int(os.environ.get("TALKS", "3"))
CONTEXT_TOKENS = int(os.environ.get("CONTEXT_TOKENS", "8192"))
TIMEOUT_SECONDS = float(os.environ.get("TIMEOUT_SECONDS", "900"))


class Recording:
    """The model, with all that it answered."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.name, self.context_tokens = chat.name, chat.context_tokens
        self.texts: list[str] = []

    async def ask(self, prompt: Prompt) -> Answer:
        answer = await self._chat.ask(prompt)
        self.texts.append(answer.text)
        return answer


def sources(talks: Iterable[Talk]) -> list[SummarySource]:
    return [
        SummarySource(
            ConversationHeading(talk.name, "helper", "api"),
            "thread",
            [
                Message(
                    id=uuid4(), conversation=talk.name, seq=number, role=said.role, user=said.user, agent="helper",
                    content=said.content, tool_name=said.tool_name, tool_args=said.tool_args,
                    tool_result=said.tool_result, attachments=(), metadata={}, event_id=None,
                    created_at=said.created_at,
                )
                for number, said in enumerate(talk.drafts[:MESSAGES], 1)
            ],
        )
        for talk in islice(talks, TALKS)
    ]  # fmt: skip


async def show(source: SummarySource, model: Recording) -> None:
    gate = Gate(source, read_sources(source), count_messages(source))
    started = time.perf_counter()
    made = await summarize(source, model)
    seconds = time.perf_counter() - started
    print(f"\n# {source.about.external_id}: {seconds:.0f} s; by quoting lost {_lost(gate.least_share)}")
    for number, text in enumerate(model.texts, 1):
        one = gate.judge(text, model.name)
        early = ", ".join(claim.form for claim in one.early) or "none"
        print(f"try {number}: lost {_lost(one.kept.share)}, faithful {one.faithful.share:.2f}, told too early: {early}")
        print(f"  lines that nobody said: {len(one.unsaid)}{', too long' if one.too_long else ''}")
    final, name = gate.judge(made.text, made.model), Path(made.model).name
    print(f"stored, by {name}: lost {_lost(final.kept.share)}, faithful {made.share:.2f}, {made.reason}")
    print(made.text)


def _lost(kept: float) -> str:
    return f"{1 - kept:.2f}"


async def main() -> None:
    url = os.environ.get("MODEL_URL")
    if not url:
        print("skipped: name an OpenAI-compatible API in MODEL_URL")
        return
    of = SETS[sys.argv[1] if len(sys.argv) > 1 else "locomo"]
    for source in sources(of(Path(os.environ.get("DATA", "../shared/data")))):
        async with Chat(Endpoint(url, "default", None, CONTEXT_TOKENS, TIMEOUT_SECONDS)) as chat:
            await show(source, Recording(chat))


if __name__ == "__main__":
    asyncio.run(main())
