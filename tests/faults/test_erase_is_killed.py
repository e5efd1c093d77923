"""Whoever erases may be killed at any moment: what is erased is afterwards wholly there, or wholly gone."""

import os
import random
import threading
import time
from contextlib import suppress
from uuid import uuid4

import httpx
import pytest

from integration.erasure.test_erase import files_with
from keepword.postgres import migrate
from patience import HANG_SECONDS

# KILLS=20 kills more often
KILLS = int(os.environ.get("KILLS", "3"))
MESSAGES = 1500
_LEFT = """
SELECT (SELECT count(*) FROM messages WHERE content LIKE %(like)s),
    (SELECT count(*) FROM entries WHERE text LIKE %(like)s), (SELECT count(*) FROM memories WHERE content LIKE %(like)s)
"""


def fill(url, name, word):
    with httpx.Client(base_url=url, timeout=HANG_SECONDS) as client:
        client.put(f"/v1/conversations/{name}", json={"user": "ann"}).raise_for_status()
        for start in range(0, MESSAGES, 500):
            said = [
                {"role": "user", "content": f"{word} {n}: pump P-{n} is in hall 9."} for n in range(start, start + 500)
            ]
            client.post(f"/v1/conversations/{name}/messages", json=said).raise_for_status()


def ask_to_erase(url, path):
    # the service may be killed before it answers
    with suppress(httpx.HTTPError), httpx.Client(base_url=url, timeout=HANG_SECONDS) as client:
        client.delete(path)


def wait_until(done):
    deadline = time.monotonic() + HANG_SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def count(conninfo, query, **values):
    with migrate.owner(conninfo) as conn:
        return conn.execute(query, values).fetchone()


@pytest.mark.timeout(300 + 60 * KILLS)
def test_what_is_erased_is_wholly_there_or_wholly_gone_whoever_is_killed(make_service, make_worker, show):
    service = make_service(worker="false").start()
    httpx.put(f"{service.url}/v1/users/ann", json={}, timeout=HANG_SECONDS).raise_for_status()
    moments, marker = random.Random(7), f"Zq{uuid4().hex[:10]}"
    outcomes = {"there": 0, "gone": 0}
    for turn in range(KILLS):
        name, word = f"talk-{turn}", f"{marker}{turn:02}"
        path = f"/v1/conversations/{name}" if turn % 3 else "/v1/users/ann"
        fill(service.url, name, word)
        worker = make_worker(service.home)
        asking = threading.Thread(target=ask_to_erase, args=(service.url, path))
        asking.start()
        time.sleep(moments.uniform(0, 2))
        worker.kill()
        if turn % 2:
            service.process.kill()
            service.process.wait()
        asking.join()
        if turn % 2:
            service.start()
        answer = httpx.get(f"{service.url}/v1/conversations/{name}", timeout=HANG_SECONDS)
        if answer.status_code == 200:
            assert count(service.conninfo, _LEFT, like=f"%{word}%")[0] == MESSAGES
            outcomes["there"] += 1
            ask_to_erase(service.url, path)
        else:
            assert answer.status_code == 404
            outcomes["gone"] += 1
        # nobody reads it while it goes
        assert word not in httpx.get(f"{service.url}/v1/browse?limit=200&order=desc", timeout=HANG_SECONDS).text
        resumed = make_worker(service.home)
        wait_until(lambda: count(service.conninfo, "SELECT count(*) FROM erasures WHERE state <> 'done'") == (0,))
        assert count(service.conninfo, _LEFT, like=f"%{word}%") == (0, 0, 0)
        resumed.kill()
        httpx.put(f"{service.url}/v1/users/ann", json={}, timeout=HANG_SECONDS)
    assert files_with(service.home, marker) == []
    show(f"{KILLS} kills: {outcomes['there']} wholly there, {outcomes['gone']} wholly gone, 0 files with the word")
