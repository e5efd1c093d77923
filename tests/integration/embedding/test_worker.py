"""The worker on a real database: every entry gets its vectors, once, whatever goes wrong."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from keepword import transcript
from keepword.access import Grant, Viewer, grant
from keepword.embedding import TextIndexer
from keepword.embedding.chunk import split_all
from keepword.embedding.ports import Space
from keepword.embedding.worker import Worker, WorkerTiming
from keepword.errors import InvalidInput, Unavailable
from keepword.model import Draft
from keepword.postgres import backlog as adapter
from keepword.postgres import migrate
from keepword.postgres.backlog import PostgresBacklog, PostgresTexts
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from patience import HANG_SECONDS, PATIENT, stretched

pytestmark = pytest.mark.anyio

READER = TextIndexer()
QUICK = WorkerTiming(
    settle_pause_seconds=0, sweep_seconds=0.1, retry_seconds=0.01, trouble_seconds=0.01, max_trouble_seconds=1
)
DEEP = "minilm-conversation-v1"


class Fake:
    """An embedder whose vectors tell the text's length, and that fails on demand."""

    chunk_tokens = 50

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.sizes: list[int] = []
        self.down = 0
        self.slow_seconds = 0.0

    async def split(self, texts):
        return split_all(texts, self.chunk_tokens, self.count_tokens)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def space(self) -> Space:
        return Space(DEEP, 384)

    async def embed(self, texts):
        if self.down:
            self.down -= 1
            raise Unavailable("the endpoint is away")
        self.sizes.append(len(texts))
        await asyncio.sleep(self.slow_seconds * len(texts))
        if any("poison" in text for text in texts):
            raise InvalidInput("this text is refused")
        self.seen.update(texts)
        return [np.eye(384, dtype=np.float32)[len(text) % 384] for text in texts]

    async def embed_query(self, text):
        (vector,) = await self.embed([text])
        return vector

    async def close(self) -> None:
        return


class Meter:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def embedded(self, _: str, texts: int) -> None:
        self.counts["embedded"] += texts

    def failed(self, _: str, entries: int) -> None:
        self.counts["failed"] += entries


@pytest.fixture(scope="module")
def template(make_database):
    made = make_database()
    migrate.migrate(made)
    return conninfo_to_dict(made)["dbname"]


@pytest.fixture
def conninfo(cluster, template):
    """Workers take what they find in a database: each test has its own."""
    name = f"db_{uuid4().hex}"
    with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
        conn.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return make_conninfo(cluster.conninfo, dbname=name)


@pytest.fixture
def owner(conninfo):
    with migrate.owner(conninfo) as conn:
        yield conn


@pytest.fixture
def store(pool, conninfo):
    return PostgresBacklog(pool, conninfo)


@pytest.fixture
def say(pool, make_tenant):
    """Append messages to a session of a tenant of its own; the answer is the tenant."""
    lookup, conversations, messages = PostgresPlaceLookup(pool), PostgresConversations(pool), PostgresTranscript(pool)

    async def say(*drafts, tenant=None):
        tenant = tenant or make_tenant()
        viewer = Viewer(tenant.id, "admin")
        name = uuid4().hex
        await transcript.put(lookup, conversations, viewer, name, NewConversation("session"))
        place = await lookup.place(tenant.id, name)
        drafts = [Draft("assistant", draft) if isinstance(draft, str) else draft for draft in drafts]
        await transcript.append(messages, READER, grant(viewer, place), viewer, place, drafts)
        return tenant

    return say


@contextlib.asynccontextmanager
async def working(store, *embedders, meter=None, timing=QUICK):
    task = asyncio.create_task(Worker(store, embedders, meter or Meter(), timing).run())
    try:
        yield task
    finally:
        task.cancel()
        started = time.monotonic()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < stretched(1)


async def until(condition, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)


def empty(owner):
    return lambda: owner.execute("SELECT count(*) FROM backlog").fetchone() == (0,)


def vectors(owner, space=DEEP):
    return owner.execute(
        "SELECT v.entry_id, v.part FROM vectors v JOIN spaces s ON s.id = v.space_id WHERE s.name = %s ORDER BY 1, 2",
        (space,),
    ).fetchall()


