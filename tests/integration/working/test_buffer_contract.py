"""The buffer shows the transcript's last messages whatever happens to the cache, on both engines."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepword.access import Grant, Place, Viewer, grant
from keepword.embedding import TextIndexer
from keepword.errors import NotFound
from keepword.model import Draft
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.working import PostgresBuffer
from keepword.redis.buffer import RedisBuffer
from keepword.redis.client import connect
from keepword.transcript import AppendOptions, NewConversation, append, put
from keepword.working.buffer import SIZE
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

READER = TextIndexer()

OWNER = "admin"


@dataclass
class Talk:
    """One place with conversations in it, a buffer to test and the transcript to compare with."""

    pool: Pool
    tenant_id: Any
    buffer: Any
    places: list[Place]

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.tenant_id, OWNER)

    def opened(self, place: Place) -> Grant:
        return grant(self.viewer, place)

    async def say(self, place: Place, *drafts: Draft, lose: bool = False) -> None:
        buffer = None if lose else self.buffer
        await append(
            PostgresTranscript(self.pool),
            READER,
            self.opened(place),
            self.viewer,
            place,
            drafts,
            AppendOptions(buffer=buffer),
        )

    async def read(self, limit: int = SIZE) -> list[Any]:
        return await self.buffer.read(self.opened(self.places[0]), self.places[0], limit)

    async def truth(self, limit: int = SIZE) -> list[Any]:
        return await PostgresBuffer(self.pool).read(self.opened(self.places[0]), self.places[0], limit)

    async def settle(self) -> None:
        if isinstance(self.buffer, RedisBuffer):
            await self.buffer.settle()


@pytest.fixture(params=["postgres", "redis"])
def kind(request) -> str:
    return request.param


@pytest.fixture
async def client(redis_server) -> AsyncIterator[Any]:
    made = connect(redis_server.url, HANG_SECONDS, HANG_SECONDS)
    yield made
    await made.aclose()


@pytest.fixture
async def session(kind, pool, tenant, client) -> Talk:
    lookup, viewer = PostgresPlaceLookup(pool), Viewer(tenant.id, OWNER)
    await put(lookup, PostgresConversations(pool), viewer, "s{}", NewConversation())
    truth = PostgresBuffer(pool)
    buffer = truth if kind == "postgres" else RedisBuffer(client, truth)
    return Talk(pool, tenant.id, buffer, [await lookup.place(tenant.id, "s{}")])


@pytest.fixture
async def make_room(kind, pool, tenant, client):
    async def make(conversations: int) -> Talk:
        lookup, viewer, registry = PostgresPlaceLookup(pool), Viewer(tenant.id, OWNER), PostgresRegistry(pool)
        owner = Grant(tenant.id, everything=True)
        await registry.put_room(owner, "r", None)
        await registry.join(owner, "r", agent="helper")
        places = []
        for number in range(conversations):
            wanted = NewConversation(room="r", agent="helper")
            await put(lookup, PostgresConversations(pool), viewer, f"r{number}", wanted)
            places.append(await lookup.place(tenant.id, f"r{number}"))
        truth = PostgresBuffer(pool)
        buffer = truth if kind == "postgres" else RedisBuffer(client, truth)
        return Talk(pool, tenant.id, buffer, places)

    return make


async def test_it_is_the_transcript_s_end_in_order(session):
    for number in range(60):
        await session.say(session.places[0], Draft("assistant", f"m{number}"))
        await session.settle()
    found = await session.read()
    assert [entry.text for entry in found] == [f"m{number}" for number in range(10, 60)]
    assert found == await session.truth()
    assert [entry.text for entry in await session.read(3)] == ["m57", "m58", "m59"]


@pytest.mark.parametrize("kind", ["redis"])
async def test_a_cached_buffer_of_another_shape_is_filled_anew(session, client):
    await session.say(session.places[0], Draft("assistant", "m"))
    await session.settle()
    (key,) = [name async for name in client.scan_iter(f"{session.tenant_id}:buffer:*")]
    await client.lset(key, -1, '{"old": "shape"}')
    assert await session.read() == await session.truth()
    await session.settle()
    assert "old" not in (await client.lrange(key, -1, -1))[0]


@pytest.mark.parametrize("kind", ["redis"])
async def test_a_cached_buffer_is_served_without_reading_messages(session, client):
    for number in range(3):
        await session.say(session.places[0], Draft("assistant", f"m{number}"))
        await session.settle()
    # what only the cache can know shows that it was served
    (key,) = [name async for name in client.scan_iter(f"{session.tenant_id}:buffer:*")]
    assert key == f"{session.tenant_id}:buffer:{{session:s%7B%7D}}"
    await client.lset(key, -1, (await client.lindex(key, -1)).replace("m2", "from the cache"))
    assert [entry.text for entry in await session.read()] == ["m0", "m1", "from the cache"]


async def test_a_lost_write_is_noticed_and_healed(session):
    place = session.places[0]
    await session.say(place, Draft("user", "a"))
    await session.settle()
    await session.say(place, Draft("user", "b"), lose=True)
    assert await session.read() == await session.truth()
    await session.settle()
    await session.say(place, Draft("user", "c"), lose=True)
    await session.say(place, Draft("user", "d"))
    await session.settle()
    assert [entry.text for entry in await session.read()] == ["a", "b", "c", "d"]


async def test_times_out_of_order_take_their_place(session):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    shuffled = random.Random(7).sample(range(200), 200)
    for number in range(0, 200, 5):
        batch = [Draft("user", f"m{n}", created_at=start + timedelta(seconds=n // 3)) for n in shuffled[number:][:5]]
        await session.say(session.places[0], *batch)
        if number % 3:
            await session.settle()
        assert await session.read() == await session.truth()


async def test_large_batches_and_long_messages_are_right_too(session):
    place = session.places[0]
    await session.say(place, *(Draft("user", f"m{number}") for number in range(300)))
    await session.settle()
    assert await session.read() == await session.truth()
    await session.say(place, *(Draft("user", "x" * 500_000) for _ in range(3)))
    await session.settle()
    assert await session.read() == await session.truth()
    await session.say(place, Draft("user", "short"))
    await session.settle()
    assert await session.read() == await session.truth()


@pytest.mark.parametrize("conversations", [1, 3, 20])
async def test_a_room_s_conversations_share_one_buffer(make_room, conversations):
    room = await make_room(conversations)
    chosen = random.Random(conversations)
    for number in range(80):
        await room.say(chosen.choice(room.places), Draft("assistant", f"m{number}"), lose=chosen.random() < 0.1)
        if chosen.random() < 0.7:
            await room.settle()
        assert await room.read() == await room.truth()
    assert [entry.text for entry in await room.read()] == [f"m{number}" for number in range(30, 80)]


@pytest.mark.parametrize("conversations", [1, 4])
async def test_readers_beside_many_writers_see_no_gap_and_no_wrong_order(make_room, conversations):
    """What a reader sees lies between what was stored before and after it read, without a hole."""
    room = await make_room(conversations)
    done = asyncio.Event()

    async def write(place: Place) -> None:
        for number in range(40):
            await room.say(place, Draft("assistant", f"{place.external_id}.{number}"))

    async def look() -> int:
        looks = 0
        while not done.is_set():
            before = await room.truth()
            seen = await room.read()
            after = await room.truth()
            _require_between(before, seen, after)
            looks += 1
        return looks

    readers = [asyncio.create_task(look()) for _ in range(3)]
    await asyncio.gather(*(write(place) for place in room.places for _ in range(2)))
    done.set()
    assert sum(await asyncio.gather(*readers)) > 10
    await room.settle()
    assert await room.read() == await room.truth()


def _require_between(before: list[Any], seen: list[Any], after: list[Any]) -> None:
    assert [(entry.ts, entry.seq) for entry in seen] == sorted((entry.ts, entry.seq) for entry in seen)
    ids = [entry.id for entry in seen]
    # nothing that was there before is missing: what is gone from the front was pushed out by newer ones
    known = {entry.id for entry in before} | {entry.id for entry in after}
    # stored after the first look, and pushed out by newer ones before the last: both looks are full, and it is older
    passed = [entry for entry in seen if entry.id not in known]
    assert not passed or len(after) == SIZE
    assert all((entry.ts, entry.seq) < (after[0].ts, after[0].seq) for entry in passed)
    if len(seen) < SIZE:
        assert {entry.id for entry in before} <= set(ids)
    by_conversation: dict[str, list[int]] = {}
    for entry in seen:
        by_conversation.setdefault(entry.conversation, []).append(entry.seq)
    for seqs in by_conversation.values():
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


async def test_an_empty_place_has_an_empty_buffer(session):
    assert await session.read() == []
    await session.settle()
    assert await session.read() == []
    await session.say(session.places[0], Draft("user", "a"))
    await session.settle()
    assert [entry.text for entry in await session.read()] == ["a"]


async def test_without_a_grant_nothing_is_shown(session):
    await session.say(session.places[0], Draft("user", "a"))
    await session.settle()
    with pytest.raises(NotFound):
        await session.buffer.read(Grant(session.tenant_id), session.places[0], SIZE)
