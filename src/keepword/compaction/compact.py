"""Compacts one conversation: leaves, then sessions, days and weeks. Each summary is stored as soon as it is made."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from keepword.access import Grant
from keepword.compaction import plan
from keepword.compaction.landmarks import detect
from keepword.compaction.plan import CompactionPolicy, OrphanSummary, ParentPlan, Segment, Tier
from keepword.compaction.ports import (
    LATE_REASON_PREFIX,
    CompactionState,
    HiddenSummary,
    NewSummary,
    NextLook,
    Summaries,
    Task,
    TaskMessage,
    Tasks,
)
from keepword.compaction.sources import PIPELINE_VERSION, SummarySource, TierSummary
from keepword.compaction.summarize import SummaryDraft, summarize
from keepword.compaction.toolcalls import synthesize
from keepword.errors import Unavailable
from keepword.ids import new_id
from keepword.llm.port import Model
from keepword.slices import Runner, in_thread
from keepword.transcript.secrets_hidden import hide_secrets

_BATCH = 200
# what was quoted inside a turn waits this long for its model; between two attempts it gets time to come back
PATIENCE = timedelta(days=1)
TRY_AGAIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Compactor:
    """Compacts one conversation at a time; the database refuses a summary that another worker stored first.

    What exists already is continued in its own `version`, until it is made anew as a whole.
    """

    store: Summaries
    model: Model | None = None
    policy: CompactionPolicy = field(default_factory=CompactionPolicy)
    version: int = PIPELINE_VERSION
    run: Runner = in_thread
    keeps_secrets: bool = False

    async def compact(self, grant: Grant, conversation_id: UUID, now: datetime) -> int:
        """Make every summary that is due; return how many were made. Running it again makes nothing more."""
        remade = await self._remake_all(grant, conversation_id)
        if (older := await self._continuing(grant, conversation_id)) is not None:
            return remade + await older.compact(grant, conversation_id, now)
        summary_count, again_at = await self._improve(grant, conversation_id, now)
        while state := await self.store.state(grant, conversation_id, self.version):
            fresh = await self._step(grant, conversation_id, state, now)
            summary_count += fresh
            if not fresh:
                await self._settle(grant, conversation_id, state, now, again_at)
                break
        return remade + summary_count

    async def recompact(self, grant: Grant, conversation_id: UUID, now: datetime) -> int:
        """Make all summaries again beside those of an older version, then serve the new ones; return how many.

        After an interruption the next call continues.
        """
        summary_count = 0
        while (state := await self.store.state(grant, conversation_id, self.version)) is not None:
            served, reach = await self.store.served(grant, conversation_id) or (self.version, 0)
            fresh = await self._redo(grant, conversation_id, state, reach, now) if served < self.version else 0
            summary_count += fresh
            if not fresh and await self.store.replace(grant, conversation_id, self.version):
                break
        return summary_count

    async def compact_oldest(
        self, grant: Grant, conversation_id: UUID, after_seq: int | None, model_seconds: float, tail_messages: int
    ) -> int:
        """Summarise the oldest window that no leaf covers, due or not; return how many messages it took.

        The last `tail_messages` are left alone. `after_seq` is the last message that the caller knew to be covered: if
        a leaf goes further by now, nothing is done, as whoever made that did it for all. A model that takes longer than
        it may is not waited for: quoting serves at once, and the worker asks the model again.
        """
        if (older := await self._continuing(grant, conversation_id)) is not None:
            return await older.compact_oldest(grant, conversation_id, after_seq, model_seconds, tail_messages)
        state = await self.store.state(grant, conversation_id, self.version)
        policy = replace(self.policy, tail_messages=tail_messages)
        window = plan.oldest(state.uncovered, policy) if state else None
        if state is None or window is None or after_seq not in {None, window.first_seq - 1}:
            return 0
        source = await self._source(grant, conversation_id, state, (window.first_seq, window.last_seq))
        if not source.messages:
            stored = await self._store_empty(grant, conversation_id, state, source)
            return stored * (window.last_seq - window.first_seq + 1)
        summary_draft = await self._soon(source, model_seconds)
        stored = await self._store(grant, conversation_id, source, summary_draft)
        if stored and summary_draft.reason:
            await self.store.wake(grant, conversation_id)
        return stored * (window.last_seq - window.first_seq + 1)

    async def compact_now(
        self, grant: Grant, conversation_id: UUID, now: datetime, model_seconds: float, most_leaves: int
    ) -> int:
        """Summarise also what is not due yet, up to so many leaves; return how many messages have no summary still.

        All leaves together have `model_seconds` for the model, as in `compact_oldest`. Above them a model is not asked:
        the worker does that when the conversation is silent.
        """
        if (older := await self._continuing(grant, conversation_id)) is not None:
            return await older.compact_now(grant, conversation_id, now, model_seconds, most_leaves)
        ends_at = time.monotonic() + model_seconds
        made = 0
        state = await self.store.state(grant, conversation_id, self.version)
        for _ in range(most_leaves):
            # planned anew after each leaf: a worker may be at it as well
            windows = plan.leaves_due(state.uncovered, self.policy, quiet=True) if state else []
            if state is None or not windows:
                break
            made += await self._now(grant, conversation_id, state, windows[0], ends_at - time.monotonic())
            state = await self.store.state(grant, conversation_id, self.version)
        if state and not state.uncovered and self.model is None:
            made += await self._parents_now(grant, conversation_id, state, now)
        if made:
            await self.store.wake(grant, conversation_id)
        return len(state.uncovered) if state else 0

    async def _parents_now(
        self, grant: Grant, conversation_id: UUID, state: CompactionState | None, now: datetime
    ) -> int:
        made = 0
        # where a worker takes the same children, it makes the parent
        with suppress(Unavailable):
            while state and (fresh := await self._parents(grant, conversation_id, state, now, quiet=True)):
                made += fresh
                state = await self.store.state(grant, conversation_id, self.version)
        return made

    async def _now(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, window: Segment, model_seconds: float
    ) -> int:
        """Summarise one window, by the model if it takes no longer than it may; return 1 if it was stored."""
        source = await self._source(grant, conversation_id, state, (window.first_seq, window.last_seq))
        if not source.messages:
            return await self._store_empty(grant, conversation_id, state, source)
        return await self._store(grant, conversation_id, source, await self._soon(source, model_seconds))

    async def _soon(self, source: SummarySource, model_seconds: float) -> SummaryDraft:
        """Summarise in a given time; where the model did not do it, the reason begins with `LATE`."""
        if self.model is None:
            return await summarize(source, None, self.run)
        if model_seconds <= 0:
            summary_draft = replace(
                await summarize(source, None, self.run), reason="an earlier window of the turn took the model's time"
            )
        else:
            summary_draft = await self._in_time(source, model_seconds)
        return (
            replace(summary_draft, reason=f"{LATE_REASON_PREFIX}: {summary_draft.reason}")
            if summary_draft.reason
            else summary_draft
        )

    async def _in_time(self, source: SummarySource, model_seconds: float) -> SummaryDraft:
        try:
            async with asyncio.timeout(model_seconds):
                return await summarize(source, self.model, self.run)
        except TimeoutError:
            return replace(
                await summarize(source, None, self.run), reason=f"the model took longer than {model_seconds:g} s"
            )

    async def _improve(self, grant: Grant, conversation_id: UUID, now: datetime) -> tuple[int, datetime | None]:
        """Replace leaves that were quoted inside a turn by the model's; return how many, and when to try the others."""
        late = await self.store.late(grant, conversation_id, self.version) if self.model else []
        state = await self.store.state(grant, conversation_id, self.version) if late else None
        done = 0
        if state is None:
            return done, None
        for leaf in late:
            source = await self._source(grant, conversation_id, state, (leaf.first_seq, leaf.last_seq))
            summary_draft = await summarize(source, self.model, self.run)
            if summary_draft.reason and now - leaf.created_at < PATIENCE:
                return done, now + TRY_AGAIN
            new = _new(leaf.id, source, summary_draft)
            done += int(await self.store.improve(grant, conversation_id, self.version, new))
        return done, None

    async def _continuing(self, grant: Grant, conversation_id: UUID) -> "Compactor | None":
        """Return a compactor for the version that is served now, if that is another one."""
        served = await self.store.served(grant, conversation_id)
        return replace(self, version=served[0]) if served and served[0] != self.version else None

    async def _redo(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, reach: int, now: datetime
    ) -> int:
        """Make what is missing of a copy that reaches as far as `reach`, on the lowest level that misses anything."""
        behind = [message for message in state.uncovered if message.seq <= reach]
        if not behind:
            return await self._parents(grant, conversation_id, state, now, quiet=self._is_quiet(state, now))
        windows = plan.leaves_due(behind, self.policy, quiet=behind[-1].seq == reach)
        return sum([await self._leaf(grant, conversation_id, state, window) for window in windows])

    async def _step(self, grant: Grant, conversation_id: UUID, state: CompactionState, now: datetime) -> int:
        """Make the summaries that are due on the lowest level that has any."""
        quiet = self._is_quiet(state, now)
        if windows := plan.leaves_due(state.uncovered, self.policy, quiet=quiet):
            return sum([await self._leaf(grant, conversation_id, state, window) for window in windows])
        return await self._parents(grant, conversation_id, state, now, quiet=quiet)

    async def _parents(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, now: datetime, *, quiet: bool
    ) -> int:
        orphans: dict[Tier, list[OrphanSummary]] = {tier: _nodes(state.orphans[tier]) for tier in state.orphans}
        families = plan.parents_due(orphans, state.uncovered, self.policy, now, quiet=quiet)
        return sum([await self._parent(grant, conversation_id, state, family) for family in families])

    def _is_quiet(self, state: CompactionState, now: datetime) -> bool:
        # messages after those that were read: the conversation is not silent
        if state.uncovered and state.uncovered[-1].seq < state.last_seq:
            return False
        # by the time of the last append: an import brings old times along while it runs
        return not state.active or now - state.updated_at >= self.policy.silence

    async def _leaf(self, grant: Grant, conversation_id: UUID, state: CompactionState, window: Segment) -> int:
        source = await self._source(grant, conversation_id, state, (window.first_seq, window.last_seq))
        if not source.messages:
            return await self._store_empty(grant, conversation_id, state, source)
        return await self._make(grant, conversation_id, source)

    async def _store_empty(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, source: SummarySource
    ) -> int:
        """Store a leaf without words for messages that were all retracted, so that the next one can follow it."""
        times = [one.at for one in state.uncovered if source.first_seq <= one.seq <= source.last_seq]
        new = _without_words(new_id(), source, times[0], times[-1])
        return int(await self.store.store(grant, conversation_id, self.version, new))

    async def _remake_all(self, grant: Grant, conversation_id: UUID) -> int:
        """Make the summaries again that lost a message to a retraction, or got one back; return how many."""
        remade = 0
        while waiting := await self.store.to_remake(grant, conversation_id):
            state = await self.store.state(grant, conversation_id, self.version)
            if state is None:
                break
            done = sum([await self._remake(grant, conversation_id, state, one) for one in waiting])
            remade += done
            if not done:
                break
        return remade

    async def _remake(self, grant: Grant, conversation_id: UUID, state: CompactionState, one: HiddenSummary) -> int:
        if one.tier == "thread":
            source = await self._source(grant, conversation_id, state, (one.first_seq, one.last_seq))
        else:
            children = await self.store.kept_children(grant, conversation_id, one.id)
            source = SummarySource(state.about, one.tier, children=children, span=(one.first_seq, one.last_seq))
        if source.messages or source.children:
            new = _new(one.id, source, await summarize(source, self.model, self.run))
        else:
            new = _without_words(one.id, source, state.updated_at, state.updated_at)
        return int(await self.store.remake(grant, conversation_id, self.version, new))

    async def _source(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, span: tuple[int, int]
    ) -> SummarySource:
        messages = await self.store.messages(grant, conversation_id, *span)
        if not self.keeps_secrets:
            messages = await self.run(hide_secrets, messages)
        tool_sentences = await self.store.sentences(grant, conversation_id, *span)
        sentences = {message.id: tool_sentences[message.seq] for message in messages if message.seq in tool_sentences}
        return SummarySource(state.about, "thread", messages, (), sentences, span)

    async def _parent(self, grant: Grant, conversation_id: UUID, state: CompactionState, family: ParentPlan) -> int:
        known = {summary.id: summary for summaries in state.orphans.values() for summary in summaries}
        children = [known[node.id] for node in family.children]
        return await self._make(grant, conversation_id, SummarySource(state.about, family.tier, children=children))

    async def _make(self, grant: Grant, conversation_id: UUID, source: SummarySource) -> int:
        return await self._store(grant, conversation_id, source, await summarize(source, self.model, self.run))

    async def _store(
        self, grant: Grant, conversation_id: UUID, source: SummarySource, summary_draft: SummaryDraft
    ) -> int:
        new = _new(new_id(), source, summary_draft)
        return int(await self.store.store(grant, conversation_id, self.version, new))

    async def _settle(
        self, grant: Grant, conversation_id: UUID, state: CompactionState, now: datetime, again_at: datetime | None
    ) -> None:
        orphans = [node for tier in state.orphans for node in _nodes(state.orphans[tier])]
        quiet_at = None if state.uncovered or self._is_quiet(state, now) else state.updated_at + self.policy.silence
        ends = (plan.next_end(orphans, now), again_at, quiet_at)
        next_at = min((end for end in ends if end and end > now), default=None)
        stuck = len(state.uncovered) >= self.policy.window_messages + self.policy.tail_messages
        due_seq = state.last_seq + max(1, self.policy.tail_messages) if stuck else 0
        # what is left alone after its week is over stays alone, until more is said
        done = not state.uncovered and self._is_quiet(state, now) and next_at is None and again_at is None
        settled = NextLook(state.last_seq, due_seq, next_at, done)
        await self.store.settle(grant, conversation_id, self.version, settled)


