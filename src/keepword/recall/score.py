"""Scoring: raw values of the candidates in, signals and one number for each out. Pure functions over arrays.

Nothing here depends on which other candidates were fetched (the recipe `seed` apart): a score can be compared between
searches and explained term by term.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from keepword.embedding.instant import InstantTable
from keepword.recall.columns import spread
from keepword.recall.question import Question, Window
from keepword.recall.rates import smoothed
from keepword.recall.recipe import Recipe
from keepword.recall.time_words import NamedDate

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# past this many words in all, similar ones are looked for in the likeliest candidates alone
MAX_PIECES = 8_000
MANY_CHUNKS = 0.04
# the table of words has no word of more tokens
MAX_PIECES_OF_WORD = 2
# turns further apart lend each other nothing
MAX_DISTANCE = 2
# beside the distances: two turns with an agent's turn between them
_ACROSS_AGENT = MAX_DISTANCE + 1
_LEAST_SHARE = 1e-6
MESSAGE, SUMMARY, MEMORY = 0, 1, 2
_HOUR = np.timedelta64(1, "h")
# beside a window of a few hours, half a day counts, too
_LEAST_HOURS = 48.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """The index's values of each candidate, one array for each value; equal positions belong together.

    `roles` are the first letters of roles, `kinds` the places in KINDS. `mine`: said by who asks; `named`: by a person
    whom the question names. `words` and `pieces` are those of all rows one
    after another, `word_counts` and `piece_counts` say how many are whose. `deeps` is NaN where an entry has no vector
    in the deep space yet; None if it was not asked for. `embedded`: the share of the scope's entries with one, in
    the database that of the candidates. `frequencies` say in how many of `entries` messages each of the
    question's stems occurs; None where only the candidates themselves may tell, `entries` is then the scope's size.
    `literals`: the share of what the question means to the letter that an entry holds, by its id.
    """

    ids: Ints
    conversations: NDArray[np.int64]
    seqs: Ints
    roles: Ints
    fits: Bools
    mine: Bools
    named: Bools
    kinds: Ints
    times: NDArray[np.datetime64]
    words: NDArray[np.int32]
    word_counts: Ints
    pieces: NDArray[np.uint16]
    piece_counts: Ints
    instants: Floats
    deeps: Floats | None
    frequencies: Floats | None
    entries: int
    is_whole: bool
    literals: Mapping[int, float]
    embedded: float = 0.0


@dataclass(frozen=True, slots=True)
class Matches:
    """How far each candidate (rows) has each term of the question (columns), and by what: the largest counts."""

    own: Floats
    near: Floats
    beside: Floats

    @property
    def best(self) -> Floats:
        return np.maximum(np.maximum(self.own, self.near), self.beside)


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """`signals` are raw, `shares` what each adds to the total. `counts`: how much a row's kind counts.

    `entries` is how many messages the scope has. `lift` is the most that a candidate which passes the filter got for
    being said by whom the question names: a chance looks at the rest of the sum.
    """

    total: Floats
    signals: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    matches: Matches
    idfs: Floats
    counts: Floats
    entries: int
    lift: float


def idf(frequencies: Floats, entries: float) -> Floats:
    total = np.maximum(entries, frequencies)
    return np.asarray(np.log(1 + (total - frequencies + 0.5) / (frequencies + 0.5)), np.float32)


def score(
    candidates: Candidates, question: Question, chosen: Recipe, table: InstantTable, idfs: Floats | None = None
) -> ScoredCandidates:
    """Score candidates; `idfs` of an earlier search make the scores comparable with its results."""
    has = holds(candidates, question)
    if idfs is None:
        idfs = _idfs_of(candidates, question, has)
    own = has * length_share(candidates.word_counts, chosen)[:, None]
    beside = lent(own, candidates, chosen)
    own_weight = weight(np.maximum(own, beside), idfs)
    likely = own_weight / max(float(idfs.sum()), chosen.min_weight) + chosen.likely * candidates.instants
    near = similar_words(candidates, question, chosen, table, likely)
    # a word that is made up, misspelt or absent here: the likeness of its pieces says nothing about it
    near[:, (question.pieces > MAX_PIECES_OF_WORD) & ~has.any(axis=0)] = 0
    return _sum_up(candidates, question, chosen, Matches(own, near, beside), idfs)


def weight(matches: Floats | Bools, idfs: Floats) -> Floats:
    """Return the sum of the weights of the terms that each candidate has."""
    # BLAS reads past the end of short rows, which may raise a warning; those values do not reach the result
    with np.errstate(invalid="ignore"):
        return np.asarray(matches @ idfs, np.float32)


def _idfs_of(candidates: Candidates, question: Question, has: Bools) -> Floats:
    # document frequencies count messages alone: summaries and memories repeat their words
    is_message = candidates.kinds == MESSAGE
    entries, rates = _size(candidates), question.by_term(question.rates)
    here = has[is_message].sum(axis=0) if candidates.is_whole else np.zeros(has.shape[1])
    if candidates.frequencies is not None:
        here = np.maximum(question.by_term(np.asarray(candidates.frequencies, np.float32)), here)
    elif not candidates.is_whole:
        here = entries * rates
    return idf(*smoothed(np.asarray(here, np.float32), entries, rates))


def _size(candidates: Candidates) -> int:
    """Return how many messages the scope has."""
    message_count = int((candidates.kinds == MESSAGE).sum())
    return (
        message_count
        if candidates.is_whole and candidates.frequencies is None
        else max(candidates.entries, message_count)
    )


def holds(candidates: Candidates, question: Question) -> Bools:
    """Tell which candidate has which term."""
    has = np.zeros((len(candidates.ids), len(question.terms)), np.bool_)
    rows = np.repeat(np.arange(len(candidates.ids)), candidates.word_counts)
    for column, term_hash in zip(question.owners, question.hashes, strict=True):
        has[rows[candidates.words == term_hash], column] = True
    return has


def length_share(word_counts: Ints, chosen: Recipe) -> Floats:
    over = np.maximum(word_counts - chosen.short, 0)
    return np.asarray(1 / (1 + over / chosen.length), np.float32)


def lent(own: Floats, candidates: Candidates, chosen: Recipe) -> Floats:
    """Return the share of each term that neighbouring turns lend a candidate: of the same word, not of similar ones."""
    order = np.lexsort((candidates.seqs, candidates.conversations[:, 1], candidates.conversations[:, 0]))
    order = order[candidates.kinds[order] == MESSAGE]
    talks, seqs = candidates.conversations[order], candidates.seqs[order]
    is_next = (talks[1:] == talks[:-1]).all(axis=1)
    is_agent = (candidates.roles[order] == ord("a")).astype(np.intp)
    given, taken = own[order], np.zeros((len(order), own.shape[1]), np.float32)
    to_later, to_earlier = _shares_by_distance(chosen, -1), _shares_by_distance(chosen, 1)
    # turns in order are neighbours, or have one between them: slices are far quicker than lists of pairs
    for step, is_same in ((1, is_next), (2, is_next[1:] & is_next[:-1])):
        apart = seqs[step:] - seqs[:-step]
        apart = np.where(is_same & (apart <= MAX_DISTANCE), apart, 0)
        if step == MAX_DISTANCE:
            apart[(apart == MAX_DISTANCE) & (is_agent[1:-1] == 1)] = _ACROSS_AGENT
        share = to_later[apart, is_agent[:-step], is_agent[step:]]
        np.maximum(taken[step:], given[:-step] * share[:, None], out=taken[step:])
        share = to_earlier[apart, is_agent[step:], is_agent[:-step]]
        np.maximum(taken[:-step], given[step:] * share[:, None], out=taken[:-step])
    beside = np.zeros_like(own)
    beside[order] = taken
    return beside


def _shares_by_distance(chosen: Recipe, way: int) -> Floats:
    """Return what a turn lends another: by how far they are apart (0: nothing), and whether each is an agent's.

    `way`: -1 for what an earlier turn lends, 1 for what a later one does.
    """
    near, far = (chosen.reach.get(way * distance, 0) for distance in (1, MAX_DISTANCE))
    shares = np.array([0, near, far, far], np.float32)[:, None, None] * np.ones((1, 2, 2), np.float32)
    shares[:, 0, 0] *= chosen.people
    shares[:, 1, 0] *= chosen.from_agent
    shares[:, 0, 1] *= chosen.to_agent
    shares[_ACROSS_AGENT, 0, 0] = far * chosen.across_agent
    return shares


def similar_words(
    candidates: Candidates, question: Question, chosen: Recipe, table: InstantTable, likely: Floats
) -> Floats:
    """Return how near the most similar word of each candidate comes to each term."""
    near = np.zeros((len(candidates.ids), len(question.terms)), np.float32)
    if not (chosen.soft and len(question.terms)):
        return near
    rows = _worth_reading(candidates, likely)
    if not len(rows):
        return near
    counts = candidates.piece_counts[rows]
    joined = candidates.pieces
    if len(rows) < len(candidates.ids):
        starts = np.cumsum(candidates.piece_counts) - candidates.piece_counts
        joined = candidates.pieces[spread(starts[rows], counts)]
    distinct, places = _numbered(joined)
    cosines = table.likeness(distinct, question.directions).T
    worth = chosen.soft * np.clip((cosines - chosen.soft_floor) / (1 - chosen.soft_floor), 0, 1)
    # a term after the other: the words of all rows lie side by side
    nearest = np.maximum.reduceat(np.take(worth, places, axis=1), np.cumsum(counts) - counts, axis=1)
    near[rows] = (nearest * length_share(candidates.word_counts[rows], chosen)).T
    return near


def _worth_reading(candidates: Candidates, likely: Floats) -> NDArray[np.intp]:
    """Return the rows whose words are compared: all if that is quick, else the likeliest."""
    # a summary's many words would leave no room for what was said
    rows = np.flatnonzero(candidates.piece_counts * (candidates.kinds != SUMMARY))
    if candidates.piece_counts[rows].sum() <= MAX_PIECES:
        return rows
    best = rows[np.argsort(-likely[rows], kind="stable")]
    within = np.searchsorted(np.cumsum(candidates.piece_counts[best]), MAX_PIECES)
    return np.sort(best[:within])


def _numbered(tokens: NDArray[np.uint16]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct tokens, and for each token its place among them. Quicker than sorting."""
    occurs = np.zeros(2**16, np.bool_)
    occurs[tokens] = True
    distinct = np.flatnonzero(occurs)
    places = np.zeros(2**16, np.intp)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[tokens]


