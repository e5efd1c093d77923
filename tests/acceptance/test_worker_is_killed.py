"""A worker killed at any moment loses nothing and does nothing twice."""

import random
import time

import httpx
import pytest

from keepword.postgres import migrate

KILLS = 4
TALKS = 25
_LEFT = """
SELECT (SELECT count(*) FROM messages m WHERE NOT EXISTS (
            SELECT FROM summaries s WHERE s.tenant_id = m.tenant_id AND s.conversation_id = m.conversation_id
                AND m.seq BETWEEN s.leaf_first AND s.leaf_last)),
    (SELECT count(*) FROM summaries WHERE tier = 'thread' AND parent_id IS NULL),
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


def talk(service):
    with httpx.Client(base_url=service.url, timeout=60) as client:
        for number in range(TALKS):
            path = f"/v1/conversations/talk-{number}"
            client.put(path, json={})
            said = [
                {"role": "user", "content": f"Decision: pump P-{n} runs at {n} bar in Hall {n}."} for n in range(70)
            ]
            said += [{"role": "assistant", "tool_name": "set_bar", "tool_args": {"pump": f"P-{n}"}} for n in range(5)]
            client.post(f"{path}/messages", json=said).raise_for_status()
            client.patch(path, json={"active": False})


def test_after_any_number_of_kills_every_message_is_in_one_leaf_and_no_job_is_stuck(idle, make_worker):
    talk(idle)
    with migrate.owner(idle.conninfo) as owner:
        for _ in range(KILLS):
            worker = make_worker(idle.home)
            time.sleep(random.uniform(0.1, 1.0))
            worker.kill()
            worker.wait()
            # nobody waits for a dead worker's heartbeat in a test
            owner.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
        assert owner.execute(_TWICE).fetchone() == (0,)
        worker = make_worker(idle.home)
        deadline = time.monotonic() + 90
        while (left := owner.execute(_LEFT).fetchone()) != (0, 0, 0):
            assert time.monotonic() < deadline, left
            time.sleep(0.2)
        worker.terminate()
        assert worker.wait(10) == 0
        assert owner.execute(_TWICE).fetchone() == (0,)
        stuck = "SELECT task_name, status::text FROM procrastinate_jobs WHERE status <> 'todo'"
        assert owner.execute(stuck).fetchall() == []
        assert owner.execute("SELECT count(*) FROM landmarks").fetchone() == (70 * TALKS,)
        assert owner.execute("SELECT count(*) FROM tool_sentences").fetchone() == (5 * TALKS,)