async def test_entries_are_settled_and_embedded_as_they_were_indexed(store, say, owner):
    long = "\n".join(f"Sentence {number} of a long answer that goes on." for number in range(30))
    tool = Draft("tool", "", tool_name="search", tool_args={"query": "harbour"}, tool_result="opens at nine")
    tenant = await say("Short.", long, tool, "=" * 400)
    embedder, meter = Fake(), Meter()
    async with working(store, embedder, meter=meter):
        await until(lambda: empty(owner)() and meter.counts["embedded"] == len(vectors(owner)))
    entries = owner.execute("SELECT id, searchable, kind FROM entries ORDER BY id").fetchall()
    searchable = [entry for entry, is_searchable, _ in entries if is_searchable]
    assert len(entries) == 4
    assert {entry for entry, _ in vectors(owner)} == set(searchable)
    assert {entry for entry, _ in vectors(owner, "instant-v1")} == set(searchable)
    assert "default: Short." in embedder.seen
    assert 'default: search\n{"query": "harbour"}\nopens at nine' in embedder.seen
    parts = [part for entry, part in vectors(owner) if entry == searchable[1]]
    assert parts == list(range(len(parts)))
    assert len(parts) > 3
    assert meter.counts["failed"] == 0
    assert owner.execute("SELECT entries FROM entry_counts WHERE tenant_id = %s", (tenant.id,)).fetchone() == (3,)
    assert owner.execute("SELECT count(*) > 5 FROM document_frequencies").fetchone() == (True,)


