"""Memories on a real database: extracted once however many workers there are, found by search, never lost."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg
import pytest

from keepword import transcript
from keepword.access import Grant, Viewer, grant
from keepword.embedding import TextIndexer
from keepword.llm.port import Answer
from keepword.memories import operations
from keepword.memories.operations import Extractor
from keepword.memories.ports import BatchLimits, MemorySelection
from keepword.model import Draft
from keepword.period import Calendar
from keepword.postgres import migrate
from keepword.postgres.memories import PostgresMemories, unread
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.queue import PostgresQueue
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.transcript import PostgresTranscript
from keepword.profiles import Selection
from keepword.recall.search import Recall, RecallRequest
from keepword.transcript import NewConversation
from keepword.transcript.registry import move

pytestmark = pytest.mark.anyio

START = datetime(2026, 4, 13, 9, tzinfo=UTC)
READER = TextIndexer()


class Bench:
    def __init__(self, pool, tenant):
        self.pool, self.tenant = pool, tenant
        self.viewer, self.whole = Viewer(tenant.id, "admin"), Grant(tenant.id, everything=True)
        self.lookup, self.registry = PostgresPlaceLookup(pool), PostgresRegistry(pool)
        self.memories, self.profiles = PostgresMemories(pool), PostgresProfiles(pool)
        self.extractor = Extractor(self.memories, READER)
        self.recall = Recall(PostgresIndex(pool), READER.table, None, Calendar(lambda: START, ZoneInfo("UTC")))
        self.minutes = 0

    async def open(self, kind="session", user="ann", **more):
        name = f"talk-{uuid4().hex[:8]}"
        await self.registry.put_user(self.whole, user, user)
        await self.registry.put_agent(self.whole, "ada", "Ada", None)
        wanted = NewConversation(kind, user if kind != "room" else None, "ada", **more)
        await transcript.put(self.lookup, PostgresConversations(self.pool), self.viewer, name, wanted)
        return await self.lookup.place(self.tenant.id, name)

    async def say(self, place, *texts, user="ann", viewer=None):
        drafts = []
        for text in texts:
            self.minutes += 1
            at = START + timedelta(minutes=self.minutes)
            drafts += [Draft("user", text, user, created_at=at), Draft("assistant", "Noted.", created_at=at)]
        viewer = viewer or self.viewer
        return await transcript.append(
            PostgresTranscript(self.pool), READER, grant(viewer, place), viewer, place, drafts
        )

    async def extract(self, place):
        return await self.extractor.extract(self.whole, place.conversation_id)

    async def valid(self, place=None, **more):
        opened = grant(self.viewer, place) if place else self.whole
        return {memory.content for memory in await self.memories.select(opened, MemorySelection(limit=200, **more))}

    async def search(self, place, query):
        found = await self.recall.search(grant(self.viewer, place), RecallRequest(query, kinds=("memory",)))
        return [hit.text for hit in found.results]

    async def profile(self, place=None, user="ann"):
        opened = grant(self.viewer, await self.lookup.place(self.tenant.id, place.external_id)) if place else self.whole
        page, _ = await self.profiles.page(opened, Selection(type="user", user=user))
        return page[0].memory if page else None


@pytest.fixture
async def bench(pool, tenant):
    return Bench(pool, tenant)


@pytest.fixture
def owner(conninfo):
    with migrate.owner(conninfo) as conn:
        yield conn


async def test_what_is_worth_keeping_is_extracted_and_found_by_search(bench):
    place = await bench.open()
    (said, *_) = await bench.say(place, "I prefer window seats on long flights.", "How are you?")
    assert await bench.extract(place) == 1
    assert await bench.extract(place) == 0
    (memory,) = await bench.memories.select(bench.whole, MemorySelection())
    assert (memory.content, memory.type) == ("ann prefers window seats on long flights.", "preference")
    assert (memory.sources, memory.run_id, memory.visibility) == ((said.id,), place.run_id, "public")
    assert memory.importance == pytest.approx(0.8)
    assert await bench.search(place, "window seats") == [memory.content]


async def test_a_memory_and_its_message_take_one_place_and_two_memories_of_one_message_two(bench):
    place = await bench.open()
    (said, *_) = await bench.say(place, "I'm allergic to nuts, and I live in Oslo.")
    assert await bench.extract(place) == 2
    found = (
        await bench.recall.search(grant(bench.viewer, place), RecallRequest("nuts in Oslo", recipe="fast"))
    ).results
    assert [hit.seq for hit in found if hit.kind != "memory"].count(1) + bool(
        [hit for hit in found if hit.kind == "memory"]
    ) == 1
    assert set(await bench.search(place, "nuts in Oslo")) == {"ann is allergic to nuts.", "ann lives in Oslo."}
    opened = grant(bench.viewer, place)
    (hit, *_) = (await bench.recall.search(opened, RecallRequest("allergic", kinds=("memory",), context=1))).results
    assert (hit.seq, [turn.text for turn in hit.context]) == (1, ["Noted."])
    assert said.id in (await bench.memories.get(bench.whole, [hit.id]))[0].sources


async def test_a_secret_stays_in_the_transcript_and_becomes_no_memory_unless_it_is_to_be_kept(bench):
    place = await bench.open()
    await bench.say(place, "My password for the shop is hunter2.", "I live in Oslo.")
    await bench.extract(place)
    assert await bench.valid(place) == {"ann lives in Oslo."}
    (hit, *_) = (await bench.recall.search(grant(bench.viewer, place), RecallRequest("shop password"))).results
    assert (hit.kind, hit.text) == ("message", "My password for the shop is hunter2.")
    keeping = replace(bench.extractor, keeps_secrets=True)
    other = await bench.open(user="bob")
    await bench.say(other, "My password for the shop is hunter2.", user="bob")
    await keeping.extract(bench.whole, other.conversation_id)
    assert await bench.valid(other) == {"bob's password for the shop is hunter2."}


async def test_a_contradiction_supersedes_and_the_past_can_be_asked_for(bench):
    place = await bench.open()
    await bench.say(place, "I live in Hamburg.")
    await bench.extract(place)
    await bench.say(place, "I live in Munich.")
    await bench.extract(place)
    assert await bench.valid(place) == {"ann lives in Munich."}
    assert await bench.search(place, "where does ann live: Hamburg") == ["ann lives in Munich."]
    then = await bench.memories.select(bench.whole, MemorySelection(as_of=START + timedelta(minutes=1, seconds=30)))
    (old,) = then
    assert old.content == "ann lives in Hamburg."
    assert old.valid_to == START + timedelta(minutes=2)
    events = [one.event for one in await bench.memories.history(bench.whole, old.id, 99, 10)]
    assert events == ["superseded", "added"]


async def test_what_is_said_again_merges_and_its_sources_add_up(bench):
    place = await bench.open()
    await bench.say(place, "I like green tea.", "I really love green tea!")
    await bench.extract(place)
    (memory,) = await bench.memories.select(bench.whole, MemorySelection())
    assert (memory.times, len(memory.sources)) == (2, 2)


async def test_eight_workers_make_what_one_makes(bench, owner):
    homes = ("Kiel", "Bonn", "Jena", "Ulm")
    texts = [f"I live in {homes[n % 4]}." if n % 3 else f"I like hill {n}." for n in range(30)]
    alone, together = await bench.open(), await bench.open()
    for place in (alone, together):
        bench.minutes = 0
        await bench.say(place, *texts)
    for _ in range(3):
        await bench.extract(alone)
    await asyncio.gather(*(bench.extract(together) for _ in range(8)))

    def rows(place):
        return owner.execute(
            "SELECT content, type, times, valid_from, said_at, valid_to FROM memories WHERE conversation_id = %s "
            "ORDER BY valid_from, content",
            (place.conversation_id,),
        ).fetchall()

    assert rows(together) == rows(alone)
    assert len([row for row in rows(alone) if row[5] is None]) == 11


async def test_conversations_of_one_room_read_at_once_leave_no_duplicate(bench, owner):
    await bench.registry.put_user(bench.whole, "ann", "Ann")
    await bench.registry.put_agent(bench.whole, "ada", "Ada", None)
    await bench.registry.put_room(bench.whole, "hall", "Hall")
    await bench.registry.join(bench.whole, "hall", user="ann")
    await bench.registry.join(bench.whole, "hall", agent="ada")
    places = [await bench.open("room", room="hall") for _ in range(4)]
    for place in places:
        await bench.say(place, "I like hats.", "I own a boat.", "We decided to use Kafka for events.")
    await asyncio.gather(*(bench.extract(place) for place in places for _ in range(2)))
    rows = owner.execute(
        "SELECT content, times FROM memories WHERE run_id = 'room:hall' AND tenant_id = %s", (bench.tenant.id,)
    ).fetchall()
    assert sorted(rows) == [("We decided to use Kafka for events.", 4), ("ann likes hats.", 4), ("ann owns a boat.", 4)]


async def test_a_deleted_memory_stays_in_history_and_does_not_come_back(bench, owner):
    place = await bench.open()
    await bench.say(place, "I like green tea.")
    await bench.extract(place)
    (memory,) = await bench.memories.select(bench.whole, MemorySelection())
    opened = grant(bench.viewer, place)
    await operations.delete(bench.memories, opened, memory.id, None, "ann")
    assert await bench.valid() == set()
    assert await bench.search(place, "green tea") == []
    assert [one.event for one in await bench.memories.history(opened, memory.id, 99, 9)] == ["deleted", "added"]
    owner.execute("UPDATE extractions SET done_seq = 0 WHERE conversation_id = %s", (place.conversation_id,))
    await bench.extract(place)
    assert await bench.valid() == set()
    count = owner.execute("SELECT count(*) FROM messages WHERE conversation_id = %s", (place.conversation_id,))
    assert count.fetchone() == (2,)


async def test_a_changed_memory_is_found_as_it_is_now(bench):
    place = await bench.open()
    opened = grant(bench.viewer, place)
    draft = operations.MemoryDraft("The build takes nine minutes.", user="ann")
    memory, made = await operations.add(bench.memories, READER, opened, place, draft, START, "ann")
    assert made
    again, made = await operations.add(bench.memories, READER, opened, place, draft, START, "ann")
    assert (again.id, again.times, made) == (memory.id, 2, False)
    changed = await operations.change(
        bench.memories, READER, opened, memory.id, {"content": "The build takes four minutes."}, again.version, "ann"
    )
    assert changed.content == "The build takes four minutes."
    assert await bench.search(place, "build minutes") == [changed.content]
    history = await bench.memories.history(opened, memory.id, 99, 9)
    assert [(one.event, one.content) for one in history][0::2] == [
        ("changed", "The build takes four minutes."), ("added", "The build takes nine minutes."),
    ]  # fmt: skip


async def test_a_profile_is_what_was_said_as_far_as_each_place_may_know_it(bench):
    await bench.registry.put_project(bench.whole, "vault", "Vault", isolated=True)
    session, other, vault = await bench.open(), await bench.open(), await bench.open(project="vault")
    direct = await bench.open("direct")
    await bench.say(session, "I like green tea.", "I live in Hamburg.")
    await bench.say(vault, "I like secret plans.")
    await bench.say(direct, "I like private jokes.")
    for place in (session, vault, direct):
        await bench.extract(place)
    known = "Preferences\n- ann likes green tea.\nFacts\n- ann lives in Hamburg."
    assert await bench.profile(session) == await bench.profile(other) == known
    assert "private jokes" in await bench.profile(direct)
    assert "secret plans" not in await bench.profile(direct)
    assert await bench.profile(vault) is None
    assert {"secret plans", "private jokes"} == {
        words for words in ("secret plans", "private jokes") if words in await bench.profile()
    }
    await bench.say(session, "I don't like green tea any more.")
    await bench.extract(session)
    assert "ann doesn't like green tea any more." in await bench.profile(other)
    assert "- ann likes" not in await bench.profile(other)


async def test_what_moves_into_an_isolated_project_leaves_the_profile_without_a_worker(bench):
    place, other = await bench.open(), await bench.open()
    await bench.say(place, "I like green tea.")
    await bench.extract(place)
    assert await bench.profile(other) == "Preferences\n- ann likes green tea."
    await bench.registry.put_project(bench.whole, "vault", "Vault", isolated=True)
    await move(bench.registry, bench.whole, "conversations", place.external_id, "vault")
    assert await bench.profile(other) is None
    await bench.registry.put_project(bench.whole, "vault", "Vault", isolated=False)
    assert await bench.profile(other) == "Preferences\n- ann likes green tea."


async def test_what_an_agent_s_own_key_says_that_a_user_said_is_remembered_there_and_in_no_profile_elsewhere(bench):
    place, other = await bench.open(), await bench.open()
    bot = Viewer(bench.tenant.id, "agent", "ada", None, "agent")
    await bench.say(place, "I like green tea.", viewer=bot)
    await bench.extract(place)
    assert await bench.valid(place) == {"ann likes green tea."}
    assert await bench.search(place, "green tea") == ["ann likes green tea."]
    assert await bench.profile(place) == "Preferences\n- ann likes green tea."
    assert await bench.profile(other) is None
    assert await bench.profile() is None
    # the owner who writes the same by hand says it themselves
    await bench.profiles.write(bench.whole, "ann", "- ann likes green tea.", "owner")
    assert await bench.profile(other) == "- ann likes green tea."


@pytest.mark.parametrize(
    "viewer", [("agent", None, None, "nobody"), ("agent", None, "ann", "user"), ("agent", "ada", "ann", "both")]
)
async def test_what_a_key_says_that_is_bound_to_the_user_or_to_nobody_is_a_line_of_the_profile(bench, viewer):
    place, other = await bench.open(), await bench.open()
    who = Viewer(bench.tenant.id, *viewer)
    at = START + timedelta(minutes=1)
    drafts = [Draft("user", "I like green tea.", "ann", created_at=at)]
    await transcript.append(PostgresTranscript(bench.pool), READER, grant(who, place), who, place, drafts)
    await bench.extract(place)
    assert await bench.profile(other) == "Preferences\n- ann likes green tea."


async def test_an_event_of_an_agent_s_own_key_is_not_vouched_for_either(bench, owner):
    place = await bench.open()
    bot = Viewer(bench.tenant.id, "agent", "ada", None, "agent")
    drafts = [Draft("user", "I like green tea.", "ann", event_id="e1")]
    await transcript.append(PostgresTranscript(bench.pool), READER, grant(bot, place), bot, place, drafts)
    assert owner.execute("SELECT vouched FROM messages WHERE tenant_id = %s", (bench.tenant.id,)).fetchall() == [
        (False,)
    ]


async def test_what_an_agent_s_own_key_says_ends_nothing_that_the_user_said(bench):
    place, other = await bench.open(), await bench.open()
    bot = Viewer(bench.tenant.id, "agent", "ada", None, "agent")
    await bench.say(place, "I live in Bonn.", "I like green tea.")
    await bench.say(place, "I live in Kiel.", "I like green tea.", viewer=bot)
    await bench.extract(place)
    said = "Preferences\n- ann likes green tea.\nFacts\n- ann lives in Bonn."
    assert await bench.profile(other) == said
    assert await bench.valid(place) == {"ann lives in Bonn.", "ann lives in Kiel.", "ann likes green tea."}
    # what the user says then takes the place of both
    await bench.say(place, "I live in Kiel.")
    await bench.extract(place)
    assert await bench.profile(other) == said.replace("Bonn", "Kiel")
    assert await bench.valid(place) == {"ann lives in Kiel.", "ann likes green tea."}


async def test_a_memory_that_an_agent_s_own_key_tells_or_changes_is_in_no_profile_elsewhere(bench):
    place, other = await bench.open(), await bench.open()
    bot = grant(Viewer(bench.tenant.id, "agent", "ada", None, "agent"), place)
    receipts = await bench.say(place, "I like green tea.")
    await bench.extract(place)
    draft = operations.MemoryDraft("ann's account is EVIL-42.", user="ann", sources=(receipts[0].id,))
    await operations.add(bench.memories, READER, bot, place, draft, START, None)
    assert await bench.profile(other) == "Preferences\n- ann likes green tea."
    (tea,) = [one for one in await bench.memories.select(bench.whole, MemorySelection()) if "tea" in one.content]
    await operations.change(bench.memories, READER, bot, tea.id, {"content": "ann likes EVIL tea."}, None, None)
    assert await bench.profile(other) is None
    assert "EVIL-42" in await bench.profile(place)


async def test_a_memory_without_a_source_is_no_line_of_a_profile(bench):
    place = await bench.open()
    opened = grant(bench.viewer, place)
    await operations.add(
        bench.memories, READER, opened, place, operations.MemoryDraft("ann owns a boat.", user="ann"), START, None
    )
    assert await bench.profile(place) is None
    receipts = await bench.say(place, "Kiel is where I live.")
    draft = operations.MemoryDraft("ann lives in Kiel.", user="ann", sources=(receipts[0].id,))
    await operations.add(bench.memories, READER, opened, place, draft, START, None)
    assert await bench.profile(place) == "Facts\n- ann lives in Kiel."


async def test_backfill_reads_what_was_said_before_it_was_noted(bench, owner):
    place = await bench.open()
    await bench.say(place, "I like green tea.")
    owner.execute("DELETE FROM extractions WHERE conversation_id = %s", (place.conversation_id,))
    assert (bench.tenant.id, place.conversation_id) in unread(owner, backfill=True)
    assert await bench.extract(place) == 1
    assert (bench.tenant.id, place.conversation_id) not in unread(owner, backfill=False)


async def test_backfill_reads_again_what_the_rules_read_and_finds_with_a_model_what_they_missed(bench, owner):
    place = await bench.open()
    await bench.say(place, "I like green tea.", "Mia turns six on Friday, can you believe it?")
    assert await bench.extract(place) == 1
    before = await bench.memories.select(bench.whole, MemorySelection())
    made = {"memories": [{"type": "fact", "text": "Mia turns six on Friday.", "sources": [3]}]}
    bench.extractor = Extractor(bench.memories, READER, Finder(made))
    assert await bench.extract(place) == 0
    assert (bench.tenant.id, place.conversation_id) in unread(owner, backfill=True)
    assert await bench.extract(place) == 1
    assert await bench.valid() == {"ann likes green tea.", "Mia turns six on Friday."}
    again = [
        memory for memory in await bench.memories.select(bench.whole, MemorySelection()) if memory.id == before[0].id
    ]
    assert again == before


async def test_backfill_counts_nothing_twice_and_brings_nothing_back_that_was_deleted(bench, owner):
    place = await bench.open()
    await bench.say(place, "I like green tea.", "I live in Kiel.", "I live in Bonn.")
    assert await bench.extract(place) == 3
    tea = next(m for m in await bench.memories.select(bench.whole, MemorySelection()) if "tea" in m.content)
    await operations.delete(bench.memories, bench.whole, tea.id, tea.version, None)
    held = await bench.memories.select(bench.whole, MemorySelection(limit=200))
    for _ in range(2):
        unread(owner, backfill=True)
        assert await bench.extract(place) == 0
        assert await bench.memories.select(bench.whole, MemorySelection(limit=200)) == held


ROOM_TALK = (
    ("I live in Kiel.", "I like green tea.", "The launch is on May 4."),
    ("I live in Bonn.", "I really like green tea.", "The launch is on May 11."),
    ("I live in Jena.", "I don't like green tea.", "I work at Acme."),
)


async def open_room(bench, room, amount):
    await bench.registry.put_room(bench.whole, room, None)
    await bench.registry.put_agent(bench.whole, "ada", "Ada", None)
    await bench.registry.put_user(bench.whole, "ann", "ann")
    await bench.registry.join(bench.whole, room, agent="ada")
    await bench.registry.join(bench.whole, room, user="ann")
    return [await bench.open("room", room=room) for _ in range(amount)]


async def talk_in_a_room(bench, room):
    """Let three conversations of a room go on beside each other; return their places."""
    places = await open_room(bench, room, len(ROOM_TALK))
    bench.minutes = 0
    for turn in range(len(ROOM_TALK[0])):
        for place, said in zip(places, ROOM_TALK, strict=True):
            await bench.say(place, said[turn])
    return places


async def told(bench, room, owner):
    rows = owner.execute(
        "SELECT m.content, m.times, m.valid_from, m.said_at, m.valid_to, n.content FROM memories m "
        "LEFT JOIN memories n ON n.id = m.superseded_by WHERE m.run_id = %s AND m.tenant_id = %s",
        (f"room:{room}", bench.tenant.id),
    )
    return sorted(map(str, rows))


async def test_a_rooms_conversations_are_read_in_the_order_of_time_whoever_begins(bench, owner, monkeypatch):
    outcomes = []
    for number, portion in enumerate(
        [operations.BATCH_LIMITS, operations.BATCH_LIMITS, BatchLimits(2, 1, 6), BatchLimits(3, 40, 6)]
    ):
        places = await talk_in_a_room(bench, f"hall-{number}")
        monkeypatch.setattr(operations, "BATCH_LIMITS", portion)
        await bench.extract(places[number % len(places)])
        outcomes.append(await told(bench, f"hall-{number}", owner))
        for place in places:
            assert await bench.extract(place) == 0
    assert outcomes[0] == outcomes[1] == outcomes[2] == outcomes[3]
    valid = [row for row in outcomes[0] if "None, None)" in row]
    assert len(outcomes[0]) > len(valid) > 2
    assert any("Jena" in row for row in valid)
    assert not any("Bonn" in row or "Kiel" in row for row in valid)


async def test_many_read_a_room_at_once_as_one_does(bench, owner):
    alone = await talk_in_a_room(bench, "alone")
    await bench.extract(alone[0])
    crowded = await talk_in_a_room(bench, "crowded")
    await asyncio.gather(*(bench.extract(place) for place in crowded * 3))
    assert await told(bench, "crowded", owner) == await told(bench, "alone", owner)
    waiting = "SELECT count(*) FROM extractions WHERE waiting AND tenant_id = %s"
    assert owner.execute(waiting, (bench.tenant.id,)).fetchone() == (0,)


async def test_a_room_where_somebody_always_talks_is_read_after_a_while(bench, owner):
    first, second = await open_room(bench, "busy", 2)
    await bench.say(first, "I like green tea.")
    await bench.say(second, "I live in Kiel.")
    now = datetime.now(UTC)
    earlier = "UPDATE extractions SET noted_at = now() - interval '20 s' WHERE conversation_id = %s"
    owner.execute(earlier, (first.conversation_id,))
    jobs, lock = "SELECT count(*) FROM procrastinate_jobs WHERE lock = %s", (f"extract:{bench.tenant.id}:room:busy",)
    for longest, due in ((30, 0), (15, 1)):
        await PostgresQueue(bench.pool).enqueue_exchanges(now, timedelta(seconds=3), timedelta(seconds=longest), 40)
        assert owner.execute(jobs, lock).fetchone() == (due,)
    owner.execute("DELETE FROM procrastinate_jobs")


async def test_a_job_is_due_once_the_exchange_is_over(bench, owner):
    place = await bench.open()
    await bench.say(place, "I like green tea.")
    now = datetime.now(UTC)
    jobs = "SELECT count(*) FROM procrastinate_jobs WHERE lock = %s"
    lock = (f"extract:{bench.tenant.id}:{place.run_id}",)
    await PostgresQueue(bench.pool).enqueue_exchanges(now, timedelta(seconds=60), timedelta(hours=1), 40)
    assert owner.execute(jobs, lock).fetchone() == (0,)
    for _ in range(2):
        later = now + timedelta(seconds=61)
        await PostgresQueue(bench.pool).enqueue_exchanges(later, timedelta(seconds=60), timedelta(hours=1), 40)
    assert owner.execute(jobs, lock).fetchone() == (1,)
    owner.execute("DELETE FROM procrastinate_jobs")


class Model:
    name, context_tokens = "scripted", 8000

    def __init__(self, *answers):
        self.answers, self.prompts = list(answers), []

    async def ask(self, prompt):
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        return Answer(answer if isinstance(answer, str) else "", self.name, data=answer)


class Finder(Model):
    """Finds the same in whatever it is given, and repeats what it is told of a person."""

    async def ask(self, prompt):
        return Answer("" if prompt.schema else prompt.text, self.name, data=self.answers[0] if prompt.schema else None)


async def test_a_models_memories_must_be_supported_by_what_was_said(bench):
    place = await bench.open()
    await bench.say(place, "The green tea from Uji is what I drink each morning.")
    made = {"memories": [
        {"type": "preference", "text": "ann drinks green tea from Uji each morning.", "sources": [1]},
        {"type": "fact", "text": "ann lives in Kyoto.", "sources": [1]},
        {"type": "fact", "text": "ann was noted.", "sources": [2]},
        {"type": "nonsense", "text": "ann drinks tea.", "sources": [1]},
    ]}  # fmt: skip
    model = Model({"else": 1}, made)
    extractor = Extractor(bench.memories, READER, model)
    assert await extractor.extract(bench.whole, place.conversation_id) == 1
    (memory,) = await bench.memories.select(bench.whole, MemorySelection())
    assert (memory.content, memory.model) == ("ann drinks green tea from Uji each morning.", "scripted")
    assert "could not be read" in model.prompts[1].text
    assert await bench.profile() == "Preferences\n- ann drinks green tea from Uji each morning."


async def test_without_a_readable_answer_the_rules_extract(bench):
    place = await bench.open()
    await bench.say(place, "I like green tea.")
    extractor = Extractor(bench.memories, READER, Model([], []))
    assert await extractor.extract(bench.whole, place.conversation_id) == 1
    (memory,) = await bench.memories.select(bench.whole, MemorySelection())
    assert memory.model == "rules"
    assert await bench.profile() == "Preferences\n- ann likes green tea."


async def test_only_who_may_write_in_the_place_writes_its_memories(bench):
    place, other = await bench.open(), await bench.open(user="bob")
    opened = grant(bench.viewer, place)
    memory, _ = await operations.add(
        bench.memories, READER, opened, place, operations.MemoryDraft("ann owns a boat."), START, None
    )
    reader = grant(Viewer(bench.tenant.id, "reader"), place)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await bench.memories.delete(reader, memory.id, None, None)
    elsewhere = grant(bench.viewer, other)
    assert await bench.memories.delete(elsewhere, memory.id, None, None) == "absent"
    assert await bench.memories.scope(elsewhere, place.conversation_id) is None
    assert await bench.valid(place) == {"ann owns a boat."}


async def test_what_an_agent_said_is_remembered_as_its_word_where_the_tenant_wants_it(bench):
    place = await bench.open()

    async def answer(text):
        draft = Draft("assistant", text, created_at=START + timedelta(days=1, minutes=bench.minutes))
        opened = grant(bench.viewer, place)
        return await transcript.append(PostgresTranscript(bench.pool), READER, opened, bench.viewer, place, [draft])

    await answer("I've booked your table at Nino for 4 May.")
    await bench.say(place, "I live in Ulm.")
    await bench.extract(place)
    assert await bench.valid() == {"ann lives in Ulm."}
    await bench.lookup.change_settings(bench.whole, {"agents_word": True})
    (said,) = await answer("I've booked your flight for March 3rd. The code is kw-9!Xq7vT2.")
    await bench.say(place, "I work at Bosch.")
    await bench.extract(place)
    word = "ada has booked ann's flight for March 3rd (said on 2026-04-14)."
    assert await bench.valid() == {"ann lives in Ulm.", "ann works at Bosch.", word}
    (kept,) = [one for one in await bench.memories.select(bench.whole, MemorySelection()) if one.said_by == "agent"]
    assert (kept.content, kept.user, kept.agent, kept.type, kept.sources) == (word, None, "ada", "action", (said.id,))
    assert await bench.search(place, "which flight?") == [word]
    profile = await bench.profile(place)
    assert "Bosch" in profile
    assert "March" not in profile
    assert await bench.valid(user="ann") == {"ann lives in Ulm.", "ann works at Bosch."}