def nearest_chunks(ids: Ints, owners: Ints, values: Floats) -> Floats:
    """Return the nearness of each entry's nearest chunk, NaN where it has none."""
    if not len(owners):
        return np.full(len(ids), np.nan, np.float32)
    distinct, counts = np.unique(owners, return_counts=True)
    nearest = nearest_of_each(counts, values[np.argsort(owners, kind="stable")])
    places = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
    return np.where(distinct[places] == ids, nearest[places], np.nan).astype(np.float32)


def nearest_of_each(counts: Ints, values: Floats) -> Floats:
    """Return the nearness of the nearest chunk of entries whose chunks follow one another, NaN where one has none.

    Of many chunks one is near by chance: the more there are, the less that says.
    """
    nearest = np.full(len(counts), np.nan, np.float32)
    has = np.flatnonzero(counts)
    if len(has):
        best = np.maximum.reduceat(values, (np.cumsum(counts) - counts)[has])
        nearest[has] = best - MANY_CHUNKS * np.log2(counts[has])
    return nearest


def date_fit(days: NDArray[np.datetime64], dates: tuple[NamedDate, ...], chosen: Recipe) -> Floats:
    """Return how well the day of each candidate fits the best of the dates that the question names."""
    best = np.zeros(len(days), np.float32)
    if not dates:
        return best
    months = days.astype("datetime64[M]")
    year = days.astype("datetime64[Y]").astype(int) + 1970
    month = months.astype(int) % 12 + 1
    day = (days - months).astype(int) + 1
    for named in dates:
        value = np.full(len(days), chosen.year if named.year is not None else 0.0)
        if named.month is not None:
            value += np.where(month == named.month, chosen.month, 0.0)
        if named.month is not None and named.day is not None:
            close = np.maximum(0.0, 1 - np.abs(day - named.day) / 7)
            value += np.where(month == named.month, chosen.day * close, 0.0)
        if named.year is not None:
            value = np.where(year == named.year, value, 0.0)
        best = np.maximum(best, value)
    return best.astype(np.float32)


