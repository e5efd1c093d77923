"""A copy of what one scope holds, in arrays: its candidates are found without asking the database for them again.

Whoever fills it read every row under the grant that it is kept for. Nothing here decides who may read what.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepword.recall.columns import Column, Lists, Order, Places, Postings, largest
from keepword.recall.ports import Filter, Wanted
from keepword.recall.question import Question
from keepword.recall.rates import smoothed
from keepword.recall.score import KINDS, MESSAGE, Bools, Candidates, Floats, Ints, idf, nearest_chunks

# the axes of the instant space are in the order of how much they tell: so many say which rows are worth comparing
COARSE = 96
# along all axes; and of these, that many
LOOKS = 1_600
# a copy up to this many rows is scored whole
WHOLE = 800
# of a larger one, that many by words and by each space, with the turns beside them
AMOUNT = 60
# the words of an entry as the arms of the database weigh them
SHORT, LENGTH = 20, 80
# entries without a deep vector that are asked for at once: the newest, and as many of the others in turn
ASKED = 64
# deep vectors are turned to their own axes from here on, and again when there are twice as many
MIN_AXES, MAX_SAMPLE = 500, 4_000
# what a dictionary takes for an entry of two numbers
ENTRY_BYTES = 140
_ROLE, _KIND = 255, 1024
_TALK = 1 << 40
_ONE = 32_000
_EPOCH = np.datetime64("2000-01-01T00:00:00", "us")
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class News:
    """Rows that a copy may not have yet, one array for each column; `words` and `pieces` one after another."""

    ids: Ints
    talks: Ints
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

    def only(self, rows: Bools) -> "News":
        return News(
            self.ids[rows], self.talks[rows], self.seqs[rows], self.flags[rows], self.times[rows],
            self.words[np.repeat(rows, self.word_counts)], self.word_counts[rows],
            self.pieces[np.repeat(rows, self.piece_counts)], self.piece_counts[rows], self.instants[rows],
            [user for user, is_in in zip(self.users, rows, strict=True) if is_in],
            [agent for agent, is_in in zip(self.agents, rows, strict=True) if is_in],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a question: how rare its terms are, and what holds what it means to the letter.

    `frequencies` are the tenant's, for its owner; None for others, who know what the copy holds.
    """

    frequencies: Floats | None
    entries: int
    literals: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Looked:
    """Rows that were found before the question's deep vector was known; `fits` says of all rows what the sieve says."""

    rows: Places
    fits: Bools
    known: Known
    is_whole: bool


class DeepCopy:
    """The vectors of one deep space: of each entry one or more, for its chunks."""

    def __init__(self, space_id: int, dimensions: int) -> None:
        self.space_id = space_id
        self._vectors = Column("i2", dimensions)
        self._owners = Column("i8")
        self._by_owner = Order()
        self._axes: Floats | None = None
        self._coarse = Column("f4", COARSE)

    def add(self, owners: Ints, vectors: NDArray[np.float16]) -> None:
        first = len(self._owners.all)
        self._owners.extend(owners)
        self._vectors.extend(_short(vectors))
        self._by_owner.insert(owners, np.arange(first, first + len(owners)))
        known = len(self._owners.all)
        if known < MIN_AXES:
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
        self._axes = np.ascontiguousarray(axes[:, : -COARSE - 1 : -1], np.float32)
        self._axed = len(known)
        self._coarse = Column("f4", COARSE)
        self._coarse.extend(_long(known) @ self._axes)

    def nearest(self, vector: Floats, amount: int) -> list[int]:
        """Return the entries with the nearest chunks."""
        places = np.arange(len(self._owners.all))
        if self._axes is not None:
            places = largest(self._coarse.all @ (vector @ self._axes), LOOKS)
        near = _long(self._vectors.all[places]) @ vector
        return list(dict.fromkeys(self._owners.all[places[largest(near, amount)]].tolist()))

    def nearness(self, ids: Ints, vector: Floats) -> Floats:
        places, counts = self._by_owner.between(ids, ids)
        values = _long(self._vectors.all[places]) @ vector
        return nearest_chunks(ids, np.repeat(ids, counts), values)

    @property
    def size(self) -> int:
        return self._vectors.size + self._owners.size + self._by_owner.size + self._coarse.size