class Timed(PostgresBacklog):
    """A store that notes when it settled entries, from when to when, and how often it flushed their words."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.settled: list[tuple[float, float]] = []
        self.looks = 0
        self.flushes = 0

    async def settle(self, amount):
        self.looks += 1
        began = time.monotonic()
        settled = await super().settle(amount)
        self.settled += [(began, time.monotonic())] if settled == amount else []
        return settled

    async def flush(self):
        self.flushes += 1
        await super().flush()


@pytest.fixture
def importing(owner):
    """Let a history be imported into a tenant."""

    def importing(tenant):
        owner.execute(
            "INSERT INTO history_imports (tenant_id, kind, file, options, state, lease, lease_until, key_id)"
            " VALUES (%s, 'chatgpt', 'c.json', '{}', 'running', gen_random_uuid(), now() + interval '1 hour', 'none')",
            (tenant.id,),
        )

    return importing


async def test_the_instant_index_leaves_the_processor_to_an_import(pool, conninfo, say, importing):
    importing(await say(*[f"message {number}" for number in range(6)]))
    store = Timed(pool, conninfo)
    async with working(store, timing=replace(QUICK, settle_amount=2, import_share=0.1, flush_seconds=0.005)):
        await until(lambda: len(store.settled) == 3)
    for (began, ended), (next_began, _) in pairwise(store.settled):
        assert next_began - ended >= 9 * (ended - began)
    # after each batch, and more often in the pauses
    assert store.flushes > 3


async def test_an_import_wakes_no_worker(pool, conninfo, say, owner, importing):
    importing(await say("message"))
    store, is_asleep = Timed(pool, conninfo), "SELECT is_asleep FROM worker_wakeups WHERE name = 'entries'"
    async with working(store, Fake()):
        await until(lambda: store.looks >= 5)
        # it looked again and again, and never asked for a notification
        assert owner.execute(is_asleep).fetchone() == (False,)
        owner.execute("UPDATE history_imports SET state = 'done', lease = NULL, lease_until = NULL")
        await until(lambda: owner.execute(is_asleep).fetchone() == (True,))


async def test_what_is_appended_while_it_sleeps_wakes_it(store, say, owner):
    async with working(store, Fake(), timing=WorkerTiming(sweep_seconds=60)):
        await until(lambda: owner.execute("SELECT is_asleep FROM worker_wakeups").fetchone() == (True,))
        await asyncio.sleep(0.3)  # the last look before the wait
        for _ in range(3):
            started = time.monotonic()
            await say("Hello.")
            await until(empty(owner))
            assert time.monotonic() - started < stretched(5)


async def test_it_listens_again_when_its_connection_was_cut(store, say, owner, conninfo):
    listener = "SELECT pid FROM pg_stat_activity WHERE application_name = 'keepword listener'"
    async with working(store, Fake(), timing=WorkerTiming(sweep_seconds=60, trouble_seconds=0.1)):
        await until(lambda: owner.execute(listener).fetchone() is not None)
        (old,) = owner.execute(listener).fetchone()
        with psycopg.connect(conninfo, autocommit=True) as superuser:
            superuser.execute("SELECT pg_terminate_backend(%s)", (old,))
        await until(lambda: owner.execute(listener).fetchone() not in {None, (old,)})
        await until(lambda: owner.execute("SELECT is_asleep FROM worker_wakeups").fetchone() == (True,))
        await asyncio.sleep(0.3)  # the last look before the wait
        started = time.monotonic()
        await say("Hello.")
        await until(empty(owner))
        assert time.monotonic() - started < stretched(5)


async def test_newest_first_within_a_tenant(store, say, owner, tenant):
    for number in range(6):
        await say(f"message {number}", tenant=tenant)
    (space,) = owner.execute("SELECT id FROM spaces WHERE name = %s", (DEEP,)).fetchone()
    claimed = [claim.entry_id for _ in range(3) for claim in await store.claim(space, 2, 60)]
    assert [max(claimed[i : i + 2]) for i in (0, 2, 4)] == sorted(claimed, reverse=True)[::2]
    assert await store.claim(space, 2, 60) == []


async def test_slow_texts_are_claimed_few_at_a_time(store, say, owner):
    await say(*[f"message {number}" for number in range(80)])
    embedder = Fake()
    embedder.slow_seconds = 0.02
    async with working(store, embedder, timing=replace(QUICK, claim_seconds=0.1)):
        await until(empty(owner))
    assert embedder.sizes[:2] == [32, 32]
    assert max(embedder.sizes[2:]) <= 6


async def test_an_outage_is_outlasted_and_fails_few(store, say, owner):
    await say(*[f"message {number}" for number in range(40)])
    embedder, meter = Fake(), Meter()
    embedder.down = 3
    async with working(store, embedder, meter=meter):
        await until(lambda: meter.counts["embedded"] == 40)
    assert len(vectors(owner)) == 40
    assert meter.counts["failed"] > 0


async def test_after_three_attempts_an_entry_is_failed_and_shown_and_the_others_are_embedded(store, say, owner):
    await say("one", "poison", "three")
    meter = Meter()

    def settled():
        return owner.execute("SELECT count(*) FROM backlog WHERE NOT failed").fetchone() == (0,)

    async with working(store, Fake(), meter=meter):
        await until(settled)
        await asyncio.sleep(0.3)
    rows = owner.execute("SELECT attempts, failed, error FROM backlog").fetchall()
    assert rows == [(3, True, "this text is refused")]
    assert meter.counts == {"embedded": 2, "failed": 3}
    assert [(depth.waiting, depth.failed) for depth in await store.depths()] == [(0, 0), (0, 1)]
    assert adapter.failures(owner) == [(DEEP, "this text is refused", 1)]
    (space,) = owner.execute("SELECT id FROM spaces WHERE name = %s", (DEEP,)).fetchone()
    assert adapter.queue_missing(owner, space) == 1
    assert await store.failed(DEEP) == 0
    assert await store.waiting(DEEP) == 1


async def test_two_workers_embed_each_entry_once(store, say, owner, conninfo):
    other = Pool(conninfo, PATIENT)
    await other.open()
    embedders = [Fake(), Fake()]
    for embedder in embedders:
        embedder.slow_seconds = 0.01
    await say(*[f"message {number}" for number in range(200)])
    async with (
        working(store, embedders[0], timing=WorkerTiming(claim_amount=5, sweep_seconds=0.1)),
        working(PostgresBacklog(other, conninfo), embedders[1], timing=WorkerTiming(claim_amount=5, sweep_seconds=0.1)),
    ):
        await until(empty(owner))
    await other.close()
    together = embedders[0].seen + embedders[1].seen
    assert len(together) == 200
    assert set(together.values()) == {1}
    assert embedders[0].seen
    assert embedders[1].seen
    assert len(vectors(owner)) == 200


async def test_claims_of_a_worker_that_was_killed_are_done_by_the_next(store, say, owner):
    await say("one", "two")
    (space,) = owner.execute("SELECT id FROM spaces WHERE name = %s", (DEEP,)).fetchone()
    assert len(await store.claim(space, 10, 0.5)) == 2  # and nothing comes of it
    async with working(store, Fake()):
        await until(empty(owner))
    assert len(vectors(owner)) == 2


async def test_a_worker_that_stops_gives_its_claims_back(store, say, owner):
    await say("one", "two")
    embedder = Fake()
    embedder.slow_seconds = 60
    async with working(store, embedder):
        await until(lambda: owner.execute("SELECT sum(attempts) FROM backlog").fetchone() == (2,))
    # those of the instant space may still be there: they are settled by another step
    rows = owner.execute(
        "SELECT b.attempts, b.due_at <= now() FROM backlog b JOIN spaces s ON s.id = b.space_id WHERE s.name = %s",
        (DEEP,),
    ).fetchall()
    assert rows == [(0, True)] * 2


async def test_it_stops_at_any_moment_and_leaves_no_claim_behind(store, say, owner):
    await say(*[f"message {number}" for number in range(30)])
    chance = random.Random()
    for _ in range(25):
        embedder = Fake()
        embedder.slow_seconds = 0.01
        async with working(store, embedder):
            await say("one more")
            await asyncio.sleep(chance.uniform(0, 0.1))
        assert owner.execute("SELECT count(*) FROM backlog WHERE due_at > now()").fetchone() == (0,)


async def test_settling_goes_on_while_the_model_is_busy(store, say, owner):
    embedder = Fake()
    embedder.slow_seconds = 60
    async with working(store, embedder):
        await say("one")
        await until(lambda: len(vectors(owner, "instant-v1")) == 1)
        await say("two")
        await until(lambda: len(vectors(owner, "instant-v1")) == 2)
    assert vectors(owner) == []


async def test_it_survives_the_loss_of_all_its_connections(store, say, owner, conninfo):
    async with working(store, Fake()):
        await say("one")
        await until(empty(owner))
        with psycopg.connect(conninfo, autocommit=True) as superuser:
            superuser.execute(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'keepword%'"""
            )
        await asyncio.sleep(0.1)
        for _ in range(20):
            with contextlib.suppress(Unavailable):
                await say("two")
                break
        await until(empty(owner))
    assert len(vectors(owner)) == 2


