"""In the background tenants take turns: one tenant's flood does not stand in front of everybody's work."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from keepword import transcript
from keepword.access import Viewer, grant
from keepword.access.place import Place
from keepword.embedding import TextIndexer
from keepword.embedding.ports import Claim
from keepword.model import Draft
from keepword.postgres.backlog import PostgresBacklog
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.queue import PostgresQueue
from keepword.postgres.quotas import PostgresQuotas, Quotas
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from patience import PATIENT

pytestmark = pytest.mark.anyio


@pytest.fixture
async def own_pool(make_migrated_database):
    conninfo = make_migrated_database()
    made = Pool(conninfo, PATIENT)
    await made.open()
    yield made, conninfo
    await made.close()


def new_tenant(conninfo: str) -> UUID:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        row = conn.execute("INSERT INTO keepword.tenants (name) VALUES (%s) RETURNING id", (uuid4().hex,)).fetchone()
    return row[0]


async def say(pool: Pool, tenant: UUID, count: int) -> None:
    viewer = Viewer(tenant, "admin")
    lookup, conversations = PostgresPlaceLookup(pool), PostgresConversations(pool)
    await transcript.put(lookup, conversations, viewer, "talk", NewConversation())
    place = await lookup.place(tenant, "talk")
    assert isinstance(place, Place)
    drafts = [Draft(role="user", content=f"word {number}") for number in range(count)]
    opened = grant(viewer, place)
    await transcript.append(PostgresTranscript(pool), TextIndexer(), opened, viewer, place, drafts)


async def test_claims_for_the_embedder_are_shared_between_tenants(own_pool):
    pool, conninfo = own_pool
    quiet, loud = new_tenant(conninfo), new_tenant(conninfo)
    await say(pool, quiet, 5)
    await say(pool, loud, 100)  # newer, and many
    backlog = PostgresBacklog(pool, conninfo)
    with psycopg.connect(conninfo) as conn:
        (space,) = conn.execute("SELECT min(id) FROM keepword.spaces WHERE NOT is_instant").fetchone()
    claims = await backlog.claim(space, 10, 60)
    assert [claim.tenant_id for claim in claims].count(quiet) == 5
    assert [claim.tenant_id for claim in claims].count(loud) == 5
    newest = await backlog.claim(space, 10, 60)
    assert {claim.tenant_id for claim in newest} == {loud}
    assert len(newest) == 10
    assert min(claim.entry_id for claim in claims if claim.tenant_id == loud) > max(claim.entry_id for claim in newest)


async def test_each_tenants_first_job_comes_before_anothers_second(own_pool):
    pool, conninfo = own_pool
    loud, quiet = str(uuid4()), str(uuid4())
    insert = """
        INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
        VALUES ('keepword', 'extract', %(lock)s, %(lock)s, jsonb_build_object('tenant_id', %(tenant)s::text))
    """
    with psycopg.connect(conninfo, autocommit=True, options="-c search_path=keepword") as conn:
        for number in range(100):
            conn.execute(insert, {"lock": f"loud {number}", "tenant": loud})
        conn.execute(insert, {"lock": "quiet", "tenant": quiet})
        await PostgresQueue(pool).balance_tenants()
        order = "SELECT lock FROM procrastinate_jobs WHERE status = 'todo' ORDER BY priority DESC, id"
        assert [lock for (lock,) in conn.execute(order)][:3] == ["loud 0", "quiet", "loud 1"]
        assert await PostgresQueue(pool).balance_tenants() == 0


async def test_a_tenant_over_its_own_background_time_is_not_claimed_and_loses_nothing(own_pool):
    pool, conninfo = own_pool
    spent, other = new_tenant(conninfo), new_tenant(conninfo)
    await say(pool, spent, 5)
    await say(pool, other, 5)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        (space,) = conn.execute("SELECT min(id) FROM keepword.spaces WHERE NOT is_instant").fetchone()
        settings = '{"quota_background_seconds": 10}'
        conn.execute("UPDATE keepword.tenants SET settings = settings || %s::jsonb WHERE id = %s", (settings, spent))
        backlog = PostgresBacklog(pool, conninfo, PostgresQuotas(pool, Quotas(), lambda: datetime.now(UTC)))
        await backlog.note_time([Claim(spent, 1)], 11)
        assert {claim.tenant_id for claim in await backlog.claim(space, 100, 60)} == {other}
        conn.execute("UPDATE keepword.tenants SET settings = settings - 'quota_background_seconds'")
    assert {claim.tenant_id for claim in await backlog.claim(space, 100, 60)} == {spent}


async def test_conversations_of_two_tenants_with_the_same_id_have_jobs_of_their_own(own_pool):
    """An archive that is imported under two names makes such ids."""
    pool, conninfo = own_pool
    first, second = new_tenant(conninfo), new_tenant(conninfo)
    conversation = uuid4()
    queue = PostgresQueue(pool)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SET search_path = keepword")
        for tenant in (first, second):
            conn.execute(
                "INSERT INTO conversations (tenant_id, id, external_id, kind, agent) "
                "VALUES (%s, %s, 'talk', 'session', 'ada')",
                (tenant, conversation),
            )
            conn.execute(
                "INSERT INTO outbox (tenant_id, conversation_id, task, seq) VALUES (%s, %s, 'landmark', 1)",
                (tenant, conversation),
            )
        enqueue = (datetime.now(UTC), 50, timedelta(hours=1))
        assert await queue.enqueue(*enqueue) == 2
        assert await queue.enqueue(*enqueue) == 0
        jobs = conn.execute("SELECT args ->> 'tenant_id', lock, queueing_lock FROM procrastinate_jobs").fetchall()
        assert {tenant for tenant, _, _ in jobs} == {str(first), str(second)}
        assert len({lock for _, lock, _ in jobs}) == len({lock for _, _, lock in jobs}) == 2
        # a failed job of one keeps no job of the other from being made
        conn.execute("UPDATE procrastinate_jobs SET status = 'failed' WHERE args ->> 'tenant_id' = %s", (str(first),))
        conn.execute("DELETE FROM procrastinate_jobs WHERE args ->> 'tenant_id' = %s", (str(second),))
        assert await queue.enqueue(*enqueue) == 1


async def test_a_tenants_background_work_waits_for_the_end_of_its_import(own_pool):
    pool, conninfo = own_pool
    importing, other = new_tenant(conninfo), new_tenant(conninfo)
    await say(pool, importing, 60)
    await say(pool, other, 60)
    backlog, queue = PostgresBacklog(pool, conninfo), PostgresQueue(pool)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SET search_path = keepword")
        (space,) = conn.execute("SELECT min(id) FROM spaces WHERE NOT is_instant").fetchone()
        conn.execute(
            "INSERT INTO history_imports (tenant_id, kind, file, options, state, lease, lease_until, key_id)"
            " VALUES (%s, 'chatgpt', 'c.json', '{}', 'running', gen_random_uuid(), now() + interval '1 hour', 'none')",
            [importing],
        )

        async def served() -> tuple[set[UUID], set[UUID]]:
            claims = await backlog.claim(space, 200, 60)
            await queue.enqueue(datetime.now(UTC) + timedelta(hours=1), 40, timedelta(minutes=30))
            await queue.enqueue_exchanges(datetime.now(UTC), timedelta(), timedelta(), 1)
            jobs = conn.execute("SELECT DISTINCT (args ->> 'tenant_id')::uuid FROM procrastinate_jobs").fetchall()
            return {claim.tenant_id for claim in claims}, {tenant for (tenant,) in jobs}

        assert await served() == ({other}, {other})
        # found by words and the instant space meanwhile
        assert await backlog.settle(200) == 120
        assert await backlog.is_importing()
        conn.execute("UPDATE history_imports SET lease_until = now() - interval '1 s'")
        assert await served() == ({importing}, {importing, other})
        assert not await backlog.is_importing()
