"""A copy of a scope: it finds what a plain look through all of it finds, whatever came and went."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.recall import columns
from keepword.recall.cached_scope import WHOLE_SCOPE_ROWS, CachedScope, NewRows, TermStatistics
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import ask
from unit.recall.made import READER

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
KINDS = ("message", "summary", "memory", "landmark")
NOTHING = TermStatistics(np.zeros(0, np.float32), 0, {})
WORDS = ("harbour", "pilot", "ladder", "bearing", "paint", "green", "seven", "Hamburg", "invoice", "gate")


def news(rows):
    """Make news of (id, text, talk, seq, kind, user, agent, minutes)."""
    readings = [READER.read(row[1]) for row in rows]
    return NewRows(
        np.array([row[0] for row in rows], np.int64),
        np.array([[0, row[2]] for row in rows], np.int64).reshape(-1, 2),
        np.array([row[3] for row in rows], np.int64),
        np.array([ord("u") + 1024 * KINDS.index(row[4]) for row in rows], np.int16),
        np.array([row[7] * 60_000_000 for row in rows], np.int64),
        np.concatenate([np.zeros(0, np.int32), *(reading.words for reading in readings)]),
        np.array([len(reading.words) for reading in readings], np.int64),
        np.concatenate([np.zeros(0, np.uint16), *(reading.pieces for reading in readings)]),
        np.array([len(reading.pieces) for reading in readings], np.int64),
        np.array([reading.vector for reading in readings], np.float16).reshape(-1, 256),
        [row[5] for row in rows],
        [row[6] for row in rows],
    )


def find(scope, question="harbour pilot", filter_=None, deep=None, asker=None):
    query = Query(ask(question, READER.table), filter_ or Filter(), asker=asker)
    statistics = TermStatistics(np.full(len(query.question.terms), 4, np.float32), 10_000, {})
    return scope.candidates(query, deep, scope.match(query, statistics))


def said(amount, first=1, text=None):
    rng = np.random.default_rng(first)
    return [
        (
            number, text or " ".join(rng.choice(WORDS, 5)), number // 50, number % 50, "message",
            "ann" if number % 3 else "bob", "helper", number,
        )
        for number in range(first, first + amount)
    ]  # fmt: skip


rows = st.lists(
    st.tuples(
        st.integers(1, 60), st.sampled_from(WORDS), st.integers(0, 3), st.integers(0, 9), st.sampled_from(KINDS),
        st.sampled_from(["ann", "bob", ""]), st.sampled_from(["helper", "other"]), st.integers(0, 100),
    ),
    max_size=20,
)  # fmt: skip
sieves = st.builds(
    Filter,
    st.none() | st.lists(st.sampled_from(KINDS), max_size=2).map(tuple),
    st.none() | st.sampled_from(["helper", "nobody"]),
    st.none() | st.sampled_from(["ann", "nobody"]),
    st.none() | st.integers(0, 100).map(lambda minutes: EPOCH + timedelta(minutes=minutes)),
    st.none() | st.integers(0, 100).map(lambda minutes: EPOCH + timedelta(minutes=minutes)),
)


def passes(filter_, row):
    at = EPOCH + timedelta(minutes=row[7])
    return (
        (filter_.kinds is None or row[4] in filter_.kinds)
        and (filter_.agent is None or row[6] == filter_.agent)
        and (filter_.user is None or row[5] == filter_.user)
        and (filter_.since is None or at >= filter_.since)
        and (filter_.before is None or at < filter_.before)
    )


@given(st.lists(st.tuples(rows, st.lists(st.integers(1, 60), max_size=5)), max_size=4), sieves)
def test_whatever_came_and_went_it_holds_what_is_there(steps, filter_):
    scope, there = CachedScope(), {}
    for came, went in steps:
        fresh = {row[0]: row for row in reversed(came)}
        assert scope.add(news(list(fresh.values()))) == len(fresh.keys() - there.keys())
        there = fresh | there
        scope.forget(went)
        there = {id_: row for id_, row in there.items() if id_ not in went}
    found = find(scope, "What did Bob tell the harbour pilot?", filter_=filter_, asker="ann")
    assert len(scope) == len(found.ids)
    assert set(found.ids.tolist()) == set(there)
    at = 0
    for place, id_ in enumerate(found.ids.tolist()):
        row, reading = there[id_], READER.read(there[id_][1])
        assert found.fits[place] == passes(filter_, row)
        assert found.mine[place] == (row[5] == "ann")
        assert found.named[place] == (row[5] == "bob")
        assert KINDS[found.kinds[place]] == row[4]
        assert found.seqs[place] == row[3]
        assert found.words[at : at + found.word_counts[place]].tolist() == reading.words.tolist()
        at += found.word_counts[place]


def test_of_many_it_finds_the_ones_with_the_rare_words_and_the_turns_beside_them():
    scope = CachedScope()
    scope.add(news(said(3 * WHOLE_SCOPE_ROWS)))
    scope.add(news([(9_000, "the zeppelin lands", 5, 20, "message", "ann", "helper", 1)]))
    found = find(scope, "zeppelin")
    assert len(found.ids) < WHOLE_SCOPE_ROWS
    assert 9_000 in found.ids
    beside = {id_ for id_ in found.ids.tolist() if id_ // 50 == 5 and abs(id_ % 50 - 20) <= 2}
    assert beside == {5 * 50 + place for place in (18, 19, 20, 21, 22)}
    scope.forget([9_000])
    assert 9_000 not in find(scope, "zeppelin").ids


@pytest.mark.parametrize("unsorted", [10, 10**9])
def test_words_are_found_whether_they_are_sorted_yet_or_not(monkeypatch, unsorted):
    monkeypatch.setattr(columns, "UNSORTED", unsorted)
    postings = columns.Postings()
    rng = np.random.default_rng(1)
    words, owners = rng.integers(-50, 50, 500, np.int32), np.arange(500)
    for start in range(0, 500, 50):
        postings.extend(words[start : start + 50], owners[start : start + 50])
    for word in range(-60, 60):
        assert sorted(postings.holding(word).tolist()) == np.flatnonzero(words == word).tolist()


def test_the_nearest_in_the_deep_space_are_found_among_many():
    amount, rng = 3 * WHOLE_SCOPE_ROWS, np.random.default_rng(2)
    vectors = rng.normal(size=(amount, 384)) * (1 / np.arange(1, 385) ** 0.7)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scope = CachedScope()
    scope.add(news(said(amount)))
    assert len(scope.without_deep(2)) == 128
    scope.add_deep(2, np.arange(1, amount + 1), vectors.astype(np.float16))
    assert scope.without_deep(2) == []
    hits = 0
    for wanted in vectors[:20].astype(np.float32):
        found = find(scope, "nothing alike", deep=DeepQuery(2, wanted))
        true = set((np.argsort(-(vectors @ wanted))[:10] + 1).tolist())
        near = set(found.ids[np.argsort(-found.deeps)[:10]].tolist())
        hits += len(true & near)
    assert hits >= 0.97 * 200


def test_a_new_deep_space_takes_the_place_of_the_old_one():
    scope = CachedScope()
    scope.add(news(said(3)))
    scope.add_deep(2, np.array([1, 2, 3]), np.eye(3, 384, dtype=np.float16))
    assert sorted(scope.without_deep(5)) == [1, 2, 3]
    scope.add_deep(5, np.array([2, 2]), np.eye(2, 16, dtype=np.float16))
    found = find(scope, deep=DeepQuery(5, np.eye(1, 16, dtype=np.float32)[0]))
    # of its two chunks the nearer one counts, a little less because there are two
    assert found.deeps[1] == pytest.approx(1 - 0.04, abs=1e-3)
    assert np.isnan(found.deeps[[0, 2]]).all()


def test_every_entry_without_a_deep_vector_is_asked_for_in_the_end():
    scope = CachedScope()
    scope.add(news(said(1_000)))
    asked = {id_ for _ in range(20) for id_ in scope.without_deep(2)}
    assert asked == set(range(1, 1_001))
    assert set(range(937, 1_001)) <= set(scope.without_deep(2))