async def test_texts_are_read_under_a_grant(pool, say, owner):
    tenant = await say("for this tenant's owner")
    (entry,) = owner.execute("SELECT id FROM entries").fetchone()
    texts = PostgresTexts(pool)
    assert await texts.read(Grant(tenant.id, everything=True), [entry]) == {entry: "default: for this tenant's owner"}
    assert await texts.read(Grant(tenant.id), [entry]) == {}
    assert await texts.read(Grant(uuid4(), everything=True), [entry]) == {}


async def test_a_new_space_is_filled_while_the_old_serves_and_then_switched(store, say, owner):
    await say("one", "two")
    space = Space("other/Model:1-3", 3)
    number = await store.open(space)
    assert await store.open(space) == number
    assert await store.serving() == DEEP
    await say("three")  # queued for both
    assert await store.waiting(space.name) == 1
    assert adapter.queue_missing(owner, number) == 2
    assert adapter.queue_missing(owner, number) == 0

    class Small(Fake):
        async def space(self):
            return space

        async def embed(self, texts):
            return [np.eye(3, dtype=np.float32)[0] for _ in texts]

    async with working(store, Small(), Fake()):
        await until(empty(owner))
    assert len(vectors(owner, space.name)) == len(vectors(owner)) == 3
    adapter.serve_space(owner, number)
    assert await store.serving() == space.name
    await say("four")  # the old space is retired
    assert await store.waiting(DEEP) == 0
    assert await store.waiting(space.name) == 1
    index = owner.execute("SELECT indexdef FROM pg_indexes WHERE indexname LIKE %s", ("vectors%other%",)).fetchone()
    assert "hnsw" in index[0]
    assert "halfvec(3)" in index[0]


async def test_in_an_empty_database_a_new_space_serves_at_once(store):
    await store.open(Space("first-8", 8))
    assert await store.serving() == "first-8"
