"""The entries of one scope as arrays in memory: candidates are found without asking the database for them again.

Whoever fills it read every row under the grant that it is kept for. Nothing here decides who may read what.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepword.embedding.entry_format import EPOCH, KIND, KINDS, LENGTH_WORDS, ROLE_MASK, SHORT_WORDS
from keepword.recall.columns import Column, NumberLists, Postings, Rows, SortedKeys, largest
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import first_name
from keepword.recall.rates import smoothed
from keepword.recall.score import MESSAGE, Bools, Candidates, Floats, Ints, idf, nearest_of_each

# candidates of each arm in a scope that is not scored whole: more than from the database, since they cost less here
HITS_PER_ARM = 80
# the axes of the instant space are ordered by variance: the first of them choose the rows that are compared
COARSE_DIMENSIONS = 96
# how many rows those choose
COMPARED_ROWS = 1_600
# a scope of up to this many rows is scored whole
WHOLE_SCOPE_ROWS = 800
# entries without a deep vector that are asked for at once: the newest, and as many of the others in turn
DEEP_BATCH_IDS = 64
# so many deep vectors are rotated to their own axes, measured on a sample; again when there are twice as many
MIN_SAMPLE, MAX_SAMPLE = 500, 4_000
# the bytes of a dictionary's entry of two numbers
ENTRY_BYTES = 140
_CONVERSATION = 1 << 40
_ONE = 32_000
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows that a cached scope may not have yet, one array for each column; `words` and `pieces` one after another."""

    ids: Ints
    conversations: Ints
    seqs: Ints
    flags: NDArray[np.int16]
    times: Ints
    words: NDArray[np.int32]
    word_counts: Ints
    pieces: NDArray[np.uint16]
    piece_counts: Ints
    instants: NDArray[np.float16]
    users: Sequence[str]
    agents: Sequence[str]

    def only(self, rows: Bools) -> "NewRows":
        return NewRows(
            self.ids[rows], self.conversations[rows], self.seqs[rows], self.flags[rows], self.times[rows],
            self.words[np.repeat(rows, self.word_counts)], self.word_counts[rows],
            self.pieces[np.repeat(rows, self.piece_counts)], self.piece_counts[rows], self.instants[rows],
            [user for user, is_in in zip(self.users, rows, strict=True) if is_in],
            [agent for agent, is_in in zip(self.agents, rows, strict=True) if is_in],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The document frequencies of a question's terms, and the entries that hold its literals.

    `frequencies` are the tenant's, for its owner; None for others, for whom those of the scope count.
    """

    frequencies: Floats | None
    entries: int
    literals: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class FirstMatches:
    """Rows that words and the instant space found; `fits` tells of all rows whether they pass the filter."""

    rows: Rows
    fits: Bools
    statistics: TermStatistics
    is_whole: bool


class CachedVectors:
    """The vectors of one deep space: of each entry one or more, for its chunks."""

    def __init__(self, space_id: int, dimensions: int) -> None:
        self.space_id = space_id
        self._vectors = Column("i2", dimensions)
        self._owners = Column("i8")
        self._by_owner = SortedKeys()
        self._axes: Floats | None = None
        self._coarse = Column("f4", COARSE_DIMENSIONS)

    def add(self, owners: Ints, vectors: NDArray[np.float16]) -> None:
        first = len(self._owners.all)
        self._owners.extend(owners)
        self._vectors.extend(_short(vectors))
        self._by_owner.insert(owners, np.arange(first, first + len(owners)))
        known = len(self._owners.all)
        if known < MIN_SAMPLE:
            return
        if self._axes is None or known > 2 * self._axed:
            self._turn()
        else:
            self._coarse.extend(vectors.astype(np.float32) @ self._axes)

    def _turn(self) -> None:
        """Find the axes that tell most of these vectors, and see all along them."""
        known = self._vectors.all
        some = _long(known[:: -(-len(known) // MAX_SAMPLE)])
        _, axes = np.linalg.eigh(some.T @ some)
        self._axes = np.ascontiguousarray(axes[:, : -COARSE_DIMENSIONS - 1 : -1], np.float32)
        self._axed = len(known)
        self._coarse = Column("f4", COARSE_DIMENSIONS)
        self._coarse.extend(_long(known) @ self._axes)

    def nearest(self, vector: Floats, amount: int) -> list[int]:
        """Return the entries with the nearest chunks."""
        if self._axes is None:
            places = np.arange(len(self._owners.all))
        else:
            places = largest(self._coarse.all @ (vector @ self._axes), COMPARED_ROWS)
        near = _long(self._vectors.all[places]) @ vector
        return list(dict.fromkeys(self._owners.all[places[largest(near, amount)]].tolist()))

    def nearness(self, ids: Ints, vector: Floats) -> Floats:
        places, counts = self._by_owner.between(ids, ids)
        return nearest_of_each(counts, _long(self._vectors.all[places]) @ vector)

    @property
    def size(self) -> int:
        return self._vectors.size + self._owners.size + self._by_owner.size + self._coarse.size


class CachedScope:
    def __init__(self) -> None:
        self._ids, self._conversations, self._seqs = Column("i8"), Column("i8", 2), Column("i8")
        self._flags, self._times = Column("i2"), Column("i8")
        self._users, self._agents = Column("i4"), Column("i4")
        self._words, self._pieces, self._postings = NumberLists("i4"), NumberLists("u2"), Postings()
        self._length_weights = Column("f4")
        self._instants, self._coarse = Column("i2", 256), Column("f4", COARSE_DIMENSIONS)
        self._is_here, self._is_said = Column("?"), Column("?")
        self._in_conversation = SortedKeys()
        self._rows: dict[int, int] = {}
        self._names: dict[str, int] = {}
        self._conversation_numbers: dict[tuple[int, int], int] = {}
        self._deep: CachedVectors | None = None
        self._without_deep: dict[int, None] = {}
        self._next_asked = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> list[int]:
        return list(self._rows)

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        columns = (
            self._ids, self._conversations, self._seqs, self._flags, self._times, self._users, self._agents,
            self._words, self._pieces, self._postings, self._length_weights, self._instants, self._coarse,
            self._is_here, self._is_said, self._in_conversation,
        )  # fmt: skip
        deep = self._deep.size if self._deep else 0
        return sum(column.size for column in columns) + deep + ENTRY_BYTES * (len(self._rows) + len(self._without_deep))

    def add(self, new: NewRows) -> int:
        """Take rows in, and return how many of them were new."""
        is_new = np.array([id_ not in self._rows for id_ in new.ids.tolist()], np.bool_)
        new = new if is_new.all() else new.only(is_new)
        first = len(self._ids.all)
        rows = np.arange(first, first + len(new.ids))
        self._rows.update(zip(new.ids.tolist(), rows.tolist(), strict=True))
        self._without_deep.update(dict.fromkeys(new.ids.tolist()))
        is_said = new.flags // KIND == MESSAGE
        columns: list[tuple[Column, NDArray[Any]]] = [
            (self._ids, new.ids), (self._conversations, new.conversations), (self._seqs, new.seqs),
            (self._flags, new.flags), (self._times, new.times), (self._users, self._numbered(new.users)),
            (self._agents, self._numbered(new.agents)), (self._instants, _short(new.instants)),
            (self._coarse, new.instants[:, :COARSE_DIMENSIONS]), (self._is_here, np.ones(len(rows), np.bool_)),
            (self._is_said, is_said),
            (self._length_weights, 1 / (1 + np.maximum(new.word_counts - SHORT_WORDS, 0) / LENGTH_WORDS)),
        ]  # fmt: skip
        for column, values in columns:
            column.extend(values)
        self._words.extend(new.words, new.word_counts)
        self._pieces.extend(new.pieces, new.piece_counts)
        self._postings.extend(new.words, np.repeat(rows, new.word_counts))
        self._in_conversation.insert(self._positions(new.conversations, new.seqs)[is_said], rows[is_said])
        return len(rows)

    def forget(self, ids: Sequence[int]) -> None:
        rows = np.array([self._rows.pop(id_) for id_ in ids if id_ in self._rows], np.int64)
        for id_ in ids:
            self._without_deep.pop(id_, None)
        if len(rows):
            self._is_here.all[rows] = False
            self._in_conversation.remove(rows)

    def without_deep(self, space_id: int) -> list[int]:
        """Return entries whose vectors of a deep space are not here: the newest, and others in turn."""
        if self._deep is not None and self._deep.space_id != space_id:
            self._deep, self._without_deep = None, dict.fromkeys(self._rows)
        if len(self._without_deep) <= 2 * DEEP_BATCH_IDS:
            return list(self._without_deep)
        others = len(self._without_deep) - DEEP_BATCH_IDS
        start = self._next_asked % others
        self._next_asked = start + DEEP_BATCH_IDS
        newest = list(islice(reversed(self._without_deep), DEEP_BATCH_IDS))
        return newest + list(islice(self._without_deep, start, min(start + DEEP_BATCH_IDS, others)))

    def add_deep(self, space_id: int, owners: Ints, vectors: NDArray[np.float16]) -> None:
        if self._deep is None:
            self._deep = CachedVectors(space_id, vectors.shape[1])
        is_new = np.array([id_ in self._without_deep for id_ in owners.tolist()], np.bool_)
        self._deep.add(owners[is_new], vectors[is_new])
        for id_ in owners.tolist():
            self._without_deep.pop(id_, None)

    def match(self, query: Query, statistics: TermStatistics) -> FirstMatches:
        """Find rows by words and by the instant space: all of a small scope, else the best."""
        question = query.question
        holding = [self._holding(word) for word in question.hashes.tolist()]
        here = np.array([self._is_said.all[rows].sum() for rows in holding], np.float32)
        entries = int((self._is_said.all & self._is_here.all).sum())
        if statistics.frequencies is not None:
            here, entries = np.maximum(statistics.frequencies, here), max(statistics.entries, entries)
        statistics = TermStatistics(here, entries, statistics.literals)
        fits = self._fits(query.filter)
        if len(self) <= WHOLE_SCOPE_ROWS:
            return FirstMatches(np.flatnonzero(self._is_here.all), fits, statistics, is_whole=True)
        right = fits & self._is_here.all
        rows = [
            self._by_words(right, holding, idf(*smoothed(here, entries, question.rates))),
            self._known_rows(statistics.literals),
        ]
        if query.instant:
            rows.append(self._nearest(question.vector, right))
        return FirstMatches(np.unique(np.concatenate(rows)), fits, statistics, is_whole=False)

    def candidates(self, query: Query, deep: DeepQuery | None, first: FirstMatches) -> Candidates:
        """Return the first matches, the nearest in the deep space, and the messages beside them."""
        rows, fits = first.rows, first.fits
        if not first.is_whole:
            if deep and self._deep:
                near = self._known_rows(self._deep.nearest(deep.vector, HITS_PER_ARM))
                # entries that arrived meanwhile have not passed the filter
                rows = np.union1d(rows, near[near < len(fits)])
            positions = self._positions(self._conversations.all[rows], self._seqs.all[rows])
            beside = self._in_conversation.between(positions - 2, positions + 2)[0]
            rows = np.union1d(rows, beside[beside < len(fits)])
        return self._taken(rows, query, deep, first)

    def _known_rows(self, ids: Iterable[int]) -> Rows:
        return np.array([self._rows[id_] for id_ in ids if id_ in self._rows], np.int64)

    def _holding(self, word: int) -> NDArray[np.int32]:
        rows = self._postings.holding(word)
        return rows[self._is_here.all[rows]]

    def _by_words(self, fits: Bools, holding: Sequence[NDArray[np.int32]], idfs: Floats) -> Rows:
        weights = np.zeros(len(fits), np.float32)
        for rows, weight in zip(holding, idfs, strict=True):
            weights[rows] += weight
        weights *= self._length_weights.all
        weights *= fits
        having = np.flatnonzero(weights)
        return having[largest(weights[having], HITS_PER_ARM)]

    def _nearest(self, vector: Floats, fits: Bools) -> Rows:
        roughly = self._coarse.all @ vector[:COARSE_DIMENSIONS]
        roughly[~fits] = -np.inf
        likely = largest(roughly, COMPARED_ROWS)
        likely = likely[fits[likely]]
        return likely[largest(_long(self._instants.all[likely]) @ vector, HITS_PER_ARM)]

    def _fits(self, filter_: Filter) -> Bools:
        fits = np.ones(len(self._ids.all), np.bool_)
        if filter_.kinds is not None:
            fits &= np.isin(self._flags.all // KIND, [KINDS.index(kind) for kind in filter_.kinds])
        for column, name in ((self._users, filter_.user), (self._agents, filter_.agent)):
            if name is not None:
                fits &= column.all == self._names.get(name, -1)
        if filter_.since is not None:
            fits &= self._times.all >= _microseconds(filter_.since)
        if filter_.before is not None:
            fits &= self._times.all < _microseconds(filter_.before)
        return fits

    def _taken(self, rows: Rows, query: Query, deep: DeepQuery | None, first: FirstMatches) -> Candidates:
        words, word_counts = self._words.of(rows)
        pieces, piece_counts = self._pieces.of(rows)
        flags, ids = self._flags.all[rows], self._ids.all[rows]
        asker = self._names.get(query.asker, -1) if query.asker is not None else -1
        deeps = None
        if deep:
            deeps = np.full(len(ids), np.nan, np.float32)
            if self._deep is not None:
                deeps = self._deep.nearness(ids, deep.vector)
        return Candidates(
            ids=ids,
            conversations=self._conversations.all[rows],
            seqs=self._seqs.all[rows],
            roles=(flags & ROLE_MASK).astype(np.int64),
            fits=first.fits[rows],
            mine=np.asarray(self._users.all[rows] == asker),
            named=self._said_by(rows, query.question.names),
            kinds=(flags // KIND).astype(np.int64),
            times=self._times.all[rows].astype("timedelta64[us]") + EPOCH,
            words=words,
            word_counts=word_counts,
            pieces=pieces,
            piece_counts=piece_counts,
            instants=_long(self._instants.all[rows]) @ query.question.vector,
            deeps=deeps,
            frequencies=first.statistics.frequencies,
            entries=first.statistics.entries,
            is_whole=first.is_whole,
            literals=first.statistics.literals,
            embedded=self._share_embedded() if deep else 0.0,
        )

    def _said_by(self, rows: Rows, names: Collection[str]) -> Bools:
        users = [number for user, number in self._names.items() if first_name(user) in names]
        is_person = (self._flags.all[rows] & ROLE_MASK) == ord("u")
        return np.asarray(np.isin(self._users.all[rows], users) & is_person)

    def _share_embedded(self) -> float:
        return 0.0 if self._deep is None or not self._rows else 1 - len(self._without_deep) / len(self._rows)

    def _numbered(self, names: Sequence[str]) -> NDArray[np.int32]:
        return np.array([self._names.setdefault(name, len(self._names)) for name in names], np.int32)

    def _positions(self, conversations: Ints, seqs: Ints) -> Ints:
        """Return a number for each message, so that those of one conversation follow one another."""
        pairs = [(first, second) for first, second in conversations.tolist()]
        numbers = [self._conversation_numbers.setdefault(pair, len(self._conversation_numbers)) for pair in pairs]
        return np.array(numbers, np.int64) * _CONVERSATION + seqs


def _short(vectors: NDArray[np.float16]) -> NDArray[np.int16]:
    """Keep vectors of length 1 as whole numbers: as exact as halves of a float, and far quicker to take out again."""
    return np.rint(vectors.astype(np.float32) * _ONE).astype(np.int16)


def _long(kept: NDArray[np.int16]) -> Floats:
    return np.multiply(kept, np.float32(1 / _ONE), dtype=np.float32)


def _microseconds(moment: datetime) -> int:
    passed = moment - _BEGINNING
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