def _new(id_: UUID, source: SummarySource, summary_draft: SummaryDraft) -> NewSummary:
    summary = TierSummary(
        id_, source.tier, source.first_seq, source.last_seq, source.earliest_at, source.latest_at,
        summary_draft.text, summary_draft.message_tokens, summary_draft.key_decisions,
        summary_draft.entities_mentioned, summary_draft.tools_called,
    )  # fmt: skip
    children = [child.id for child in source.children]
    return NewSummary(
        summary, source.message_count, summary_draft.model, summary_draft.share, summary_draft.reason, children
    )


def _without_words(id_: UUID, source: SummarySource, earliest_at: datetime, latest_at: datetime) -> NewSummary:
    summary = TierSummary(id_, source.tier, source.first_seq, source.last_seq, earliest_at, latest_at, "-", 0)
    return NewSummary(summary, 0, "none", 1.0, None, (), is_empty=True)


def _nodes(summaries: Sequence[TierSummary]) -> list[OrphanSummary]:
    return [OrphanSummary(one.id, one.first_seq, one.last_seq, one.earliest_at, one.latest_at) for one in summaries]


async def describe_tool_calls(tasks: Tasks, grant: Grant, conversation_id: UUID, model: Model | None) -> int:
    """Write one sentence for each tool call in the queue."""

    async def write(message: TaskMessage) -> None:
        sentence = await synthesize(model, message.tool_name or "a tool", message.tool_args)
        await tasks.store_sentence(grant, conversation_id, message.seq, sentence)

    return await _for_each(tasks, grant, conversation_id, "describe", write)