def utc(moment: datetime) -> np.datetime64:
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")


def window_fit(times: NDArray[np.datetime64], window: Window | None) -> Floats:
    """Return 1 inside the window, and beside it less: half at its edge, nothing a quarter of its length away."""
    if window is None:
        return np.zeros(len(times), np.float32)
    since, before = map(utc, window)
    length = max((before - since) / _HOUR, 1.0)
    outside = np.maximum(np.maximum((since - times) / _HOUR, (times - before) / _HOUR), 0.0)
    beside = np.maximum(0.0, 0.5 - 2 * outside / max(length, _LEAST_HOURS))
    return np.where((times >= since) & (times < before), 1.0, beside).astype(np.float32)


def similarity(candidates: Candidates) -> Floats:
    """Return how near each candidate comes in meaning: 1 - cosine distance, the mean of the spaces that were asked."""
    instants = np.maximum(candidates.instants, 0)
    if candidates.deeps is None:
        return np.asarray(instants, np.float32)
    return np.asarray((instants + np.maximum(_deeps(candidates, candidates.deeps, 1), 0)) / 2, np.float32)


def _deeps(candidates: Candidates, deeps: Floats, stand_in: float) -> Floats:
    # not embedded yet: the instant vector stands in, so that new entries do not rank lower
    return np.where(np.isnan(deeps), np.float32(stand_in) * candidates.instants, deeps)


