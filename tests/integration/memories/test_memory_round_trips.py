"""How often keeping and finding a memory asks the database: each time costs more than what is asked."""

from uuid import UUID

import pytest

from integration.memories.test_memories import READER, START, Bench
from keepword.access import grant
from keepword.memories import operations
from keepword.memories.filters import write_filter
from keepword.recall import RecallRequest, nearest
from keepword.recall.ports import Filter

pytestmark = pytest.mark.anyio

TOLD = (
    "Ann drinks green tea in the morning.", "The flight to Lisbon leaves at nine.", "Walnuts make Bob ill.",
    "The invoice number is 8431.", "A boat lies in the port.", "Ann plays the cello on Sundays.",
)  # fmt: skip
ALL = write_filter({"state": {"in": ["valid"]}}, lambda _: None)
MOST = 50


@pytest.fixture
async def bench(pool, tenant):
    return Bench(pool, tenant)


async def keep(bench, place, text):
    opened, draft = grant(bench.viewer, place), operations.MemoryDraft(text, user="ann")
    return await operations.keep(bench.memories, READER, opened, place, draft, START, "ann")


def asked(pool):
    return pool.stats()["requests_num"]


async def test_a_memory_is_kept_in_two_round_trips(bench, pool):
    place = await bench.open()
    await keep(bench, place, TOLD[0])
    before = asked(pool)
    kept = await keep(bench, place, TOLD[1])
    assert asked(pool) - before == 2
    assert (kept.content, kept.is_new) == (TOLD[1], True)
    again = await keep(bench, place, TOLD[1])
    assert (again.id, again.content, again.is_new) == (kept.id, TOLD[1], False)


async def test_the_nearest_are_what_a_search_finds_and_then_what_a_search_by_meaning_does_in_one_pass(bench, pool):
    place = await bench.open()
    ids = {(await keep(bench, place, text)).id for text in TOLD}
    for query in ("what does Ann drink?", "when do we fly?", "8431", "xyzzy"):
        before = asked(pool)
        ranked = await nearest(bench.recall, bench.whole, query, Filter(("memory",)), MOST)
        shown = await bench.memories.of_entries(bench.whole, [entry for entry, _ in ranked], ALL)
        assert asked(pool) - before == 2
        assert {shown[entry].id for entry, _ in ranked} <= ids
        expected: dict[UUID, float] = {}
        for mode in ("hybrid", "meaning"):
            request = RecallRequest(query, mode, kinds=("memory",), limit=MOST, expand=False, time_words=False)
            for hit in (await bench.recall.search(bench.whole, request)).results:
                expected[hit.id] = max(expected.get(hit.id, 0.0), min(1.0, hit.score))
        assert [shown[entry].id for entry, _ in ranked] == list(expected)
        assert [score for _, score in ranked] == pytest.approx(list(expected.values()), abs=1e-5)


async def test_a_memory_is_shown_by_its_entry_only_where_it_may_be_read_and_passes(bench):
    here, there = await bench.open(), await bench.open()
    kept = await keep(bench, here, TOLD[0])
    ((entry, _),) = await nearest(bench.recall, bench.whole, "tea", Filter(("memory",)), MOST)
    shown = await bench.memories.of_entries(grant(bench.viewer, here), [entry], ALL)
    assert [one.id for one in shown.values()] == [kept.id]
    assert await bench.memories.of_entries(grant(bench.viewer, there), [entry], ALL) == {}
    others = write_filter({"user": {"eq": "bob"}}, lambda _: None)
    assert await bench.memories.of_entries(bench.whole, [entry], others) == {}
    assert await bench.memories.of_entries(bench.whole, [], ALL) == {}
