"""What is derived is found, climbed down, and no longer found once it is taken back."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.compaction.compact import Compactor, describe_tool_calls, find_landmarks
from keepword.compaction.plan import CompactionPolicy
from keepword.compaction.sources import PIPELINE_VERSION
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.period import Calendar
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.recall import Recall, RecallRequest
from keepword.transcript import NewConversation

CALENDAR = Calendar(lambda: datetime.now(UTC), ZoneInfo("UTC"))
pytestmark = pytest.mark.anyio

READER = TextIndexer()
LATER = datetime.now(UTC) + timedelta(days=30)
PACE = CompactionPolicy(window_messages=5, tail_messages=2)
SAID = [
    "Pump P-7 lost its bearing last night.",
    "The bearing was ordered from Hamburg.",
    "Ann paints the hall green.",
    "Nobody knows who took the ladder.",
    "The bearing arrived and pump P-7 runs again.",
]


class Talk:
    """A session with everything that derives from it and finds it again."""

    def __init__(self, pool, tenant):
        self.pool, self.viewer, self.whole = pool, Viewer(tenant.id, "admin"), everything_in(tenant.id)
        self.summaries, self.tasks = PostgresSummaries(pool, READER), PostgresTasks(pool, READER)
        self.landmarks = PostgresLandmarks(pool, READER)
        self.copied = PostgresIndex(pool, ScopeCache(pool, 2**26, eager=True))

    async def open(self, *said):
        lookup, name = PostgresPlaceLookup(self.pool), uuid4().hex
        await transcript.put(lookup, PostgresConversations(self.pool), self.viewer, name, NewConversation())
        self.place = await lookup.place(self.viewer.tenant_id, name)
        self.opened = grant(self.viewer, self.place)
        drafts = [text if isinstance(text, Draft) else Draft("user", text) for text in said]
        store = PostgresTranscript(self.pool)
        self.said = await transcript.append(store, READER, self.opened, self.viewer, self.place, drafts)
        return self

    async def compact(self):
        return await Compactor(self.summaries, None, PACE).compact(self.whole, self.place.conversation_id, LATER)

    async def search(self, query, *, small=3000, **more):
        """Search in the tables, and in a copy that was made when this was first called: both must find the same."""
        both = []
        for index in (PostgresIndex(self.pool, small=small), self.copied):
            recall = Recall(index, READER.table, None, CALENDAR)
            both.append((await recall.search(self.opened, RecallRequest(query, recipe="fast", **more))).results)
        if small > 0:
            assert [hit.entry for hit in both[0]] == [hit.entry for hit in both[1]]
        return both[0]


@pytest.fixture
async def talk(pool, tenant):
    return await Talk(pool, tenant).open(*SAID)


@pytest.mark.parametrize("small", [3000, -1])
async def test_a_summary_is_found_and_shows_the_messages_that_match_inside(talk, small):
    assert await talk.search("bearing", kinds=("summary",)) == ()
    await talk.compact()
    hits = await talk.search("bearing", small=small, kinds=("summary",))
    assert [(await talk.summaries.get(talk.opened, hit.id)).tier for hit in hits] == ["thread"]
    leaf = next(hit for hit in hits if hit.inside and hit.inside[0].kind == "message")
    matched = [inner.seq for inner in leaf.inside if "bearing" in inner.text]
    assert set(matched) >= {1, 2, 5}
    assert {inner.id for inner in leaf.inside if inner.kind == "message"} <= {receipt.id for receipt in talk.said}
    assert [inner.score for inner in leaf.inside] == sorted((inner.score for inner in leaf.inside), reverse=True)


async def test_of_the_summaries_of_the_same_messages_the_most_specific_is_found(pool, tenant):
    at = datetime(2026, 4, 13, 9, tzinfo=UTC)
    said = [Draft("user", text, created_at=at + timedelta(hours=5 * n)) for n, text in enumerate(SAID * 2)]
    talk = await Talk(pool, tenant).open(*said)
    await talk.compact()
    tiers = {one.tier for one in await talk.summaries.tree(talk.opened, talk.place)}
    assert tiers == {"thread", "day", "week"}
    hits = await talk.search("bearing", kinds=("summary",))
    assert {(await talk.summaries.get(talk.opened, hit.id)).tier for hit in hits} == {"thread"}
    # only above: the paint is in a leaf that none of these covers
    assert await talk.search("paint", kinds=("summary",), limit=1)


async def test_what_was_said_comes_first_and_summaries_take_few_places(talk):
    await talk.compact()
    hits = await talk.search("bearing of pump P-7", limit=10)
    assert hits[0].kind == "message"
    assert [hit.kind for hit in hits].count("summary") <= 2
    assert {hit.seq for hit in hits if hit.kind == "message"} >= {1, 2, 5}
    plain = await talk.search("bearing of pump P-7", limit=10, expand=False)
    assert [hit.id for hit in plain] == [hit.id for hit in hits]
    assert all(hit.inside == () for hit in plain)


async def test_summaries_do_not_change_the_order_of_what_was_said(talk):
    before = [(hit.id, hit.score) for hit in await talk.search("who ordered the bearing?", kinds=("message",))]
    await talk.compact()
    assert [(hit.id, hit.score) for hit in await talk.search("who ordered the bearing?", kinds=("message",))] == before


async def test_a_new_version_takes_the_place_of_the_old_one_in_searches(talk):
    await talk.compact()
    old = {hit.id for hit in await talk.search("bearing", kinds=("summary",))}
    renewed = Compactor(talk.summaries, None, PACE, PIPELINE_VERSION + 1)
    await renewed.recompact(talk.whole, talk.place.conversation_id, LATER)
    new = {hit.id for hit in await talk.search("bearing", kinds=("summary",))}
    assert len(new) == len(old) == 1
    assert not new & old
    assert all([await talk.summaries.get(talk.opened, id_) for id_ in old])


async def test_a_landmark_is_found_until_it_is_unpinned(pool, tenant):
    talk = await Talk(pool, tenant).open(
        "We talked for an hour.\nDecision: pump P-7 runs at 4 bar.\n\nThen we had lunch."
    )
    await find_landmarks(talk.tasks, talk.whole, talk.place.conversation_id)
    (hit,) = await talk.search("at what pressure does P-7 run?", kinds=("landmark",))
    assert (hit.text, hit.seq, hit.conversation) == ("Decision: pump P-7 runs at 4 bar.", 1, talk.place.external_id)
    # it and its message are one thing that was said
    assert len(await talk.search("at what pressure does P-7 run?")) == 1
    assert await talk.landmarks.unpin(talk.opened, hit.id, "ann")
    assert await talk.search("at what pressure does P-7 run?", kinds=("landmark",)) == ()
    assert len(await talk.search("at what pressure does P-7 run?")) == 1


async def test_a_tool_call_is_found_by_its_sentence_once(pool, tenant):
    call = Draft("assistant", tool_name="get_weather", tool_args={"city": "Oslo"})
    talk = await Talk(pool, tenant).open(call, "Thanks.")
    assert await describe_tool_calls(talk.tasks, talk.whole, talk.place.conversation_id, None) == 1
    assert await describe_tool_calls(talk.tasks, talk.whole, talk.place.conversation_id, None) == 0
    (hit,) = [hit for hit in await talk.search("got weather", mode="words") if hit.seq == 1]
    assert hit.id == talk.said[0].id
    hit = (await talk.search("Got weather (get_weather)", mode="trigram"))[0]
    assert hit.text.startswith("Got weather")
    assert hit.part == 1


MEMORY = """
INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, agent, type, content, digest, importance,
    confidence, valid_from, said_at, valid_to, superseded_by, model, pipeline_version)
