"""Cached scopes: always what is committed, only for the grant they were read under, within their budget."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import numpy as np
import pytest

from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate, scope_cache
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.recall import CachedSearch, PostgresIndex
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.transcript import PostgresTranscript
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import ask
from keepword.transcript import NewConversation

pytestmark = pytest.mark.anyio

READER = TextIndexer()
SPACE = 2


class Talks:
    def __init__(self, pool, tenant, **settings):
        self.pool, self.viewer = pool, Viewer(tenant.id, "admin")
        self.cache = ScopeCache(pool, settings.pop("budget", 2**26), **({"eager": True} | settings))
        self.index = PostgresIndex(pool, self.cache)
        self.lookup = PostgresPlaceLookup(pool)

    async def open(self, new=None):
        name = uuid4().hex
        await transcript.put(self.lookup, PostgresConversations(self.pool), self.viewer, name, new or NewConversation())
        return await self.lookup.place(self.viewer.tenant_id, name)

    async def say(self, place, *texts, pool=None):
        store = PostgresTranscript(pool or self.pool)
        drafts = [Draft("user", text) for text in texts]
        return await transcript.append(store, READER, grant(self.viewer, place), self.viewer, place, drafts)

    async def ids(self, place, question="harbour", deep=None):
        """Return what a search finds in the cache, None if the scope is not cached."""
        query = Query(ask(question, READER.table), Filter(), deep_space=deep and deep.space_id)
        pending = await self.index.begin(grant(self.viewer, place), query)
        return (await pending.candidates(deep)).ids.tolist() if isinstance(pending, CachedSearch) else None


@pytest.fixture
async def talks(pool, tenant):
    made = Talks(pool, tenant)
    yield made
    await made.cache.aclose()


async def test_what_is_appended_is_in_the_cache_at_once(talks):
    place = await talks.open()
    await talks.say(place, "The harbour pilot came.")
    assert len(await talks.ids(place)) == 1
    for number in range(5):
        await talks.say(place, f"Turn {number} by the harbour.")
        assert len(await talks.ids(place)) == number + 2


async def test_a_transaction_that_was_open_meanwhile_is_not_missed(talks, pool):
    """Numbers are given out before the commit: what commits later may have the smaller ones."""
    place, other = await talks.open(), await talks.open()
    await talks.say(place, "first")
    assert len(await talks.ids(place)) == 1
    opened = grant(talks.viewer, place)
    async with pool.raw(opened) as conn:
        # an entry with an old number, in a transaction that is still open
        await conn.execute(
            "INSERT INTO entries (tenant_id, kind, source_id, part, run_id, visibility, created_at, searchable, words,"
            " pieces, lexemes, instant) SELECT tenant_id, kind, gen_random_uuid(), part, run_id, visibility,"
            " created_at, searchable, words, pieces, lexemes, instant FROM entries"
        )
        await talks.say(place, "second")
        await talks.say(other, "elsewhere")
        seen = await talks.ids(place)
        assert len(seen) == 2
    assert len(await talks.ids(place)) == 3


async def test_searches_at_once_all_see_what_was_committed_before_them(talks):
    place = await talks.open()
    await talks.say(place, "first")
    await talks.ids(place)

    async def one(number):
        await talks.say(place, f"number {number}")
        return len(await talks.ids(place))

    counts = await asyncio.gather(*(one(number) for number in range(12)))
    assert max(counts) == 13
    assert len(await talks.ids(place)) == 13
    assert min(counts) >= 2


async def test_a_copy_serves_only_the_grant_that_it_was_read_under(talks):
    owner = everything_in(talks.viewer.tenant_id)
    registry = PostgresRegistry(talks.pool)
    await registry.put_agent(owner, "helper", None, None)
    await registry.put_user(owner, "ann", None)
    await registry.put_room(owner, "yard", None)
    await registry.join(owner, "yard", agent="helper")
    room = await talks.open(NewConversation("room", None, "helper", "yard", None, {}))
    direct = await talks.open(NewConversation("direct", "ann", "helper", None, None, {}))
    await talks.say(room, "The harbour is closed.")
    await talks.say(direct, "I am afraid of the harbour.")
    in_room, in_direct = await talks.ids(room), await talks.ids(direct)
    assert len(in_room) == len(in_direct) == 1
    assert set(in_room).isdisjoint(in_direct)


async def test_deep_vectors_come_into_the_cache_when_they_are_made(talks, pool, monkeypatch):
    monkeypatch.setattr(scope_cache, "DEEP_PAUSE_SECONDS", 0)
    place = await talks.open()
    await talks.say(place, "The harbour pilot came.", "Nobody painted the gate.")
    deep = DeepQuery(SPACE, np.eye(1, 384, dtype=np.float32)[0])
    opened = grant(talks.viewer, place)
    query = Query(ask("harbour", READER.table), Filter(), deep_space=SPACE)

    async def deeps():
        found = await (await talks.index.begin(opened, query)).candidates(deep)
        return dict(zip(found.ids.tolist(), found.deeps.tolist(), strict=True))

    before = await deeps()
    assert all(np.isnan(value) for value in before.values())
    vector = "[" + ",".join(["1"] + ["0"] * 383) + "]"
    await pool.fetch(
        "SELECT store_vectors("
        "2::int2, ARRAY[%(tenant)s], %(ids)s::int8[], '{0}'::int2[], ARRAY[%(vector)s::public.halfvec])",
        {"tenant": opened.tenant_id, "ids": [min(before)], "vector": vector},
    )
    after = await deeps()
    assert after[min(before)] == pytest.approx(1, abs=1e-3)
    assert np.isnan(after[max(before)])
    # by which a search decides whether so few deep vectors are of use
    cached, read = await talks.index.begin(opened, query), PostgresIndex(pool)
    assert (await cached.candidates(deep)).embedded == (await read.candidates(opened, query, deep)).embedded == 0.5


async def test_a_scope_is_cached_when_it_is_searched_again(pool, tenant):
    talks = Talks(pool, tenant, eager=False)
    place = await talks.open()
    await talks.say(place, "The harbour pilot came.")
    assert await talks.ids(place) is None
    assert await talks.ids(place) is None
    for _ in range(100):
        await asyncio.sleep(0.02)
        if (found := await talks.ids(place)) is not None:
            break
    assert len(found) == 1
    await talks.cache.aclose()


async def test_scopes_that_do_not_fit_or_were_not_searched_for_long_are_dropped(pool, tenant, monkeypatch):
    talks = Talks(pool, tenant, budget=3 * scope_cache.LEAST_BYTES)
    places = [await talks.open() for _ in range(5)]
    for place in places:
        await talks.say(place, "The harbour pilot came.")
        assert len(await talks.ids(place)) == 1
    assert len(talks.cache.sizes) < 5
    assert len(await talks.ids(places[0])) == 1
    monkeypatch.setattr(scope_cache, "IDLE_SECONDS", -1)
    await talks.say(places[0], "And went.")
    assert len(await talks.ids(places[0]) or [0, 0]) == 2


async def test_too_large_a_scope_is_left_to_the_indexes(pool, tenant, monkeypatch):
    monkeypatch.setattr(scope_cache, "MAX_ROWS", 1)
    talks = Talks(pool, tenant)
    place = await talks.open()
    await talks.say(place, "one", "two")
    assert await talks.ids(place) is None


async def test_the_tenants_owner_is_not_served_from_the_cache(talks):
    opened = everything_in(talks.viewer.tenant_id)
    pending = await talks.index.begin(opened, Query(ask("x", READER.table), Filter()))
    assert not isinstance(pending, CachedSearch)


async def test_what_went_is_told_to_the_owner_as_to_others(talks, pool, conninfo):
    place = await talks.open()
    await talks.say(place, "The harbour pilot came.")
    (entry_id,) = await talks.ids(place)
    ((before,),) = await pool.fetch("SELECT pg_current_snapshot()::text", {})
    with migrate.owner(conninfo) as conn:
        conn.execute("DELETE FROM entries WHERE tenant_id = %s", (talks.viewer.tenant_id,))
    deleted = (
        "SELECT * FROM find_deleted_entries(ROW(%(tenant)s, %(all)s, %(runs)s, '{public}', NULL)::scope, %(seen)s)"
    )
    values = {"tenant": talks.viewer.tenant_id, "seen": before}
    assert await pool.fetch(deleted, values | {"all": False, "runs": [place.run_id]}) == [(entry_id,)]
    assert await pool.fetch(deleted, values | {"all": False, "runs": ["session:other"]}) == []
    assert await pool.fetch(deleted, values | {"all": True, "runs": []}) == [(entry_id,)]
    assert await talks.ids(place) == []


async def test_after_a_failover_scopes_are_cached_anew(talks):
    """A server that was promoted may give the numbers of transactions out a second time."""
    place = await talks.open()
    await talks.say(place, "The harbour pilot came.")
    assert len(await talks.ids(place)) == 1
    (entry,) = talks.cache._entries.values()
    entry.primary_since -= timedelta(hours=1)
    assert await talks.ids(place) is None
    assert len(await talks.ids(place)) == 1
