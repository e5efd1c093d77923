"""How compaction and its jobs stand, as the tenant's owner is told."""

from datetime import UTC, datetime, timedelta

import pytest

from keepword import transcript
from keepword.access import Viewer, everything_in, grant
from keepword.compaction.compact import Compactor
from keepword.compaction.plan import CompactionPolicy
from keepword.embedding import TextIndexer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.stats import PostgresCounts
from keepword.postgres.summaries import PostgresSummaries
from keepword.postgres.transcript import PostgresTranscript
from keepword.stats import StatsReader
from keepword.transcript import NewConversation

pytestmark = pytest.mark.anyio

READER = TextIndexer()
LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture
async def place(pool, tenant):
    """Return a conversation of three messages, of which none is summarised and one is a tool call."""
    viewer, lookup = Viewer(tenant.id, "admin"), PostgresPlaceLookup(pool)
    await transcript.put(lookup, PostgresConversations(pool), viewer, "talk", NewConversation())
    found = await lookup.place(tenant.id, "talk")
    drafts = [Draft("user", "One."), Draft("user", "Two."), Draft("assistant", tool_name="ls", tool_args={})]
    await transcript.append(PostgresTranscript(pool), READER, grant(viewer, found), viewer, found, drafts)
    return found


async def report(pool, tenant):
    return await StatsReader(PostgresCounts(pool)).report(everything_in(tenant.id))


async def test_what_is_not_summarised_yet_is_counted_and_then_how_deep_the_tree_is(pool, tenant, place):
    before = await report(pool, tenant)
    assert before.compaction["unsummarised_messages"] == 3
    assert before.compaction["unsummarised_conversations"] == 1
    assert before.compaction["depth"] == 0
    assert before.queues["describe"]["pending"] == before.queues["compact"]["pending"] == 1
    whole = everything_in(tenant.id)
    compactor = Compactor(PostgresSummaries(pool, READER), None, CompactionPolicy(window_messages=5, tail_messages=2))
    assert await compactor.compact(whole, place.conversation_id, LATER) == 1
    after = await report(pool, tenant)
    assert after.compaction == {
        "unsummarised_messages": 0, "unsummarised_conversations": 0, "threads": 1, "sessions": 0, "days": 0, "weeks": 0,
        "stored": 0, "quoted": 1, "refused": 0, "depth": 1,
    }  # fmt: skip
    assert after.census == {"message": 3, "summary": 1}
    assert after.alerts == ()


async def test_failed_and_dead_jobs_are_alerts_of_their_own_tenant_alone(pool, make_tenant, conninfo):
    mine, other = make_tenant(), make_tenant()
    with migrate.owner(conninfo) as owner:
        for status in ("failed", "doing", "todo"):
            owner.execute(
                """
                INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args, status) VALUES
                ('keepword', 'compact', gen_random_uuid()::text, jsonb_build_object('tenant_id', %s::text), %s)
                """,
                (mine.id, status),
            )
        owner.execute("SELECT note_job(%s, %s, 'compact', 'ModelAway: no answer')", (mine.id, mine.id))
        found = await report(pool, mine)
        assert found.queues["compact"]["failed"] == found.queues["compact"]["dead"] == 1
        assert found.queues["compact"]["waiting"] == 1
        assert any("ModelAway: no answer" in alert and "retry-failed" in alert for alert in found.alerts)
        assert any("worker that is gone" in alert for alert in found.alerts)
        assert (await report(pool, other)).alerts == ()
        owner.execute("DELETE FROM procrastinate_jobs")


async def test_in_a_place_only_what_may_be_read_is_counted(pool, tenant, place):
    opened = grant(Viewer(tenant.id, "admin"), place)
    found = await StatsReader(PostgresCounts(pool)).report(opened)
    assert (found.queues, found.compaction, found.coverage) == ({}, {}, {})
    assert found.census == {"message": 3}