async def find_landmarks(
    tasks: Tasks, grant: Grant, conversation_id: UUID, run: Runner = in_thread, *, keeps_secrets: bool = False
) -> int:
    """Pin the landmarks of each message in the queue; one with a secret in it is not pinned."""

    async def pin(message: TaskMessage) -> None:
        landmarks = await run(detect, message.content, keeps_secrets=keeps_secrets)
        await tasks.store_landmarks(grant, conversation_id, message.seq, landmarks)

    return await _for_each(tasks, grant, conversation_id, "landmark", pin)


async def _for_each(
    tasks: Tasks, grant: Grant, conversation_id: UUID, task: Task, do: Callable[[TaskMessage], Awaitable[None]]
) -> int:
    """Do a task for each message in its queue; return for how many it was done.

    A failure stops no other message: it is counted for its own message, and raised after all were tried.
    """
    done = 0
    failures: dict[int, Exception] = {}
    while pending := await tasks.pending(grant, conversation_id, task, _BATCH):
        untried = [message for message in pending if message.seq not in failures]
        if not untried:
            break
        for message in untried:
            try:
                await do(message)
                done += 1
            except Exception as exc:  # noqa: BLE001 - a job's loop; it is raised below
                failures[message.seq] = exc
                await tasks.fail(grant, conversation_id, task, message.seq)
    for failure in failures.values():
        raise failure
    return done
