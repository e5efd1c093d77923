"""Compaction on a real database: what is made, what the database refuses, and that nothing is done twice."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from keepword import transcript
from keepword.access import Grant, Place, Viewer, grant
from keepword.compaction.compact import Compactor, describe_tool_calls, find_landmarks
from keepword.compaction.plan import CompactionPolicy, Segment
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation

pytestmark = pytest.mark.anyio

READER = TextIndexer()

START = datetime(2026, 4, 13, 9, tzinfo=UTC)  # a Monday
LATER = datetime.now(UTC) + timedelta(days=30)
SUNDAY = 6
PACE = CompactionPolicy(window_messages=5, tail_messages=2, silence=timedelta(hours=1), most_leaves=4)


class Talk:
    """A conversation of its own, with the stores to compact it."""

    def __init__(self, pool, tenant):
        self.tenant = tenant
        self.viewer = Viewer(tenant.id, "admin")
        self.whole = Grant(tenant.id, everything=True)
        self.lookup, self.conversations = PostgresPlaceLookup(pool), PostgresConversations(pool)
        self.transcript, self.summaries = PostgresTranscript(pool), PostgresSummaries(pool, READER)
        self.tasks, self.landmarks = PostgresTasks(pool, READER), PostgresLandmarks(pool, READER)
        self.compactor = Compactor(self.summaries, None, PACE)
        self.name = f"talk-{uuid4().hex[:8]}"
        self.place: Place

    async def open(self, **fields):
        wanted = NewConversation(fields=fields)
        await transcript.put(self.lookup, self.conversations, self.viewer, self.name, wanted)
        self.place = await self.lookup.place(self.tenant.id, self.name)
        return self

    async def say(self, *drafts):
        opened = grant(self.viewer, self.place)
        return await transcript.append(self.transcript, READER, opened, self.viewer, self.place, drafts)

    async def compact(self, now=LATER):
        return await self.compactor.compact(self.whole, self.place.conversation_id, now)

    async def tree(self):
        return await self.summaries.tree(self.whole, self.place)


@pytest.fixture
async def talk(pool, tenant):
    return await Talk(pool, tenant).open(title="Pumps")


def facts(count, start=START, step=timedelta(minutes=1)):
    return [
        Draft("user", f"Pump P-{n} decided to run at {n} bar in Hall {n % 3}.", created_at=start + n * step)
        for n in range(1, count + 1)
    ]


@pytest.fixture
def owner(conninfo):
    with migrate.owner(conninfo) as conn:
        yield conn


async def test_a_closed_conversation_becomes_a_tree_down_to_every_message(talk, owner):
    for day in (0, 0.2, 1, 8):
        await talk.say(*facts(12, START + timedelta(days=day)))
    # two sessions of one day are joined by it, that day and the next session by their week
    assert await talk.compact() == 12 + 4 + 1 + 1
    tree = await talk.tree()
    tiers = {tier: [one for one in tree if one.tier == tier] for tier in ("thread", "session", "day", "week")}
    assert [len(found) for found in tiers.values()] == [12, 4, 1, 1]
    assert [(one.first_seq, one.last_seq, one.message_count) for one in tree if one.parent is None] == [
        (1, 36, 36),
        (37, 48, 12),
    ]
    assert {one.kind for one in tiers["day"]} == {"root"}
    reached = owner.execute(
        """
        WITH RECURSIVE below AS (
            SELECT id, leaf_first, leaf_last FROM summaries WHERE conversation_id = %s AND parent_id IS NULL
            UNION ALL
            SELECT s.id, s.leaf_first, s.leaf_last FROM summaries s JOIN below b ON s.parent_id = b.id
        )
        SELECT count(*), count(DISTINCT m.seq) FROM below b
        JOIN messages m ON m.conversation_id = %s AND m.seq BETWEEN b.leaf_first AND b.leaf_last
        """,
        (talk.place.conversation_id, talk.place.conversation_id),
    ).fetchone()
    assert reached == (48, 48)


async def test_climbing_down_ends_at_the_exact_words(talk):
    for number, days in enumerate((0, 0.3, 1, 1.3)):
        await talk.say(*facts(12, START + timedelta(days=days, seconds=number)))
    await talk.compact()
    (week,) = [one for one in await talk.tree() if one.tier == "week"]
    level = [week]
    for tier in ("day", "session", "thread"):
        level = [child for one in level for child in await talk.summaries.children(talk.whole, one.id)]
        assert {one.tier for one in level} == {tier}
    found = [message for leaf in level for message in (await talk.summaries.sources(talk.whole, leaf.id)).messages]
    assert [message.content for message in found] == [draft.content for _ in range(4) for draft in facts(12)]
    assert await talk.summaries.get(talk.whole, week.id) == week
    assert week.share == 1.0
    assert week.model == "extractive"
    assert "Pump" not in week.tools_called
    assert week.key_decisions


async def test_running_again_changes_nothing(talk):
    await talk.say(*facts(23))
    assert await talk.compact() > 0
    before = await talk.tree()
    assert await talk.compact() == 0
    assert await talk.tree() == before


async def test_a_live_conversation_keeps_its_tail(talk):
    await talk.say(*facts(13))
    now = datetime.now(UTC)
    assert await talk.compact(now) == 2
    assert [(one.first_seq, one.last_seq) for one in await talk.tree()] == [(1, 5), (6, 10)]
    await talk.say(*facts(4, START + timedelta(minutes=13)))
    assert await talk.compact(now) == 1
    assert (await talk.tree())[-1].last_seq == 15


async def test_when_all_is_done_there_is_nothing_left_to_look_at_until_somebody_speaks(talk, owner):
    rows = "SELECT covered_seq, next_at FROM compactions WHERE conversation_id = %s"
    await talk.say(*facts(3))
    assert owner.execute(rows, (talk.place.conversation_id,)).fetchone() == (0, None)
    await talk.compact(datetime.now(UTC) + timedelta(hours=2))  # the week of these messages is long over
    assert owner.execute(rows, (talk.place.conversation_id,)).fetchone() is None
    await talk.say(*facts(1, START + timedelta(days=20)))
    assert owner.execute(rows, (talk.place.conversation_id,)).fetchone() == (3, None)


async def test_days_and_weeks_wait_for_their_end(talk, owner):
    now = datetime.now(UTC)
    day = (now + timedelta(days=2)).replace(hour=1)
    said = ("Said in two days.", "Said six hours after.", "Said a day after.")
    hours = (0, 6, 24)
    await talk.say(
        *(Draft("user", text, created_at=day + timedelta(hours=h)) for text, h in zip(said, hours, strict=True))
    )
    await talk.compact(now + timedelta(hours=2))
    assert [one.tier for one in await talk.tree()] == ["thread"] * 3
    next_at = owner.execute(
        "SELECT next_at FROM compactions WHERE conversation_id = %s", (talk.place.conversation_id,)
    ).fetchone()[0]
    assert now + timedelta(days=1) < next_at <= now + timedelta(days=3)
    await talk.compact(now + timedelta(days=10))
    above = {"day", "week"} if day.weekday() < SUNDAY else {"day"}  # its week ends with Sunday
    assert {one.tier for one in await talk.tree()} == {"thread", *above}


async def test_one_segment_is_a_thread_and_nothing_above_it_until_there_is_more_to_join(talk, owner):
    await talk.say(*facts(4))
    await talk.compact()
    (thread,) = await talk.tree()
    rows = owner.execute("SELECT FROM compactions WHERE conversation_id = %s", (talk.place.conversation_id,))
    assert rows.fetchall() == []
    await talk.say(*facts(4, START + timedelta(hours=5)))
    await talk.compact()
    tree = await talk.tree()
    assert sorted(one.tier for one in tree) == ["day", "thread", "thread"]
    assert thread.id in {one.id for one in tree}


async def test_a_week_of_sixty_messages_in_five_conversations_has_few_summaries(pool, tenant):
    """As a newcomer tried it: 60 messages made 85 summaries, most of them of one sentence."""
    count = 0
    for conversation in range(5):
        talk = await Talk(pool, tenant).open()
        talk.compactor = Compactor(talk.summaries)
        drafts = facts(12, START + timedelta(hours=conversation), timedelta(hours=11))
        await talk.say(*drafts)
        await talk.compact()
        tree = await talk.tree()
        assert not [one for one in tree if sum(child.parent == one.id for child in tree) == 1]
        count += len(tree)
    assert count < 60 / 1.5


async def test_what_is_not_due_is_summarised_when_somebody_asks(talk):
    said = datetime.now(UTC) - timedelta(minutes=30)
    await talk.say(*facts(18, said))
    now = datetime.now(UTC)
    assert await talk.compact(now) == 3
    assert await talk.compactor.compact_now(talk.whole, talk.place.conversation_id, now, 0, 1) == 0
    assert [(one.tier, one.last_seq) for one in await talk.tree()] == [
        ("session", 18), ("thread", 5), ("thread", 10), ("thread", 15), ("thread", 18),
    ]  # fmt: skip
    await talk.say(*facts(23, said + timedelta(minutes=19)))
    assert await talk.compactor.compact_now(talk.whole, talk.place.conversation_id, now, 0, 2) > 0
    while await talk.compactor.compact_now(talk.whole, talk.place.conversation_id, now, 0, 2):
        pass
    assert max(one.last_seq for one in await talk.tree()) == 41
    assert await talk.compact() <= 1  # the day, if the messages stand on both sides of its end


async def test_a_long_conversation_is_read_in_parts_and_still_tiled(talk, monkeypatch):
    monkeypatch.setattr("keepword.postgres.summaries.MAX_OUTLINES", 11)
    await talk.say(*facts(40))
    await talk.compact()
    leaves = [(one.first_seq, one.last_seq) for one in await talk.tree() if one.tier == "thread"]
    assert [first for first, _ in leaves] == [1] + [last + 1 for _, last in leaves[:-1]]
    assert leaves[-1][1] == 40


async def test_a_tool_call_and_its_result_stay_together(talk):
    drafts = facts(12)
    drafts[4] = Draft("assistant", tool_name="deploy", tool_args={"a": 1}, created_at=drafts[4].created_at)
    drafts[5] = Draft("tool", tool_name="deploy", tool_result="done", created_at=drafts[5].created_at)
    await talk.say(*drafts)
    await talk.compact(datetime.now(UTC))
    leaves = await talk.tree()
    assert (leaves[0].first_seq, leaves[0].last_seq) == (1, 6)
    assert leaves[0].tools_called == ("deploy",)


@pytest.mark.parametrize(
    ("first", "last", "refused"),
    [
        (1, 5, psycopg.errors.UniqueViolation),
        (4, 8, psycopg.errors.ForeignKeyViolation),
        (7, 9, psycopg.errors.ForeignKeyViolation),
        (6, 99, psycopg.errors.ForeignKeyViolation),
        (6, 5, psycopg.errors.CheckViolation),
    ],
)
async def test_the_database_refuses_leaves_that_overlap_leave_a_gap_or_cover_what_is_not_there(
    talk, owner, first, last, refused
):
    await talk.say(*facts(8))
    await talk.compact(datetime.now(UTC))
    with pytest.raises(refused):
        owner.execute(
            """
            INSERT INTO summaries (tenant_id, id, conversation_id, run_id, visibility, tier, pipeline_version,
                first_seq, last_seq, earliest_at, latest_at, message_count, message_tokens, content, model, share,
                key_decisions, entities_mentioned, tools_called, agent)
            SELECT tenant_id, gen_random_uuid(), conversation_id, run_id, visibility, tier, pipeline_version, %s, %s,
                earliest_at, latest_at, 1, 1, 'x', 'x', 1, '[]', '[]', '[]', agent
            FROM summaries WHERE conversation_id = %s
            """,
            (first, last, talk.place.conversation_id),
        )


class Interrupted(Exception):
    pass


class Halting(PostgresSummaries):
    """A store that breaks off after some summaries."""

    left = 3

    async def store(self, *given):
        if not self.left:
            raise Interrupted
        self.left -= 1
        return await super().store(*given)


def renewed(talk, store=None):
    return Compactor(store or talk.summaries, None, PACE, version=talk.compactor.version + 1)


async def test_a_new_version_is_made_while_the_old_one_serves_and_takes_its_place_when_it_is_whole(talk, pool):
    await talk.say(*facts(12))
    await talk.compact()
    old = await talk.tree()
    with pytest.raises(Interrupted):
        await renewed(talk, Halting(pool, READER)).recompact(talk.whole, talk.place.conversation_id, LATER)
    assert await talk.tree() == old
    assert await talk.summaries.tops(talk.whole, talk.place, 9) == [one for one in old if one.parent is None]
    # it goes on where it was
    assert await renewed(talk).recompact(talk.whole, talk.place.conversation_id, LATER) == len(old) - 3
    new = await talk.tree()
    assert {one.pipeline_version for one in new} == {talk.compactor.version + 1}
    assert [(one.tier, one.first_seq, one.last_seq) for one in new] == [
        (one.tier, one.first_seq, one.last_seq) for one in old
    ]
    assert [await talk.summaries.get(talk.whole, one.id) for one in old] == old
    assert await renewed(talk).recompact(talk.whole, talk.place.conversation_id, LATER) == 0
    assert await talk.tree() == new


async def test_what_is_said_while_a_version_is_made_anew_is_continued_in_the_one_that_serves(talk, pool, owner):
    now = datetime.now(UTC)
    await talk.say(*facts(13))
    await talk.compact(now)
    store = Halting(pool, READER)
    store.left = 1
    with pytest.raises(Interrupted):
        await renewed(talk, store).recompact(talk.whole, talk.place.conversation_id, now)
    await talk.say(*facts(6, START + timedelta(minutes=13)))
    assert await renewed(talk).compact(talk.whole, talk.place.conversation_id, now) == 1
    assert {(one.pipeline_version, one.last_seq) for one in await talk.tree()} == {
        (talk.compactor.version, last) for last in (5, 10, 15)
    }
    assert await renewed(talk).recompact(talk.whole, talk.place.conversation_id, now) == 2
    leaves = [(one.pipeline_version, one.first_seq, one.last_seq) for one in await talk.tree()]
    assert leaves[0][:2] == (talk.compactor.version + 1, 1)
    assert leaves[-1][2] == 15
    # from now on the new one is continued: a fourth leaf, and the session that takes the four
    await talk.say(*facts(6, START + timedelta(minutes=19)))
    assert await talk.compact(now) == 2
    assert {one.pipeline_version for one in await talk.tree()} == {talk.compactor.version + 1}
    covered = "SELECT covered_seq FROM compactions WHERE conversation_id = %s"
    assert owner.execute(covered, (talk.place.conversation_id,)).fetchone() == (20,)


async def test_a_version_that_was_replaced_takes_nothing_more(talk):
    await talk.say(*facts(13))
    await talk.compact(datetime.now(UTC))
    state = await talk.summaries.state(talk.whole, talk.place.conversation_id, talk.compactor.version)
    await renewed(talk).recompact(talk.whole, talk.place.conversation_id, datetime.now(UTC))
    before = await talk.tree()
    assert await talk.compactor._leaf(talk.whole, talk.place.conversation_id, state, Segment(11, 13)) == 0
    assert await talk.tree() == before


async def test_tool_calls_get_a_sentence_beside_the_message_which_stays_as_it_is(talk, owner):
    await talk.say(
        Draft("assistant", tool_name="read_file", tool_args={"path": "src/main.py"}),
        Draft("tool", tool_name="read_file", tool_result="print()"),
        Draft("assistant", "I read it", tool_name="read_file", tool_args={}),
        Draft("assistant", tool_name="noop"),
    )
    assert await describe_tool_calls(talk.tasks, talk.whole, talk.place.conversation_id, None) == 2
    assert await describe_tool_calls(talk.tasks, talk.whole, talk.place.conversation_id, None) == 0
    assert await talk.summaries.sentences(talk.whole, talk.place.conversation_id, 1, 9) == {
        1: "Read file (read_file) with path src/main.py.",
        4: "Called noop.",
    }
    left = owner.execute("SELECT count(*) FROM outbox WHERE conversation_id = %s", (talk.place.conversation_id,))
    assert left.fetchone() == (0,)
    assert [m.content for m in await talk.summaries.messages(talk.whole, talk.place.conversation_id, 1, 9)] == [
        "", "", "I read it", "",
    ]  # fmt: skip


async def test_a_summary_tells_of_a_tool_call_by_its_sentence(talk):
    await talk.say(Draft("assistant", tool_name="read_file", tool_args={"path": "src/main.py"}))
    await describe_tool_calls(talk.tasks, talk.whole, talk.place.conversation_id, None)
    await talk.compact()
    assert "Read file (read_file) with path src/main.py." in (await talk.tree())[-1].content


LANDMARKS = {
    "Decision: we use Postgres.": "decision",
    "**Spec**: ids are UUIDs": "spec",
    "question: v4 or v7?": "question",
    "~~~\n" + "x\n" * 20 + "~~~": "code",
    "@bob please review it": "action",
    "as in https://x.org/rfc7": "link",
    "the code is 4711 !pin": "pin",
    "Agreed, no deploys on Fridays.": "decision",
    "We won’t use Kafka.": "decision",
    "Legal approved version 3.2 of the terms.": "decision",
    "I'll write the postmortem by Thursday.": "action",
    "Fine. Karl, please send the draft by Friday.": "action",
}


async def test_landmarks_are_found_in_what_is_appended_once(talk):
    receipts = await talk.say(*(Draft("user", text) for text in LANDMARKS), Draft("user", "nothing here"))
    assert await find_landmarks(talk.tasks, talk.whole, talk.place.conversation_id) == len(LANDMARKS)
    found = await talk.landmarks.list(talk.whole, None, None, 50)
    assert {(one.kind, one.message) for one in found} == set(
        zip(LANDMARKS.values(), (receipt.id for receipt in receipts[:-1]), strict=True)
    )
    assert await find_landmarks(talk.tasks, talk.whole, talk.place.conversation_id) == 0


async def test_a_secret_is_in_no_summary_and_no_landmark(talk):
    said = "Decision: the import runs with postgresql://atlas:Tr0ub4dor@db/main and the pump P-7."
    await talk.say(Draft("user", said, created_at=START), *facts(4))
    await talk.compact()
    await find_landmarks(talk.tasks, talk.whole, talk.place.conversation_id)
    tree = await talk.tree()
    assert tree
    assert not [one for one in tree if "Tr0ub4dor" in f"{one.content} {one.key_decisions} {one.entities_mentioned}"]
    assert any("postgresql://atlas:[secret]@db/main" in str(one.key_decisions) for one in tree)
    assert await talk.landmarks.list(talk.whole, None, None, 50) == []


async def test_an_unpinned_landmark_stays_unpinned_and_can_be_pinned_again(talk, owner):
    (receipt,) = await talk.say(Draft("user", "Decision: tabs."))
    await find_landmarks(talk.tasks, talk.whole, talk.place.conversation_id)
    (found,) = await talk.landmarks.list(talk.whole, None, None, 50)
    opened = grant(talk.viewer, talk.place)
    assert await talk.landmarks.unpin(opened, found.id, "ann")
    assert not await talk.landmarks.unpin(opened, found.id, "ann")
    assert await talk.landmarks.list(talk.whole, None, None, 50) == []
    await talk.tasks.store_landmarks(talk.whole, talk.place.conversation_id, 1, [found])
    assert await talk.landmarks.list(talk.whole, None, None, 50) == []
    id_, outcome = await talk.landmarks.pin(opened, talk.place, receipt.id, "decision", "tabs", "bob")
    assert outcome == "pinned"
    assert (await talk.landmarks.get(opened, id_)).text == "tabs"
    history = owner.execute(
        "SELECT content, unpinned_by FROM landmarks WHERE tenant_id = %s ORDER BY id", (talk.tenant.id,)
    )
    assert history.fetchall() == [("Decision: tabs.", "ann"), ("tabs", None)]


async def test_only_words_of_the_message_can_be_pinned(talk):
    (receipt,) = await talk.say(Draft("user", "We use tabs."))
    opened = grant(talk.viewer, talk.place)
    for message, text, expected in (
        (uuid4(), None, "no message"), (receipt.id, "spaces", "other words"), (receipt.id, None, "pinned"),
        (receipt.id, None, "pinned before"),
    ):  # fmt: skip
        assert (await talk.landmarks.pin(opened, talk.place, message, "pin", text, None))[1] == expected


async def test_an_append_that_fails_leaves_no_task_behind(talk, owner):
    with pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(
            """
            INSERT INTO messages (tenant_id, id, conversation_id, seq, run_id, visibility, role, content, attachments,
                metadata, created_at)
            SELECT tenant_id, gen_random_uuid(), id, 1, run_id, visibility, 'nobody', '!pin', '[]', '{}', now()
            FROM conversations WHERE id = %s
            """,
            (talk.place.conversation_id,),
        )
    for table in ("outbox", "compactions"):
        rows = owner.execute(f"SELECT count(*) FROM {table} WHERE conversation_id = %s", (talk.place.conversation_id,))
        assert rows.fetchone() == (0,)
