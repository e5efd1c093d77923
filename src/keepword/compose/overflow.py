"""A turn that would fill the window: summaries take the place of the oldest messages, one window after the other."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from keepword.access import Grant, Place
from keepword.answers import ComposedContext, LeftOut, QuotesIn, SectionName, Summary
from keepword.compaction.plan import CompactionPolicy
from keepword.compaction.ports import Summaries
from keepword.compose import section_items
from keepword.compose.assemble import assemble, count_newest, turn_tokens
from keepword.compose.degraded import abandon, reason_of
from keepword.compose.inline import InlineCompactor
from keepword.compose.parts import Item, Limits, TranscriptMessage, TurnMaterial
from keepword.compose.template import Template
from keepword.slices import Runner, at_once, in_thread

# of the window; beyond it the oldest messages give way to a summary
COMPACT_ABOVE = 0.7
# summaries that a turn looks at
SUMMARIES = 12
# windows that one turn compacts at most: where no worker kept up with a long conversation, it must not do all the work
MOST_WINDOWS = 4
# where everything fits the window, less than both is not worth a summary of its own: each turn would make one
LEAST_MESSAGES = 5
LEAST_OF_WINDOW = 0.125
# for all of it; a database that is stuck must not cost the turn
COMPACT_SECONDS = 15.0
# characters that are sanitised, counted and put together within about 20 ms
APART_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class ContextShape:
    """The frame of a turn's sections. `is_new` tells whether the ledger lets an item through."""

    place: Place
    invocation: Item
    limits: Limits
    template: Template
    sections: AbstractSet[SectionName]
    is_new: Callable[[Item], bool]
    quotes_in: QuotesIn = "user"
    run: Runner = in_thread

    async def assemble(self, material: TurnMaterial) -> tuple[ComposedContext, list[Item]]:
        """Fill the sections: an ordinary turn at once, one of much text elsewhere."""
        run: Runner = self.run if len(self.invocation.text) + _size(material) > APART_CHARS else at_once
        return await run(assemble, material, self.invocation, self.limits, self.template, self.sections, self.quotes_in)

    def own(self, turns: Iterable[TranscriptMessage]) -> list[TranscriptMessage]:
        """Return the turns of this conversation; in the same place there may be others."""
        return [turn for turn in turns if turn.conversation == self.place.external_id]

    def count_newest(self, material: TurnMaterial, most: int) -> int:
        """Return how many of this conversation's newest turns stay: those that surely fit, but one at least."""
        count = count_newest(material, self.invocation, self.limits, self.template)
        return max(1, min(most, len(self.own(material.turns[len(material.turns) - count :]))))


def _size(material: TurnMaterial) -> int:
    items = (*material.fields, *material.files, *material.facts, *material.profiles, *material.recall)
    transcript_items = (*(turn.item for turn in material.turns), *(digest.item for digest in material.digests))
    return sum(len(item.text) for item in (*items, *transcript_items))


@dataclass(frozen=True, slots=True)
class FittedContext:
    """A composed turn, its material, and the reasons for parts that failed."""

    material: TurnMaterial
    composed: ComposedContext
    used: Sequence[Item]
    degraded: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class _Progress:
    """How far a turn came: the summaries that it knows, its latest shape, and how many messages it summarised."""

    tops: Sequence[Summary]
    fitting: FittedContext
    compacted: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def covered(self) -> int:
        return covered(self.tops)


