"""A worker killed at any moment loses nothing and does nothing twice."""

import os
import random
import time
from collections import Counter
from itertools import cycle

import httpx
import pytest

from keepword.postgres import migrate
from patience import HANG_SECONDS, stretched

# one in each stage; KILLS=20 kills more often. Each has work of its own, so that no stage is over before its turn
KILLS = int(os.environ.get("KILLS", "6"))
TALKS_EACH = 4
TALKS = TALKS_EACH * KILLS
# how far each stage is: what a worker has stored of it
STAGES = {
    "describe": "SELECT count(*) FROM tool_sentences",
    "landmark": "SELECT count(*) FROM landmarks",
    "thread": "SELECT count(*) FROM summaries WHERE tier = 'thread'",
    "session": "SELECT count(*) FROM summaries WHERE tier = 'session'",
    "day": "SELECT count(*) FROM summaries WHERE tier = 'day'",
    "week": "SELECT count(*) FROM summaries WHERE tier = 'week'",
}
_LEFT = """
SELECT (SELECT count(*) FROM messages m WHERE NOT EXISTS (
            SELECT FROM summaries s WHERE s.tenant_id = m.tenant_id AND s.conversation_id = m.conversation_id
                AND m.seq BETWEEN s.leaf_first AND s.leaf_last)),
    (SELECT count(*) FROM summaries WHERE tier <> 'week' AND parent_id IS NULL),
    (SELECT count(*) FROM outbox)
"""
_TWICE = """
SELECT count(*) FROM messages m JOIN summaries a ON a.conversation_id = m.conversation_id
    AND m.seq BETWEEN a.leaf_first AND a.leaf_last
JOIN summaries b ON b.conversation_id = m.conversation_id AND m.seq BETWEEN b.leaf_first AND b.leaf_last AND a.id < b.id
"""


@pytest.fixture
def idle(make_service):
    """Return a service that leaves the jobs to others."""
    return make_service(worker="false").start()


def talk(service, turn):
    with httpx.Client(base_url=service.url, timeout=HANG_SECONDS) as client:
        for number in range(TALKS_EACH):
            path = f"/v1/conversations/talk-{turn}-{number}"
            client.put(path, json={})
            said = [{"role": "user", "content": f"Pump P-{n} runs at {n} bar in Hall {n}."} for n in range(65)]
            said += [{"role": "user", "content": f"Decision: pump P-{n} is sold."} for n in range(5)]
            said += [{"role": "assistant", "tool_name": "set_bar", "tool_args": {"pump": f"P-{n}"}} for n in range(5)]
            # of a week that is over, and of each level more than one, so that every level is due
            said = [message | {"created_at": said_at(n)} for n, message in enumerate(said)]
            client.post(f"{path}/messages", json=said).raise_for_status()
            client.patch(path, json={"active": False})


def said_at(number):
    return f"2026-01-{1 if number < 68 else 2:02}T{12 if number < 60 else 15}:00:00Z"


def wait_for(owner, stage, before):
    """Return once a worker has stored something of a stage, and whether there is still something for it to do."""
    deadline = time.monotonic() + HANG_SECONDS
    while owner.execute(STAGES[stage]).fetchone() == before:
        assert time.monotonic() < deadline, f"no worker came to {stage}"
        time.sleep(0.002)
    time.sleep(random.uniform(0, 0.05))
    return owner.execute(_LEFT).fetchone() != (0, 0, 0)


def test_after_any_number_of_kills_every_message_is_in_one_leaf_and_no_job_is_stuck(idle, make_worker, show):
    hit = Counter()
    with migrate.owner(idle.conninfo) as owner:
        for turn, stage in zip(range(KILLS), cycle(STAGES), strict=False):
            talk(idle, turn)
            before = owner.execute(STAGES[stage]).fetchone()
            worker = make_worker(idle.home)
            hit[stage] += wait_for(owner, stage, before)
            worker.kill()
            worker.wait()
            # nobody waits for a dead worker's heartbeat in a test
            owner.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
        show(f"killed {KILLS} times, in the middle of: {dict(hit)}")
        assert sum(hit.values()) >= KILLS / 2  # on a busy machine some find the stage over
        assert owner.execute(_TWICE).fetchone() == (0,)
        worker = make_worker(idle.home)
        deadline = time.monotonic() + HANG_SECONDS
        while (left := owner.execute(_LEFT).fetchone()) != (0, 0, 0):
            assert time.monotonic() < deadline, left
            time.sleep(0.2)
        worker.terminate()
        assert worker.wait(stretched(10)) == 0
        assert owner.execute(_TWICE).fetchone() == (0,)
        stuck = "SELECT task_name, status::text FROM procrastinate_jobs WHERE status <> 'todo'"
        assert owner.execute(stuck).fetchall() == []
        assert owner.execute("SELECT count(*) FROM landmarks").fetchone() == (5 * TALKS,)
        assert owner.execute("SELECT count(*) FROM tool_sentences").fetchone() == (5 * TALKS,)
        found = """
            SELECT kind, count(*), count(DISTINCT source_id) FROM entries WHERE part = 0 AND kind <> 'memory'
            GROUP BY kind ORDER BY kind
            """
        summaries = owner.execute("SELECT count(*) FROM summaries").fetchone()[0]
        assert owner.execute(found).fetchall() == [
            ("landmark", 5 * TALKS, 5 * TALKS), ("message", 75 * TALKS, 75 * TALKS), ("summary", summaries, summaries),
        ]  # fmt: skip
        assert owner.execute("SELECT count(*) FROM entries WHERE part = 1").fetchone() == (5 * TALKS,)
