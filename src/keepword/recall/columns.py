"""Append-only numpy columns, lists of numbers, an inverted index and a sorted key index."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.int64]

# this many unsorted words are collected before the index is sorted again
UNSORTED = 50_000
GROWTH = 1.25


class Column:
    def __init__(self, kind: str, width: int = 0) -> None:
        self._shape = (width,) if width else ()
        self._array: Array = np.empty((0, *self._shape), kind)
        self._length = 0

    def extend(self, values: Array) -> None:
        length = self._length + len(values)
        if length > len(self._array):
            grown = np.empty((max(length, int(GROWTH * self._length)), *self._shape), self._array.dtype)
            grown[: self._length] = self.all
            self._array = grown
        self._array[self._length : length] = values
        self._length = length

    @property
    def all(self) -> Array:
        return self._array[: self._length]

    @property
    def size(self) -> int:
        return self._array.nbytes


class NumberLists:
    """A list of numbers for each row, stored one after another (CSR)."""

    def __init__(self, kind: str) -> None:
        self._numbers, self._counts, self._starts = Column(kind), Column("i8"), Column("i8")

    def extend(self, numbers: Array, counts: Rows) -> None:
        self._starts.extend(len(self._numbers.all) + np.cumsum(counts) - counts)
        self._counts.extend(counts)
        self._numbers.extend(numbers)

    def of(self, rows: Rows) -> tuple[Array, Rows]:
        """Return the numbers of these rows, one after another, and the count of each row."""
        counts = self._counts.all[rows]
        return self._numbers.all[spread(self._starts.all[rows], counts)], counts

    @property
    def size(self) -> int:
        return self._numbers.size + self._counts.size + self._starts.size


class Postings:
    """An inverted index, from words to rows: sorted, with a short unsorted tail."""

    def __init__(self) -> None:
        self._words, self._rows = Column("i4"), Column("i4")
        self._sorted: NDArray[np.int32] = np.empty(0, np.int32)
        self._owners: NDArray[np.int32] = np.empty(0, np.int32)

    def extend(self, words: Array, rows: Array) -> None:
        self._words.extend(words)
        self._rows.extend(rows)
        if len(self._words.all) - len(self._sorted) > UNSORTED:
            order = np.argsort(self._words.all, kind="stable")
            self._sorted, self._owners = self._words.all[order], self._rows.all[order]

    def holding(self, word: int) -> NDArray[np.int32]:
        done = len(self._sorted)
        word_hash = np.int32(word)
        first, last = (int(np.searchsorted(self._sorted, word_hash, side)) for side in ("left", "right"))
        fresh = self._rows.all[done:][self._words.all[done:] == word_hash]
        return np.concatenate((self._owners[first:last], fresh))

    @property
    def size(self) -> int:
        return self._words.size + self._rows.size + self._sorted.nbytes + self._owners.nbytes


class SortedKeys:
    """Rows sorted by a key; several rows may share one."""

    def __init__(self) -> None:
        self._keys: Rows = np.empty(0, np.int64)
        self._rows: Rows = np.empty(0, np.int64)

    def insert(self, keys: Rows, rows: Rows) -> None:
        within = np.argsort(keys, kind="stable")
        places = np.searchsorted(self._keys, keys[within], "right")
        self._keys = np.insert(self._keys, places, keys[within])
        self._rows = np.insert(self._rows, places, rows[within])

    def remove(self, rows: Rows) -> None:
        stays = ~np.isin(self._rows, rows)
        self._keys, self._rows = self._keys[stays], self._rows[stays]

    def between(self, firsts: Rows, lasts: Rows) -> tuple[Rows, Rows]:
        """Return the rows from each first to its last key, one after another, and how many each got."""
        starts, ends = np.searchsorted(self._keys, firsts, "left"), np.searchsorted(self._keys, lasts, "right")
        counts = ends - starts
        return self._rows[spread(starts, counts)], counts

    @property
    def size(self) -> int:
        return self._keys.nbytes + self._rows.nbytes


def spread(starts: Rows, counts: Rows) -> Rows:
    """Return the places from each start on, as many as counted, one after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - ends + counts, counts) + np.arange(total), np.int64)


def largest(values: Array, amount: int) -> Rows:
    """Return the places of the largest values, in no order."""
    if len(values) <= amount:
        return np.arange(len(values))
    return np.argpartition(values, len(values) - amount)[-amount:]