@dataclass(frozen=True, slots=True)
class Overflow:
    """`inline` is None where nothing may be compacted; all of it may take `seconds`."""

    summaries: Summaries
    inline: InlineCompactor | None
    seconds: float = COMPACT_SECONDS

    async def fit(
        self, grant: Grant, shape: ContextShape, material: TurnMaterial, tops: Sequence[Summary] | None
    ) -> FittedContext:
        """Fill the sections; over the threshold, let messages give way until it fits or nothing is left that could.

        First to those summaries that are there already, then to new ones. What fails on the way is named, and the
        turn goes on with what it has.
        """
        fitting = FittedContext(material, *await shape.assemble(material))
        if tops is None or not _is_over(fitting) or not {"summary", "transcript"} <= set(shape.sections):
            return fitting
        progress = _Progress(tops, fitting)
        failed = await self._in_time(self._shrink(grant, shape, material, progress))
        proposed = fitting.composed.proposed_tokens
        composed = replace(progress.fitting.composed, proposed_tokens=proposed, compacted=progress.compacted)
        degraded = [("compaction", f"{failed}; the oldest messages were not compacted")] if failed else []
        return replace(progress.fitting, composed=composed, degraded=degraded)

    async def _in_time(self, work: Coroutine[Any, Any, None]) -> str | None:
        """Return why the work was not done, if so."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=self.seconds)
        finally:
            if not task.done():
                abandon(task)
        if not task.done():
            return f"it took longer than {self.seconds:g} s"
        failed = task.exception()
        return reason_of("compaction", failed) if failed else None

    async def _shrink(self, grant: Grant, shape: ContextShape, material: TurnMaterial, progress: _Progress) -> None:
        tail = self.inline.tail_messages if self.inline else CompactionPolicy().tail_messages
        keep = shape.count_newest(material, tail)
        for _ in range(MOST_WINDOWS + 1):
            shorter = _give_way(shape, material, progress.tops, keep)
            if shorter.replaced:
                progress.fitting = FittedContext(shorter, *await shape.assemble(shorter))
            if not _is_over(progress.fitting) or not await self._compact(grant, shape, material, progress, keep):
                break

    async def _compact(
        self, grant: Grant, shape: ContextShape, material: TurnMaterial, progress: _Progress, keep: int
    ) -> bool:
        """Compact the oldest window; tell whether the summaries reach further now, by us or by another turn."""
        is_cut = progress.fitting.composed.proposed_tokens > shape.limits.window
        if self.inline is None or not count_giving(shape, material, progress.covered, keep, is_cut=is_cut):
            return False
        before = progress.covered
        known = before if len(progress.tops) < SUMMARIES else None
        # the invocation may be a message already, and stays as well
        tail = keep + (shape.invocation.id != "now")
        spent = time.monotonic() - progress.began
        progress.compacted += await self.inline.compact(grant, shape.place, known, tail, spent)
        progress.tops = await self.summaries.tops(grant, shape.place, SUMMARIES)
        return progress.covered > before


def _is_over(fitting: FittedContext) -> bool:
    return fitting.composed.proposed_tokens > COMPACT_ABOVE * fitting.composed.window_tokens


def covered(tops: Iterable[Summary]) -> int:
    """Return the last message that a summary tells of."""
    return max((one.last_seq for one in tops if one.last_seq is not None), default=0)


def count_giving(shape: ContextShape, material: TurnMaterial, reach: int, keep: int, *, is_cut: bool) -> int:
    """Return how many messages would give way to a new summary; 0 if they are too few to be worth one."""
    own = shape.own(material.turns)
    giving = [turn for turn in own[: len(own) - keep] if turn.seq > reach]
    before = max(0, own[0].seq - reach - 1) if own else 0
    count = len(giving) + before
    if is_cut or count >= LEAST_MESSAGES:
        return count
    gained = sum(turn_tokens(turn, shape.template) for turn in giving)
    return count if gained >= LEAST_OF_WINDOW * shape.limits.window else 0


def name_older(place: Place, turns: Iterable[TranscriptMessage], tops: Sequence[Summary]) -> list[LeftOut]:
    """Name this conversation's messages before the given ones that no summary tells of."""
    first = min((turn.seq for turn in turns if turn.conversation == place.external_id), default=1)
    begin = covered(tops) + 1
    if begin >= first:
        return []
    talk = place.external_id
    return [LeftOut("transcript", "message", first - begin, "older", talk, begin, first - 1)]


def _give_way(shape: ContextShape, material: TurnMaterial, tops: Sequence[Summary], keep: int) -> TurnMaterial:
    """Let the summaries stand for the messages that they cover, but for the newest."""
    digests = section_items.summary_items(tops, shape.place)
    own = shape.own(material.turns)
    candidates = own[: len(own) - keep]
    replaced = [turn for turn in candidates if any(digest.covers(turn) for digest in digests)]
    gone = {turn.item.id for turn in replaced}
    marked = [replace(digest, replaces=any(map(digest.covers, replaced))) for digest in digests]
    # a summary that replaces messages of this turn is no repetition, even if an earlier turn showed it
    kept = [digest for digest in marked if digest.replaces or shape.is_new(digest.item)]
    again = len(marked) - len(kept)
    left_out = [one for one in material.left_out if one.section != "summary" and one.reason != "older"]
    left_out += [LeftOut("summary", "summary", again, "injected before")] if again else []
    return replace(
        material, turns=[turn for turn in material.turns if turn.item.id not in gone], digests=kept, replaced=replaced,
        left_out=[*left_out, *name_older(shape.place, material.turns, tops)],
    )  # fmt: skip