class Copied:
    def __init__(self) -> None:
        self._ids, self._talks, self._seqs = Column("i8"), Column("i8", 2), Column("i8")
        self._flags, self._times = Column("i2"), Column("i8")
        self._users, self._agents = Column("i4"), Column("i4")
        self._words, self._pieces, self._postings = Lists("i4"), Lists("u2"), Postings()
        self._lengths = Column("f4")
        self._instants, self._coarse = Column("i2", 256), Column("f4", COARSE)
        self._is_here, self._is_said = Column("?"), Column("?")
        self._in_talk = Order()
        self._rows: dict[int, int] = {}
        self._names: dict[str, int] = {}
        self._talk_numbers: dict[tuple[int, int], int] = {}
        self._deep: DeepCopy | None = None
        self._undeep: dict[int, None] = {}
        self._asked = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> list[int]:
        return list(self._rows)

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        columns = (
            self._ids, self._talks, self._seqs, self._flags, self._times, self._users, self._agents, self._words,
            self._pieces, self._postings, self._lengths, self._instants, self._coarse, self._is_here, self._is_said,
            self._in_talk,
        )  # fmt: skip
        deep = self._deep.size if self._deep else 0
        return sum(column.size for column in columns) + deep + ENTRY_BYTES * (len(self._rows) + len(self._undeep))

    def add(self, news: News) -> int:
        """Take rows in, and return how many of them were new."""
        is_new = np.array([id_ not in self._rows for id_ in news.ids.tolist()], np.bool_)
        news = news if is_new.all() else news.only(is_new)
        first = len(self._ids.all)
        rows = np.arange(first, first + len(news.ids))
        self._rows.update(zip(news.ids.tolist(), rows.tolist(), strict=True))
        self._undeep.update(dict.fromkeys(news.ids.tolist()))
        is_said = news.flags // _KIND == MESSAGE
        columns: list[tuple[Column, NDArray[Any]]] = [
            (self._ids, news.ids), (self._talks, news.talks), (self._seqs, news.seqs), (self._flags, news.flags),
            (self._times, news.times), (self._users, self._numbered(news.users)),
            (self._agents, self._numbered(news.agents)), (self._instants, _short(news.instants)),
            (self._coarse, news.instants[:, :COARSE]), (self._is_here, np.ones(len(rows), np.bool_)),
            (self._is_said, is_said), (self._lengths, 1 / (1 + np.maximum(news.word_counts - SHORT, 0) / LENGTH)),
        ]  # fmt: skip
        for column, values in columns:
            column.extend(values)
        self._words.extend(news.words, news.word_counts)
        self._pieces.extend(news.pieces, news.piece_counts)
        self._postings.extend(news.words, np.repeat(rows, news.word_counts))
        self._in_talk.insert(self._turns(news.talks, news.seqs)[is_said], rows[is_said])
        return len(rows)

    def forget(self, ids: Sequence[int]) -> None:
        rows = np.array([self._rows.pop(id_) for id_ in ids if id_ in self._rows], np.int64)
        for id_ in ids:
            self._undeep.pop(id_, None)
        if len(rows):
            self._is_here.all[rows] = False
            self._in_talk.remove(rows)

    def undeep(self, space_id: int, amount: int = ASKED) -> list[int]:
        """Return entries whose vectors of a deep space are not here: the newest, and others in turn."""
        if self._deep is not None and self._deep.space_id != space_id:
            self._deep, self._undeep = None, dict.fromkeys(self._rows)
        if len(self._undeep) <= 2 * amount:
            return list(self._undeep)
        others = len(self._undeep) - amount
        start = self._asked % others
        self._asked = start + amount
        newest = list(islice(reversed(self._undeep), amount))
        return newest + list(islice(self._undeep, start, min(start + amount, others)))

    def add_deep(self, space_id: int, owners: Ints, vectors: NDArray[np.float16]) -> None:
        if self._deep is None:
            self._deep = DeepCopy(space_id, vectors.shape[1])
        is_new = np.array([id_ in self._undeep for id_ in owners.tolist()], np.bool_)
        self._deep.add(owners[is_new], vectors[is_new])
        for id_ in owners.tolist():
            self._undeep.pop(id_, None)

    def look(self, question: Question, sieve: Filter, known: Known, *, instant: bool = True) -> Looked:
        """Find candidates by words and by the instant space: all of a small copy, else the best."""
        holding = [self._holding(word) for word in question.hashes.tolist()]
        here = np.array([self._is_said.all[rows].sum() for rows in holding], np.float32)
        entries = int((self._is_said.all & self._is_here.all).sum())
        if known.frequencies is None:
            frequencies, entries = smoothed(here, entries, question.rates)
        else:
            frequencies, entries = np.maximum(known.frequencies, here), max(known.entries, entries)
        known = Known(frequencies, entries, known.literals)
        fits = self._fits(sieve)
        if len(self) <= WHOLE:
            return Looked(np.flatnonzero(self._is_here.all), fits, known, is_whole=True)
        right = fits & self._is_here.all
        found = [self._by_words(right, holding, idf(frequencies, entries)), self._known_rows(known.literals)]
        if instant:
            found.append(self._nearest(question.vector, right))
        return Looked(np.unique(np.concatenate(found)), fits, known, is_whole=False)

    def find(self, wanted: Wanted, looked: Looked) -> Candidates:
        """Return the candidates: what was found, what is nearest in the deep space, and the turns beside them."""
        rows, fits = looked.rows, looked.fits
        if not looked.is_whole:
            if wanted.deep and self._deep:
                near = self._known_rows(self._deep.nearest(wanted.deep.vector, AMOUNT))
                # what came meanwhile was not sieved
                rows = np.union1d(rows, near[near < len(fits)])
            turns = self._turns(self._talks.all[rows], self._seqs.all[rows])
            beside = self._in_talk.between(turns - 2, turns + 2)[0]
            rows = np.union1d(rows, beside[beside < len(fits)])
        return self._candidates(rows, wanted, looked)

    def _known_rows(self, ids: Iterable[int]) -> Places:
        return np.array([self._rows[id_] for id_ in ids if id_ in self._rows], np.int64)

    def _holding(self, word: int) -> NDArray[np.int32]:
        rows = self._postings.holding(word)
        return rows[self._is_here.all[rows]]

    def _by_words(self, fits: Bools, holding: Sequence[NDArray[np.int32]], idfs: Floats) -> Places:
        weights = np.zeros(len(fits), np.float32)
        for rows, weight in zip(holding, idfs, strict=True):
            weights[rows] += weight
        weights *= self._lengths.all
        weights *= fits
        having = np.flatnonzero(weights)
        return having[largest(weights[having], AMOUNT)]

    def _nearest(self, vector: Floats, fits: Bools) -> Places:
        roughly = self._coarse.all @ vector[:COARSE]
        roughly[~fits] = -np.inf
        likely = largest(roughly, LOOKS)
        likely = likely[fits[likely]]
        return likely[largest(_long(self._instants.all[likely]) @ vector, AMOUNT)]

    def _fits(self, wanted: Filter) -> Bools:
        fits = np.ones(len(self._ids.all), np.bool_)
        if wanted.kinds is not None:
            fits &= np.isin(self._flags.all // _KIND, [KINDS.index(kind) for kind in wanted.kinds])
        for column, name in ((self._users, wanted.user), (self._agents, wanted.agent)):
            if name is not None:
                fits &= column.all == self._names.get(name, -1)
        if wanted.since is not None:
            fits &= self._times.all >= _microseconds(wanted.since)
        if wanted.before is not None:
            fits &= self._times.all < _microseconds(wanted.before)
        return fits

    def _candidates(self, rows: Places, wanted: Wanted, looked: Looked) -> Candidates:
        words, word_counts = self._words.of(rows)
        pieces, piece_counts = self._pieces.of(rows)
        flags, ids = self._flags.all[rows], self._ids.all[rows]
        asker = self._names.get(wanted.asker, -1) if wanted.asker is not None else -1
        deeps = None
        if wanted.deep:
            deeps = np.full(len(ids), np.nan, np.float32)
            if self._deep is not None:
                deeps = self._deep.nearness(ids, wanted.deep.vector)
        return Candidates(
            ids=ids,
            talks=self._talks.all[rows],
            seqs=self._seqs.all[rows],
            roles=(flags & _ROLE).astype(np.int64),
            fits=looked.fits[rows],
            mine=np.asarray(self._users.all[rows] == asker),
            kinds=(flags // _KIND).astype(np.int64),
            days=(self._times.all[rows].astype("timedelta64[us]") + _EPOCH).astype("datetime64[D]"),
            words=words,
            word_counts=word_counts,
            pieces=pieces,
            piece_counts=piece_counts,
            instants=_long(self._instants.all[rows]) @ wanted.question.vector,
            deeps=deeps,
            frequencies=looked.known.frequencies,
            entries=looked.known.entries,
            is_whole=looked.is_whole,
            literals=looked.known.literals,
        )

    def _numbered(self, names: Sequence[str]) -> NDArray[np.int32]:
        return np.array([self._names.setdefault(name, len(self._names)) for name in names], np.int32)

    def _turns(self, talks: Ints, seqs: Ints) -> Ints:
        """Return numbers of turns, so that those of one conversation follow one another."""
        pairs = [(first, second) for first, second in talks.tolist()]
        numbers = [self._talk_numbers.setdefault(pair, len(self._talk_numbers)) for pair in pairs]
        return np.array(numbers, np.int64) * _TALK + seqs


def _short(vectors: NDArray[np.float16]) -> NDArray[np.int16]:
    """Keep vectors of length 1 as whole numbers: as exact as halves of a float, and far quicker to take out again."""
    return np.rint(vectors.astype(np.float32) * _ONE).astype(np.int16)


def _long(kept: NDArray[np.int16]) -> Floats:
    return np.multiply(kept, np.float32(1 / _ONE), dtype=np.float32)


def _microseconds(moment: datetime) -> int:
    passed = moment - _BEGINNING
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