SELECT e.tenant_id, %(id)s, e.conversation_id, e.run_id, e.visibility, 'ada', 'fact', 'x',
    sha256(%(id)s::text::bytea), 0.5, 0.5, now(), now(), CASE WHEN %(by)s::uuid IS NOT NULL THEN now() END, %(by)s,
    'rules', 1
FROM entries e WHERE e.source_id = %(message)s
"""
SOURCE = """
INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, digest)
SELECT tenant_id, %(id)s, source_id, run_id, visibility, sha256('x') FROM entries WHERE source_id = %(message)s
"""


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_a_message_names_what_holds_now_only_in_its_own_scope(talk, pool, tenant, conninfo, is_elsewhere):
    other = await Talk(pool, tenant).open("The bearing comes from Kiel.")
    message, old, new = talk.said[1].id, uuid4(), uuid4()
    with migrate.owner(conninfo) as conn:
        conn.execute(MEMORY, {"id": new, "by": None, "message": other.said[0].id if is_elsewhere else message})
        conn.execute(MEMORY, {"id": old, "by": new, "message": message})
        conn.execute(SOURCE, {"id": old, "message": message})
    hits = await talk.search("was the bearing ordered from Hamburg?")
    assert {hit.superseded_by for hit in hits if hit.id == message} == {None if is_elsewhere else new}
    assert {hit.superseded_by for hit in hits if hit.id != message} <= {None}