def share_embedded(deeps: Floats) -> float:
    """Return the share of entries that have a vector in the deep space."""
    return float((~np.isnan(deeps)).mean()) if len(deeps) else 0.0


def speaker_fit(candidates: Candidates, question: Question) -> Bools:
    if question.speaker == "agent":
        return np.asarray(candidates.roles == ord("a"))
    if question.speaker == "user":
        return np.asarray((candidates.roles == ord("u")) & (candidates.mine | (not candidates.mine.any())))
    return np.zeros(len(candidates.ids), np.bool_)


def _sum_up(
    candidates: Candidates, question: Question, chosen: Recipe, matches: Matches, idfs: Floats
) -> ScoredCandidates:
    words = weight(matches.best, idfs)
    dates = date_fit(candidates.times.astype("datetime64[D]"), question.dates, chosen)
    window = window_fit(candidates.times, question.window)
    speaker = chosen.person * speaker_fit(candidates, question)
    deeps = np.zeros(len(candidates.ids), np.float32)
    if candidates.deeps is not None:
        deeps = _deeps(candidates, candidates.deeps, chosen.stand_in)
    whole = max(float(idfs.sum()), chosen.min_weight)
    if chosen.relative:
        whole = max(float(words.max(initial=0)), _LEAST_SHARE)
    literal = np.zeros(len(candidates.ids), np.float32)
    if candidates.literals and chosen.literal:
        literal = np.array([candidates.literals.get(id_, 0) for id_ in candidates.ids.tolist()], np.float32)
    signals = {
        "literal": literal, "words": words, "date": dates, "window": window, "speaker": speaker,
        "named": candidates.named.astype(np.float32), "instant": candidates.instants, "deep": deeps,
    }  # fmt: skip
    shares = {
        "literal": chosen.literal * literal,
        "words": chosen.words * words / whole,
        "date": chosen.words * dates / whole,
        "window": chosen.window * window,
        "speaker": chosen.words * speaker / whole,
        "named": chosen.named * signals["named"],
        "instant": chosen.instant * np.maximum(candidates.instants, 0),
        "deep": chosen.deep * np.maximum(deeps, 0),
    }
    counts = np.ones(len(candidates.ids), np.float32)
    counts[candidates.kinds == SUMMARY] = chosen.summary
    counts[candidates.kinds == MEMORY] = chosen.memory
    shares = {name: np.asarray(share * counts, np.float32) for name, share in shares.items()}
    total = np.asarray(sum(shares.values()), np.float32)
    lift = float(shares["named"][candidates.fits].max(initial=0))
    return ScoredCandidates(total, signals, shares, matches, idfs, counts, _size(candidates), lift)
