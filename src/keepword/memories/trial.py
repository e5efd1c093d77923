"""Tries extraction on a pasted talk: what would be kept of it, and what refused. Nothing is stored."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from keepword.answers import (
    ExtractionTrial,
    RefusedMemory,
    RefusedSentence,
    TrialOutcome,
    TriedLandmark,
    TriedMemory,
    TriedMessage,
)
from keepword.compaction.landmarks import detect
from keepword.errors import InvalidInput
from keepword.llm.port import Model
from keepword.memories import agents_word, pasted_talk, rules
from keepword.memories.consolidate import consolidate
from keepword.memories.extract import NAME, ExtractionResult, find
from keepword.memories.extracted import ExtractedMemory
from keepword.model import Message
from keepword.secret_text import HIDDEN
from keepword.slices import Runner, in_thread
from keepword.transcript.secrets_hidden import hide_secrets

# of both: a pasted document has thousands of sentences
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """`user` said what stands before the first name; `with_model` asks the configured model, too."""

    text: str
    user: str
    agent: str
    at: datetime
    with_model: bool = False
    agents_word: bool = False


@dataclass(frozen=True, slots=True)
class ExtractionTrials:
    """Runs the extraction of the background on a talk. A model that is asked has `model_seconds`."""

    model: Model | None = None
    model_seconds: float = 20.0
    keeps_secrets: bool = False

    async def run(self, request: TrialRequest, run: Runner = in_thread) -> ExtractionTrial:
        """Call what reads the text by `run`. Raises InvalidInput if a model is wanted and there is none."""
        if request.with_model and self.model is None:
            raise InvalidInput(
                "there is no language model to try; set KEEPWORD_LLM_URL to an OpenAI-compatible API "
                "(and KEEPWORD_LLM_MODEL), or leave model out",
                "model",
            )
        talk = await run(pasted_talk.read, request.text, request.user, request.agent, request.at)
        if not self.keeps_secrets:
            talk = await run(_hidden, talk)
        extracted = await self._extracted(talk.messages, request, run)
        if request.agents_word:
            by_agents = await run(agents_word.extract, talk.messages, request.user)
            extracted = replace(extracted, memories=[*extracted.memories, *by_agents])
        return await run(_report, talk, extracted, keeps_secrets=self.keeps_secrets)

    async def _extracted(self, messages: Sequence[Message], request: TrialRequest, run: Runner) -> ExtractionResult:
        if not request.with_model:
            return await find(messages, (), None, run, keeps_secrets=True)
        try:
            async with asyncio.timeout(self.model_seconds):
                return await find(messages, (), self.model, run, keeps_secrets=True)
        except TimeoutError:
            by_rules = await find(messages, (), None, run, keeps_secrets=True)
            return replace(by_rules, reason=f"the model took longer than {self.model_seconds:g} s")


def _hidden(talk: pasted_talk.Talk) -> pasted_talk.Talk:
    return replace(talk, messages=hide_secrets(talk.messages))


def _report(talk: pasted_talk.Talk, extracted: ExtractionResult, *, keeps_secrets: bool) -> ExtractionTrial:
    messages = talk.messages
    numbers = {message.id: message.seq for message in messages}
    passed_over = [
        RefusedSentence(message.seq, sentence, why)
        for message in messages
        if message.role == "user"
        for sentence, why in rules.refused(message)
    ]
    return ExtractionTrial(
        tuple(map(_message, messages)),
        tuple(_memories(extracted.memories, numbers)),
        tuple(
            TriedLandmark(message.seq, one.kind, one.text)
            for message in messages
            for one in detect(message.content, keeps_secrets=keeps_secrets)
            if HIDDEN not in one.text
        ),
        tuple(passed_over[:MOST_SHOWN]),
        tuple(
            RefusedMemory(one.memory.type, one.memory.text, _numbers(one.memory.sources, numbers), tuple(one.offending))
            for one in extracted.unsupported
        ),
        extracted.model,
        extracted.reason,
        talk.is_cut,
    )


def _message(message: Message) -> TriedMessage:
    secrets = message.content.count(HIDDEN)
    return TriedMessage(message.seq, message.role, message.user, message.agent, message.content, secrets)


def _memories(extracted: Sequence[ExtractedMemory], numbers: Mapping[UUID, int]) -> list[TriedMemory]:
    """Return what consolidation makes of them where nothing is stored yet."""
    changes = consolidate((), extracted)
    places = {new.id: number for number, new in enumerate(changes.added, 1)}
    shown = [
        _memory(number, new.extracted, numbers, *_outcome(new.superseded_by, places))
        for number, new in enumerate(changes.added, 1)
    ]
    merged = (
        _memory(number, one, numbers, "merged", places[id_])
        for number, (id_, one) in enumerate(changes.merged, len(shown) + 1)
    )
    return [*shown, *merged][:MOST_SHOWN]


def _outcome(superseded_by: UUID | None, places: Mapping[UUID, int]) -> tuple[TrialOutcome, int | None]:
    return ("kept", None) if superseded_by is None else ("superseded", places.get(superseded_by))


def _memory(
    number: int, one: ExtractedMemory, numbers: Mapping[UUID, int], outcome: TrialOutcome, other: int | None
) -> TriedMemory:
    return TriedMemory(
        number, one.type, one.text, one.importance, one.confidence, one.user, one.agent, one.said_by,
        one.by or NAME, _numbers(one.sources, numbers), outcome, other,
    )  # fmt: skip


def _numbers(sources: Sequence[UUID], numbers: Mapping[UUID, int]) -> tuple[int, ...]:
    return tuple(numbers[source] for source in sources if source in numbers)
