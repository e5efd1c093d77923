"""Searching: candidates inside the grant, scored by a recipe, shown with their reasons."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

import numpy as np

from keepword.access import Grant
from keepword.answers import EntryKind, Hit, Inside, Reason, SearchMode, SearchResults
from keepword.embedding.instant import InstantTable
from keepword.errors import InvalidInput, KeepwordError
from keepword.period import Calendar
from keepword.recall import explain
from keepword.recall.deep import DEEP_SECONDS, ask_in_time
from keepword.recall.ports import DeepModel, DeepQuery, EntryView, Filter, Index, PendingSearch, Query, Use
from keepword.recall.question import Question, ask
from keepword.recall.rank import Cut, choose_best, is_near, most_specific
from keepword.recall.recipe import DEFAULT, Recipe, for_space, recipe
from keepword.recall.score import Candidates, ScoredCandidates, score, similarity
from keepword.recall.time_words import understand
from keepword.recall.when import When, joined

Mode = Literal["hybrid", "words", "meaning", "trigram", "regex"]

MAX_LIMIT = 50
MAX_CONTEXT = 10
MAX_QUERY_BYTES = 32_768
# one hit in this many may be a summary, unless summaries are asked for: messages come first
SUMMARY_EVERY = 5
# this many of the best summaries are expanded, each to this many of its sources
MAX_EXPANDED = 3
MAX_INSIDE = 5
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """`explain` gives every signal and word; "arms" only says by which arms each was found.

    `time_words`: read "yesterday" or "when did we last" in the query, unless a time is given.
    `zone`: the name of the zone in which times are read; None is the service's.
    `prefer`: an agent; among the best, what was said with another agent counts less, by the recipe.
    """

    query: str
    mode: Mode = "hybrid"
    recipe: str = DEFAULT
    kinds: tuple[EntryKind, ...] | None = None
    agent: str | None = None
    user: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    window: str | None = None
    time_words: bool = True
    limit: int = 10
    context: int = 0
    explain: bool | Literal["arms"] = False
    expand: bool = True
    prefer: str | None = None
    min_score: float | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class RankedHit(Hit):
    """A hit with fields that no answer shows: its entry's number, by which uses are counted, and its subject."""

    entry: int = field(kw_only=True)
    covers: tuple[int, int] | None = field(default=None, kw_only=True)
    memories: tuple[UUID, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class RankedResults(SearchResults):
    results: tuple[RankedHit, ...]


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The best candidates: their rows and their scores."""

    rows: Sequence[int]
    candidates: Candidates
    scored: ScoredCandidates

    def totals_of(self, hits: Sequence[RankedHit]) -> list[float]:
        """Return the sum of shares of each hit."""
        totals = {int(self.candidates.ids[row]): float(self.scored.total[row]) for row in self.rows}
        return [totals[hit.entry] for hit in hits]


class Recall:
    def __init__(self, index: Index, table: InstantTable, model: DeepModel | None, calendar: Calendar) -> None:
        self._index = index
        self.table = table
        self._model = model
        self._calendar = calendar

    async def search(self, grant: Grant, request: RecallRequest, asker: str | None = None) -> RankedResults:
        """Find the best entries inside the grant. Raises InvalidInput for a request that has no meaning."""
        filter_ = self.make_filter(request)
        if request.mode in {"trigram", "regex"}:
            return await self._literally(grant, request, filter_)
        chosen = _for_mode(recipe(request.recipe), request.mode)
        asked = ask(request.query, self.table)
        when = self._when(request, filter_)
        question = when.narrowed(asked)
        query = Query(question, filter_, chosen.instant > 0 or chosen.deep > 0, asker=asker)
        candidates, deep, degraded = await self.find(grant, query, request.query, chosen)
        if when.has_window:
            candidates = await self._within(grant, query, deep, chosen, when, candidates)
            if not when.has_any(candidates):
                # nothing was said then: the words for time are words like others
                when, question = when.unused(), asked
                query = replace(query, question=question)
                candidates = await (await self._begin(grant, query, chosen)).candidates(deep)
        embedded = candidates.embedded if deep else 0.0
        chosen = for_space(chosen, is_tuned=deep is not None and deep.is_tuned, embedded=embedded)
        ranked = await self._rank(grant, question, chosen, candidates, request, when)
        hits: Sequence[RankedHit] = await self._show(grant, request, question, chosen, ranked, when.pool(request.limit))
        hits = when.in_order(hits, ranked.totals_of(hits))[: request.limit]
        if request.expand:
            hits = await self._expand(grant, query, deep, chosen, ranked, hits)
        searched = _searched(request, filter_, candidates) | when.shown()
        hint = None if hits else _hint(request, question, candidates)
        return RankedResults(tuple(hits), searched, tuple(degraded), hint, None)

    async def find(
        self, grant: Grant, query: Query, text: str, chosen: Recipe
    ) -> tuple[Candidates, DeepQuery | None, list[str]]:
        """Return candidates, the text's deep vector, and why there is none."""
        # the model runs in its own thread; the steps that do not need the vector run meanwhile
        (deep, degraded), pending = await asyncio.gather(self._deep(text, chosen), self._begin(grant, query, chosen))
        return await pending.candidates(deep), deep, degraded

    def _when(self, request: RecallRequest, filter_: Filter) -> When:
        if not request.time_words or request.mode not in {"hybrid", "words"}:
            return When()
        calendar = self._calendar.of(request.zone)
        words = understand(request.query, calendar.now(), calendar.zone)
        # the caller's own filters win over the words for time in the question
        return When(words, has_window=bool(words and words.since and not (filter_.since or filter_.before)))

    async def _within(
        self, grant: Grant, query: Query, deep: DeepQuery | None, chosen: Recipe, when: When, candidates: Candidates
    ) -> Candidates:
        """Add the candidates inside the window: in a large scope the best overall may all lie outside it."""
        if candidates.is_whole:
            return candidates
        pending = await self._begin(grant, replace(query, filter=when.filter(query.filter)), chosen)
        return joined(candidates, await pending.candidates(deep))

    def make_filter(self, request: RecallRequest) -> Filter:
        """Validate the request and turn it into a filter."""
        if not request.query.strip():
            raise InvalidInput("query is empty; to read in time order, browse instead", "query")
        since, before = self._calendar.of(request.zone).between(request.since, request.before, request.window)
        return Filter(request.kinds, request.agent, request.user, since, before)

    async def _begin(self, grant: Grant, query: Query, chosen: Recipe) -> PendingSearch:
        if chosen.deep and self._model:
            # the reason why the model can't answer is reported where it is called
            with suppress(KeepwordError, TimeoutError):
                async with asyncio.timeout(DEEP_SECONDS):
                    query = replace(query, deep_space=await self._model.space())
        return await self._index.begin(grant, query)

    async def _deep(self, query: str, chosen: Recipe) -> tuple[DeepQuery | None, list[str]]:
        if not chosen.deep:
            return None, []
        return await ask_in_time(self._model, query, DEEP_SECONDS)

    async def _rank(
        self,
        grant: Grant,
        question: Question,
        chosen: Recipe,
        candidates: Candidates,
        request: RecallRequest,
        when: When,
    ) -> _Ranking:
        scored = score(candidates, question, chosen, self.table)
        if chosen.temporal or chosen.importance:
            scored = self._with_use(scored, candidates, chosen, await self._index.uses(grant, candidates.ids.tolist()))
        least = _least_total(request, chosen, scored)
        # of two summaries of the same messages one is shown; another may take its place
        summaries = _most_summaries(request)
        cut = Cut(when.pool(request.limit) + summaries, chosen.floor, 2 * summaries, least)
        return _Ranking(choose_best(candidates, scored.total, is_near(scored, cut.floor), cut), candidates, scored)

    def _with_use(
        self, scored: ScoredCandidates, candidates: Candidates, chosen: Recipe, uses: Sequence[Use]
    ) -> ScoredCandidates:
        by_id = {use.entry_id: use for use in uses}
        now = self._calendar.now()
        temporal, importance = (np.zeros(len(candidates.ids), np.float32) for _ in range(2))
        for row, id_ in enumerate(candidates.ids.tolist()):
            if use := by_id.get(id_):
                days = max(0.0, (now - use.last_at).total_seconds() / _SECONDS_A_DAY)
                temporal[row] = np.exp(-0.05 * days) * (1 + 0.02 * use.times)
                importance[row] = use.importance
        shares = {
            **scored.shares, "temporal": chosen.temporal * temporal, "importance": chosen.importance * importance,
        }  # fmt: skip
        signals = {**scored.signals, "temporal": temporal, "importance": importance}
        return replace(scored, total=np.asarray(sum(shares.values()), np.float32), shares=shares, signals=signals)

    async def _show(
        self, grant: Grant, request: RecallRequest, question: Question, chosen: Recipe, ranked: _Ranking, most: int
    ) -> list[RankedHit]:
        ids = [int(ranked.candidates.ids[row]) for row in ranked.rows]
        if not ids:
            return []
        entries_by_id = {entry.entry_id: entry for entry in await self._index.show(grant, ids)}
        # what is missing is gone since, or was moved out of reach
        readable = [entries_by_id[id_] for id_ in ids if id_ in entries_by_id]
        shown = {entry.entry_id: entry for entry in most_specific(readable, _most_summaries(request))[:most]}
        around = await self._index.around(grant, list(shown), request.context) if request.context else {}
        near = similarity(ranked.candidates) if chosen.instant or chosen.deep else None
        rows = [
            (float(ranked.scored.total[row]) * _preference(shown[id_], request, chosen), row, shown[id_], why)
            for row, id_, why in zip(ranked.rows, ids, _reasons(request, question, chosen, ranked), strict=True)
            if id_ in shown
        ]
        hits = [
            _hit(
                entry, _score(chosen, total, ranked.scored), around.get(entry.entry_id, ()), why,
                None if near is None else float(near[row]),
            )
            for total, row, entry, why in sorted(rows, key=lambda one: -one[0])
        ]  # fmt: skip
        return _latest_first(hits)

    async def _expand(
        self,
        grant: Grant,
        query: Query,
        deep: DeepQuery | None,
        chosen: Recipe,
        ranked: _Ranking,
        hits: Sequence[RankedHit],
    ) -> Sequence[RankedHit]:
        """Expand the best summaries, each to the best of its sources."""
        best = [hit.id for hit in hits if hit.kind == "summary"][:MAX_EXPANDED]
        if not best:
            return hits
        inner = await asyncio.gather(*(self._index.inside(grant, query, deep, id_) for id_ in best))
        matches = [self._best_inside(query.question, chosen, ranked, candidates) for candidates in inner]
        ids = list(dict.fromkeys(entry for scores in matches for entry in scores))
        shown = {entry.entry_id: entry for entry in await self._index.show(grant, ids)} if ids else {}
        inside = {
            id_: tuple(_inner(shown[entry], value) for entry, value in scores.items() if entry in shown)
            for id_, scores in zip(best, matches, strict=True)
        }
        return [replace(hit, inside=inside.get(hit.id, ())) for hit in hits]

    def _best_inside(
        self, question: Question, chosen: Recipe, ranked: _Ranking, candidates: Candidates
    ) -> dict[int, float]:
        """Return the best entries among a summary's sources, with their scores."""
        candidates = replace(candidates, literals=ranked.candidates.literals)
        scored = score(candidates, question, chosen, self.table, ranked.scored.idfs)
        # where the search itself scored it, it also knew the turns beside it
        known = dict(zip(ranked.candidates.ids.tolist(), ranked.scored.total.tolist(), strict=True))
        pairs = zip(candidates.ids.tolist(), scored.total.tolist(), strict=True)
        total = np.array([known.get(entry, value) for entry, value in pairs], np.float32)
        rows = choose_best(candidates, total, is_near(scored, chosen.floor), Cut(MAX_INSIDE, chosen.floor, MAX_INSIDE))
        return {int(candidates.ids[row]): _score(chosen, float(total[row]), ranked.scored) for row in rows}

    async def _literally(self, grant: Grant, request: RecallRequest, filter_: Filter) -> RankedResults:
        mode: Literal["trigram", "regex"] = "regex" if request.mode == "regex" else "trigram"
        matches = await self._index.matching(grant, request.query, mode, filter_, request.limit)
        ids = [id_ for id_, _ in matches]
        shown = {entry.entry_id: entry for entry in await self._index.show(grant, ids)} if ids else {}
        around = await self._index.around(grant, ids, request.context) if request.context and ids else {}
        hits = [
            _hit(
                shown[id_], value, around.get(id_, ()), explain.literal(mode, value, rank) if request.explain else None
            )
            for rank, (id_, value) in enumerate(matches, 1)
            if id_ in shown and value >= (request.min_score or 0)
        ]
        hint = None if hits else f"no text here {'matches' if mode == 'regex' else 'resembles'} it; try mode hybrid"
        return RankedResults(tuple(hits), _searched(request, filter_, None), (), hint, None)


def resolve_mode(named: SearchMode) -> Mode:
    return "words" if named == "fts" else named


def _reasons(request: RecallRequest, question: Question, chosen: Recipe, ranked: _Ranking) -> Sequence[Reason | None]:
    if request.explain == "arms":
        return explain.by_arms(ranked.scored, ranked.rows)
    if request.explain:
        return [explain.reason(ranked.scored, chosen, question, row) for row in ranked.rows]
    return [None] * len(ranked.rows)


def _preference(entry: EntryView, request: RecallRequest, chosen: Recipe) -> float:
    """Lower the scores of messages to other agents; in a place with one agent nothing changes."""
    return 1.0 if request.prefer is None or entry.agent in {None, request.prefer} else chosen.other_agent


def _latest_first(hits: Sequence[RankedHit]) -> list[RankedHit]:
    """Put a valid memory, or its message, before the memory that it superseded."""
    ordered = list(hits)
    for old in [hit for hit in hits if hit.superseded_by is not None]:
        place = ordered.index(old)
        later = (hit for hit in ordered[place + 1 :] if old.superseded_by in {hit.id, *hit.memories})
        for new in [*later]:
            ordered.remove(new)
            ordered.insert(place, new)
            place += 1
    return ordered


def _score(chosen: Recipe, total: float, scored: ScoredCandidates) -> float:
    if chosen.calibration is None:
        return total
    return chosen.calibration.chance(total - scored.lift, float(scored.idfs.sum()), scored.entries)


def _least_total(request: RecallRequest, chosen: Recipe, scored: ScoredCandidates) -> float:
    if request.min_score is None:
        return -math.inf
    if chosen.calibration is None:
        return request.min_score
    return chosen.calibration.least_total(request.min_score, float(scored.idfs.sum()), scored.entries) + scored.lift


def _for_mode(chosen: Recipe, mode: Mode) -> Recipe:
    if mode == "words":
        return replace(
            chosen, instant=0, deep=0, without_deep=None, temporal=0, importance=0, soft=0, reach={}, person=0,
            named=0, floor=0.0, calibration=None,
        )  # fmt: skip
    if mode == "meaning":
        half = 0.5 if chosen.deep else 1.0
        return replace(
            chosen, words=0, named=0, literal=0, temporal=0, importance=0, instant=half, deep=1 - half,
            without_deep=1.0, summary=1.0, memory=1.0, floor=0.0, calibration=None,
        )  # fmt: skip
    return chosen


def _most_summaries(request: RecallRequest) -> int:
    asked_for = request.kinds is not None and "summary" in request.kinds
    return request.limit if asked_for else max(1, request.limit // SUMMARY_EVERY)


def _inner(entry: EntryView, value: float) -> Inside:
    return Inside(
        entry.kind, entry.source_id, round(value, 6), entry.text, entry.role, entry.user, entry.agent,
        entry.created_at, entry.seq,
    )  # fmt: skip


def _hit(
    entry: EntryView, value: float, context: Sequence[EntryView], why: Reason | None, near: float | None = None
) -> RankedHit:
    return RankedHit(
        entry.kind, entry.source_id, entry.part, round(value, 6), entry.text, entry.role, entry.user, entry.agent,
        entry.created_at, entry.run_id, entry.conversation, entry.seq, tuple(context), why, (),
        None if near is None else round(near, 4), entry.superseded_by, entry=entry.entry_id, covers=entry.covers,
        memories=entry.memories,
    )  # fmt: skip


def _searched(request: RecallRequest, filter_: Filter, candidates: Candidates | None) -> dict[str, object]:
    searched: dict[str, object] = {"mode": request.mode}
    if candidates is not None:
        searched |= {
            "recipe": request.recipe, "compared": len(candidates.ids), "everything_compared": candidates.is_whole,
        }  # fmt: skip
        if candidates.deeps is not None:
            searched["embedded"] = round(candidates.embedded, 4)
    named = {
        "kinds": filter_.kinds, "agent": filter_.agent, "user": filter_.user,
        "since": filter_.since, "before": filter_.before,
    }  # fmt: skip
    return searched | {name: value for name, value in named.items() if value is not None}


def _hint(request: RecallRequest, question: Question, candidates: Candidates) -> str:
    if not len(candidates.ids):
        return "there is nothing to search here yet, or nothing that may be read here"
    if not candidates.fits.any():
        return "nothing here passes the filters; leave out kinds, agent, user, since, before or window"
    if request.mode == "words" and not question.terms:
        return "the query has no words, or only ones that are too common to search for; try mode meaning"
    if request.mode == "words":
        return "no entry has these words; try mode hybrid, which also finds similar ones"
    return "nothing here comes close; try other words, or browse"
