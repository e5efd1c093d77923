"""The functions that store what is derived serve no grant but the one they are for."""

from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from keepword.access import Grant, Viewer, grant
from keepword.compaction.landmarks import DetectedLandmark
from keepword.compaction.ports import AgentSummary, NewSummary, NextLook
from keepword.compaction.sources import TierSummary
from keepword.compaction.toolcalls import ToolSentence
from keepword.memories.consolidate import consolidate
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.ports import MemoryWrite, PendingConversation, ReadRange, UnreadMessages
from leaks.kinds import Stores

pytestmark = pytest.mark.anyio

AT = datetime(2026, 4, 18, tzinfo=UTC)
WRITING = MemoryWrite(consolidate([], [ExtractedMemory("fact", "forged", 1.0, AT, ())]), {})
COUNTS = """
SELECT (SELECT count(*) FROM summaries), (SELECT count(*) FROM tool_sentences),
    (SELECT count(*) FROM memories WHERE deleted_at IS NULL), (SELECT count(*) FROM memory_versions),
    (SELECT count(*) FROM landmarks WHERE unpinned_at IS NULL), (SELECT count(*) FROM compactions WHERE due_seq = 0),
    (SELECT count(*) FROM entries)
"""


@pytest.fixture
def stores(leaks_pool):
    return Stores(leaks_pool)


async def refused(call):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await call


@pytest.mark.parametrize("name", ["in-hall", "ann-and-ada", "ann-with-ada-in-None", "bob-with-bix-in-vault"])
async def test_what_is_for_jobs_refuses_the_grant_of_a_place_and_that_of_another_tenant(worlds, stores, owner, name):
    world, other = worlds
    place = await stores.lookup.place(world.id, name)
    new = NewSummary(TierSummary(uuid4(), "thread", 2, 2, AT, AT, "forged", 1), 1, "x", 1.0, None, ())
    said = await stores.summaries.messages(Grant(world.id, everything=True), place.conversation_id, 1, 1)
    read = [
        ReadRange(
            UnreadMessages(PendingConversation(place.conversation_id, name, "session", None, 1), said, []), "forged"
        )
    ]
    before = owner.execute(COUNTS).fetchone()
    for opened in (grant(Viewer(world.id, "admin"), place), Grant(world.id), Grant(other.id)):
        id_ = place.conversation_id
        await refused(stores.summaries.store(opened, id_, 1, new))
        await refused(stores.summaries.settle(opened, id_, 1, NextLook(1, 99, None, done=True)))
        await refused(stores.summaries.replace(opened, id_, 2))
        await refused(stores.tasks.store_sentence(opened, id_, 1, ToolSentence("forged", "x")))
        await refused(stores.tasks.store_landmarks(opened, id_, 1, [DetectedLandmark("spec", "forged")]))
        await refused(stores.tasks.pending(opened, id_, "landmark", 9))
        await refused(stores.memories.settle(opened, id_, AT))
        if opened.tenant_id == world.id:
            await refused(stores.memories.store(opened, id_, 1, MemoryWrite(WRITING.changes, {}, read)))
    # the owner of another tenant finds no such conversation in their own
    whole = Grant(other.id, everything=True)
    assert not await stores.summaries.store(whole, place.conversation_id, 1, new)
    await stores.tasks.store_landmarks(whole, place.conversation_id, 1, [DetectedLandmark("spec", "forged")])
    assert await stores.summaries.state(whole, place.conversation_id, 1) is None
    assert owner.execute(COUNTS).fetchone() == before


async def test_what_was_found_goes_into_no_other_scope_than_the_one_that_was_read(worlds, stores, owner):
    world, _ = worlds
    whole = Grant(world.id, everything=True)
    here, there = [await stores.lookup.place(world.id, name) for name in ("in-hall", "ann-and-ada")]
    said = await stores.summaries.messages(whole, there.conversation_id, 1, 1)
    elsewhere = UnreadMessages(PendingConversation(there.conversation_id, "ann-and-ada", "direct", "ann", 1), said, [])
    found = consolidate([], [ExtractedMemory("fact", "forged", 1.0, AT, (said[0].id,))])
    scope = await stores.memories.scope(whole, here.conversation_id)
    before = owner.execute(COUNTS).fetchone()
    with pytest.raises(psycopg.errors.NoDataFound):
        await stores.memories.store(
            whole, here.conversation_id, scope.revision, MemoryWrite(found, {}, [ReadRange(elsewhere, "forged")])
        )
    assert owner.execute(COUNTS).fetchone() == before


async def test_what_agents_write_goes_into_the_place_of_their_grant_alone(worlds, stores, owner):
    world, other = worlds
    before = owner.execute(COUNTS).fetchone()
    places = {name: await stores.lookup.place(world.id, name) for name in world.talks}
    for name, place in places.items():
        message = (await stores.summaries.messages(Grant(world.id, everything=True), place.conversation_id, 1, 1))[0]
        landmark = (await stores.landmarks.list(grant(Viewer(world.id, "admin"), place), None, None, 200))[0]
        told = AgentSummary(uuid4(), "forged", (), (), (), "ada", None, AT)
        elsewhere = [
            grant(Viewer(world.id, "admin"), at) for at in places.values() if at.run_id != place.run_id
        ]  # fmt: skip
        for opened in (*elsewhere, grant(Viewer(world.id, "reader"), place), Grant(world.id, everything=True)):
            await refused(stores.summaries.tell(opened, place, told))
            await refused(stores.landmarks.pin(opened, place, message.id, "spec", None, None))
        for opened in (*elsewhere, grant(Viewer(world.id, "reader"), place)):
            await refused(stores.memories.store(opened, place.conversation_id, 0, WRITING))
            if place.run_id not in opened.run_ids and not opened.follows_sessions:
                assert await stores.memories.delete(opened, world.memories[name], None, None) == "absent"
        there = await stores.lookup.place(other.id, name)
        opened = grant(Viewer(other.id, "admin"), there)
        assert not await stores.summaries.tell(opened, place, told)
        assert (await stores.landmarks.pin(opened, place, message.id, "spec", None, None))[1] == "no message"
        assert not await stores.landmarks.unpin(opened, landmark.id, None)
        assert not await stores.memories.store(opened, place.conversation_id, 0, WRITING)
        assert await stores.memories.delete(opened, world.memories[name], None, None) == "absent"
        assert not await stores.landmarks.unpin(grant(Viewer(world.id, "reader"), place), landmark.id, None)
    assert owner.execute(COUNTS).fetchone() == before
