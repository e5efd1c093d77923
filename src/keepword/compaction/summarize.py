"""Makes one summary: by a model that passes the faithfulness check, else by quoting."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from keepword import faithfulness, tokens
from keepword.compaction import extractive, render
from keepword.compaction.gate import Gate, JudgedSummary
from keepword.compaction.render import Block
from keepword.compaction.sources import SummarySource, minute
from keepword.errors import ModelCutOff, ModelFailed
from keepword.faithfulness import Sources, Verdict
from keepword.llm.port import Model, Prompt
from keepword.slices import Runner, in_thread

_log = structlog.get_logger()

_MORE_ROOM = 2


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """What a source became. `share` is the faithfulness check's; `reason` says why the model did not write it."""

    text: str
    model: str
    share: float
    message_tokens: int
    reason: str | None
    key_decisions: Sequence[str]
    entities_mentioned: Sequence[str]
    tools_called: Sequence[str]


class UnfaithfulSummary(ModelFailed):
    """The model's text names what its sources do not."""


class LengthySummary(ModelFailed):
    """The model's text is about as long as what it summarises."""


async def summarize(source: SummarySource, model: Model | None, run: Runner = in_thread) -> SummaryDraft:
    """Summarise by the model, or by quoting where it fails. `run` calls functions that read text."""
    if not source.messages and not source.children:
        raise ValueError("a source has messages or children")
    if model is None:
        return await run(_quote, source, None)
    try:
        made = await _ask(source, model, run)
    except ModelFailed as exc:
        reason = f"{type(exc).__name__}: {exc}"
        _log.warning("model gave no summary, quoting instead", conversation=source.about.external_id, reason=reason)
        return await run(_quote, source, reason)
    return await run(_draft, source, made.text, made.model, made.faithful.share, None)


def count_messages(source: SummarySource) -> int:
    """Return the tokens of all messages below, without headers."""
    if source.children:
        return sum(child.message_tokens for child in source.children)
    return sum(tokens.count(render.message_text(message, source)) for message in source.messages)


def read_sources(source: SummarySource) -> Sources:
    """Return what a summary may mention: all words, speakers and times, and the conversation's description."""
    texts = [render.preamble(source)]
    texts += [f"{block.header.partition(' ')[2]}\n{block.text}" for block in render.blocks(source)]
    return Sources(texts)


def _quote(source: SummarySource, reason: str | None) -> SummaryDraft:
    text = extractive.summarize(source, count_messages(source))
    if not text:  # only greetings, attachments or blanks: the summary gives the times alone
        text = f"- {minute(source.earliest_at)} {source.about.agent}: ({source.message_count} messages without content)"
    share = _judge(text, source).share
    return _draft(source, text, extractive.NAME, share, reason)


def _judge(text: str, source: SummarySource) -> Verdict:
    return faithfulness.check_faithful(text, read_sources(source))


def _draft(source: SummarySource, text: str, model: str, share: float, reason: str | None) -> SummaryDraft:
    return SummaryDraft(
        text, model, share, count_messages(source), reason, extractive.key_decisions(source),
        extractive.entities_mentioned(source), extractive.tools_called(source),
    )  # fmt: skip


async def _ask(source: SummarySource, model: Model, run: Runner) -> JudgedSummary:
    """Ask the model, and once more with what was wrong; then add quotes of what is lost, where it is too much.

    Raises UnfaithfulSummary where both texts name what the sources do not, LengthySummary where both only repeat them.
    """
    gate = await run(_gate, source)
    first = await run(gate.judge, *await _write(source, model, "", run))
    if gate.passes(first):
        return first
    try:
        second = await run(gate.judge, *await _write(source, model, gate.remark(first), run))
    except ModelFailed:
        if not first.faithful.passes:
            raise
        second = first
    faithful = [one for one in (second, first) if one.faithful.passes]
    if not faithful:
        named = ", ".join(second.faithful.offending)
        raise UnfaithfulSummary(f"{second.faithful.share:.2f} of what it names is in the sources, not in them: {named}")
    best = max(faithful, key=lambda one: (not one.too_long, not one.early, -len(one.unsaid), one.kept.share))
    made = best if gate.passes(best) else await run(gate.complete, best)
    if made.too_long:
        raise LengthySummary("it is about as long as what it summarises, in two tries")
    return made


def _gate(source: SummarySource) -> Gate:
    return Gate(source, read_sources(source), count_messages(source))


async def _write(source: SummarySource, model: Model, remark: str, run: Runner) -> tuple[str, str]:
    """Summarise all blocks; where they do not fit into the window, part by part, and then the parts' notes."""
    budget = render.budget(source.tier, model.context_tokens)
    head = render.preamble(source) + remark
    blocks = render.blocks(source)
    while True:
        room = render.free_tokens(source.tier, model.context_tokens, budget) - tokens.count(head) - 4
        parts = await run(render.pack, blocks, max(room, _LEAST_ROOM))
        answers = [await _one(source, model, budget, head, part) for part in parts]
        if len(answers) == 1:
            return answers[0]
        joined = [Block(_span(part), text) for part, (text, _) in zip(parts, answers, strict=True)]
        if sum(tokens.count(block.text) for block in joined) >= sum(tokens.count(block.text) for block in blocks):
            # the notes do not shrink: together they are the summary
            return "\n".join(text for text, _ in answers), answers[0][1]
        blocks = joined


_LEAST_ROOM = 200


async def _one(source: SummarySource, model: Model, budget: int, head: str, part: Sequence[Block]) -> tuple[str, str]:
    system = render.system_prompt(source.tier)
    text = f"{head}\n\n" + "\n".join(map(str, part))
    try:
        answer = await model.ask(Prompt(system, text, budget))
    except ModelCutOff:
        # a larger limit, as far as the window allows
        used = int(tokens.count(text) * 1.25) + tokens.count(system)
        more = min(budget * _MORE_ROOM, model.context_tokens - used)
        if more <= budget:
            raise
        answer = await model.ask(Prompt(system, text, more))
    return answer.text, answer.model


def _span(part: Sequence[Block]) -> str:
    return part[0].header if len(part) == 1 else f"{part[0].header} up to {part[-1].header}"
