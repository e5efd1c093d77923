"""Jobs on a real queue: what is said is worked off, failures are kept and retried, dead workers' jobs taken over."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from keepword import transcript
from keepword.access import Grant, Viewer, grant
from keepword.compaction.compact import Compactor
from keepword.compaction.plan import CompactionPolicy
from keepword.compaction.sources import PIPELINE_VERSION
from keepword.embedding import TextIndexer
from keepword.jobs import worker
from keepword.jobs.reading_process import ReadingProcess
from keepword.jobs.worker import JobHandlers
from keepword.llm.port import Answer
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.queue import PostgresQueue, backfill_sentences, connector, queue_status, recompact, retry_failed
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation
from patience import HANG_SECONDS, PATIENT, stretched

pytestmark = pytest.mark.anyio

READER = TextIndexer()

PACE = CompactionPolicy(window_messages=5, tail_messages=2)
SAID = [
    Draft("user", "Decision: we use Postgres."),
    Draft("assistant", tool_name="read_file", tool_args={"path": "a.py"}),
    *(Draft("user", f"Fact number {n}.") for n in range(20)),
]


@pytest.fixture(scope="module")
def jobs_conninfo(make_database):
    """Return a database of its own: the queue is shared by all tenants of one."""
    made = make_database()
    migrate.migrate(made)
    return made


@pytest.fixture
def owner(jobs_conninfo):
    with migrate.owner(jobs_conninfo) as conn:
        yield conn


@pytest.fixture
async def jobs_pool(jobs_conninfo):
    made = Pool(jobs_conninfo, PATIENT)
    await made.open()
    yield made
    await made.close()


class Bench:
    def __init__(self, pool, conninfo, tenant_id):
        self.conninfo, self.pool = conninfo, pool
        self.viewer, self.whole = Viewer(tenant_id, "admin"), Grant(tenant_id, everything=True)
        self.now = datetime.now(UTC)
        self.summaries = PostgresSummaries(pool, READER)
        self.work = JobHandlers(
            Compactor(self.summaries, None, PACE),
            PostgresTasks(pool, READER),
            PostgresQueue(pool),
            None,
            lambda: self.now,
        )

    async def say(self, *drafts):
        name = uuid4().hex
        lookup = PostgresPlaceLookup(self.pool)
        await transcript.put(lookup, PostgresConversations(self.pool), self.viewer, name, NewConversation())
        place = await lookup.place(self.viewer.tenant_id, name)
        await self.say_more(place, *drafts)
        return place

    async def say_more(self, place, *drafts):
        await transcript.append(
            PostgresTranscript(self.pool), READER, grant(self.viewer, place), self.viewer, place, drafts
        )

    async def run(self, work=None):
        await worker.run_until_idle(connector(self.conninfo, 4), work or self.work, 2)

    async def tiers(self, place):
        return {one.tier for one in await self.summaries.tree(self.whole, place)}


@pytest.fixture
async def bench(jobs_pool, jobs_conninfo, owner):
    row = owner.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (uuid4().hex,)).fetchone()
    yield Bench(jobs_pool, jobs_conninfo, row[0])
    owner.execute("DELETE FROM procrastinate_jobs")
    owner.execute("DELETE FROM compactions")
    owner.execute("DELETE FROM outbox")


def jobs(owner):
    return owner.execute("SELECT task_name, status::text, attempts FROM procrastinate_jobs ORDER BY id").fetchall()


async def test_what_is_said_is_worked_off_and_leaves_no_job_behind(bench, owner):
    place = await bench.say(*SAID)
    await bench.run()
    assert await bench.tiers(place) == {"thread"}
    assert await bench.summaries.sentences(bench.whole, place.conversation_id, 1, 99) == {
        2: "Read file (read_file) with path a.py."
    }
    assert [one.kind for one in await PostgresLandmarks(bench.pool, READER).list(bench.whole, None, None, 9)] == [
        "decision"
    ]
    bench.now += timedelta(hours=2)
    await bench.run()
    assert await bench.tiers(place) == {"thread", "session"}
    bench.now += timedelta(days=8)
    await bench.run()
    # there is one session, and nothing that a day or a week could join it with
    assert await bench.tiers(place) == {"thread", "session"}
    assert jobs(owner) == []
    assert await bench.work.sweep() == 0


async def test_a_job_is_enqueued_once_however_often_anybody_asks(bench, owner):
    await bench.say(*SAID)
    await asyncio.gather(*(bench.work.sweep() for _ in range(5)))
    assert sorted(name for name, _, _ in jobs(owner)) == ["compact", "describe", "landmark"]


class Broken:
    name, context_tokens = "broken", 8000

    async def ask(self, prompt):
        raise RuntimeError(f"a fault of ours in {prompt.text[:4]}")


async def test_a_job_that_fails_three_times_keeps_its_error_and_runs_again_when_told(bench, owner, monkeypatch):
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0)
    place = await bench.say(SAID[1])
    await bench.run(replace(bench.work, tool_model=Broken()))
    assert ("describe", "failed", 3) in jobs(owner)
    (line,) = [line for line in queue_status(owner) if line.task == "describe"]
    assert (line.pending, line.failed, line.last_error) == (1, 1, "RuntimeError: a fault of ours in tool")
    assert line.oldest is not None
    assert await bench.work.sweep() == 0
    assert retry_failed(owner, "compact", None, dry_run=True) == 0
    assert retry_failed(owner, None, "no such error", dry_run=False) == 0
    assert retry_failed(owner, "describe", "FAULT OF OURS", dry_run=True) == 1
    assert retry_failed(owner, "describe", "FAULT OF OURS", dry_run=False) == 1
    async with worker.make_app(connector(bench.conninfo, 4), bench.work).open_async() as app:
        await app.run_worker_async(wait=False, **worker._options(1))
    assert await bench.summaries.sentences(bench.whole, place.conversation_id, 1, 9) != {}
    (line,) = [line for line in queue_status(owner) if line.task == "describe"]
    assert (line.pending, line.failed, line.last_error) == (0, 0, None)


class Choosy:
    """A model that fails for one tool, in a way that nobody foresaw."""

    name, context_tokens = "choosy", 8000

    async def ask(self, prompt):
        if "poison" in prompt.text:
            raise RuntimeError("a fault of ours")
        return Answer(f"Called {prompt.text.split()[1]} once.", self.name)


def call(tool):
    return Draft("assistant", "", tool_name=tool, tool_args={"path": "a.py"})


async def test_a_tool_call_that_fails_keeps_no_other_from_its_sentence(bench, owner, monkeypatch):
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0)
    work = replace(bench.work, tool_model=Choosy())

    async def described():
        found = await bench.summaries.sentences(bench.whole, place.conversation_id, 1, 99)
        (line,) = [line for line in queue_status(owner) if line.task == "describe"]
        return found, (line.pending, line.failed, line.last_error)

    place = await bench.say(call("first"), call("poison"), call("third"))
    await bench.run(work)
    sentences, line = await described()
    assert sentences == {1: "Called first once.", 3: "Called third once."}
    assert line == (1, 1, "RuntimeError: a fault of ours")
    # what comes after the job has failed for good is described as well, and what failed stays shown
    await bench.say_more(place, call("fourth"))
    await bench.run(work)
    sentences, line = await described()
    assert sentences.keys() == {1, 3, 4}
    assert line == (1, 1, "RuntimeError: a fault of ours")
    # a second one that fails makes a second failed job; one retry does the work of both
    await bench.say_more(place, call("poison"), call("sixth"))
    await bench.run(work)
    sentences, line = await described()
    assert sentences.keys() == {1, 3, 4, 6}
    assert line == (2, 2, "RuntimeError: a fault of ours")
    assert await work.sweep() == 0
    assert retry_failed(owner, "describe", None, dry_run=False) == 1
    await bench.run()
    sentences, line = await described()
    assert sentences.keys() == {1, 2, 3, 4, 5, 6}
    assert line == (0, 0, None)


async def test_the_job_of_a_worker_that_died_is_taken_over(bench, owner):
    place = await bench.say(*SAID)
    await bench.work.sweep()
    dead = owner.execute(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
    ).fetchone()[0]
    owner.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (dead,))
    await bench.work.sweep()
    assert {status for _, status, _ in jobs(owner)} == {"todo"}
    await bench.run()
    assert "thread" in await bench.tiers(place)


async def test_a_living_workers_job_is_left_to_it(bench, owner):
    await bench.say(*SAID)
    await bench.work.sweep()
    alive = owner.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id").fetchone()[0]
    owner.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (alive,))
    assert await bench.work.sweep() == 0
    assert {status for _, status, _ in jobs(owner)} == {"doing"}


async def test_backfill_notes_each_tool_call_without_a_sentence_once(bench, owner):
    await bench.say(SAID[1], SAID[1], SAID[0])
    owner.execute("DELETE FROM outbox")
    before = backfill_sentences(owner, dry_run=True)
    assert before >= 2
    assert backfill_sentences(owner, dry_run=False) == before
    assert backfill_sentences(owner, dry_run=False) == 0
    await bench.run()
    assert backfill_sentences(owner, dry_run=True) == 0


async def test_a_worker_works_until_it_is_cancelled(bench):
    place = await bench.say(*SAID)
    running = asyncio.create_task(worker.run(bench.pool.open, lambda: connector(bench.conninfo, 4), bench.work, 2))
    async with asyncio.timeout(HANG_SECONDS):
        while not await bench.tiers(place):  # noqa: ASYNC110 - another connection does the work
            await asyncio.sleep(0.05)
    running.cancel()
    async with asyncio.timeout(stretched(5)):
        await asyncio.gather(running, return_exceptions=True)


class Hanging:
    name, context_tokens = "hanging", 8000

    def __init__(self):
        self.asked = asyncio.Event()

    async def ask(self, _):
        self.asked.set()
        await asyncio.Event().wait()


async def test_a_job_that_a_stop_interrupts_is_done_by_the_next_worker(bench, owner):
    place = await bench.say(SAID[1])
    model = Hanging()
    work = replace(bench.work, tool_model=model)
    running = asyncio.create_task(worker.run(bench.pool.open, lambda: connector(bench.conninfo, 4), work, 2))
    async with asyncio.timeout(HANG_SECONDS):
        await model.asked.wait()
    running.cancel()
    async with asyncio.timeout(stretched(5)):
        await asyncio.gather(running, return_exceptions=True)
    assert {status for _, status, _ in jobs(owner)} == {"todo"}
    await bench.run()
    assert await bench.summaries.sentences(bench.whole, place.conversation_id, 1, 9) != {}


async def test_old_summaries_are_made_anew_by_jobs_when_somebody_asks_for_it(bench, owner):
    place = await bench.say(*SAID)
    bench.now += timedelta(days=8)
    await bench.run()
    old = await bench.summaries.tree(bench.whole, place)
    assert recompact(owner, PIPELINE_VERSION, dry_run=True) == 0
    renewed = replace(bench.work, compactor=replace(bench.work.compactor, version=PIPELINE_VERSION + 1))
    # the other tests' conversations are in the same database
    outdated = recompact(owner, PIPELINE_VERSION + 1, dry_run=True)
    await bench.run(renewed)
    assert await bench.summaries.tree(bench.whole, place) == old
    assert recompact(owner, PIPELINE_VERSION + 1, dry_run=False) == outdated
    waiting = {line.task: line.pending for line in queue_status(owner)}
    assert waiting["recompact"] == outdated
    await bench.run(renewed)
    new = await bench.summaries.tree(bench.whole, place)
    assert {one.pipeline_version for one in new} == {PIPELINE_VERSION + 1}
    assert len(new) == len(old)
    assert jobs(owner) == []
    assert recompact(owner, PIPELINE_VERSION + 1, dry_run=True) == 0


async def test_a_job_whose_text_takes_for_ever_fails_at_once_and_the_others_go_on(bench, owner):
    poison = Draft("user", "decision: poison")
    await bench.say(poison)
    await bench.say(Draft("user", "decision: we ship on Friday"))
    reading = ReadingProcess(call_seconds=0.3)

    async def run(do, /, *args, **more):
        if "poison" in str(args):
            # as if there were a text that a pattern of ours backtracks on for ever
            return await reading(re.match, r"(a+)+$", "a" * 64 + "!")
        return await reading(do, *args, **more)

    try:
        await bench.run(replace(bench.work, run=run, compactor=replace(bench.work.compactor, run=run)))
    finally:
        reading.close()
    assert ("landmark", "failed", 1) in jobs(owner)
    (line,) = [line for line in queue_status(owner) if line.task == "landmark"]
    assert line.failed == 1
    assert line.last_error.startswith("WorkStopped: match took more than 0 s of processor time")
    found = await PostgresLandmarks(bench.pool, READER).list(bench.whole, None, None, 9)
    assert [one.kind for one in found] == ["decision"]
