"""A service that gets more requests than it takes refuses the rest quickly, stays alive, and serves again at once."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import psycopg
import pytest

from patience import HANG_SECONDS

AT_ONCE, WAITING, WAIT_SECONDS = 3, 2, 8  # in that time a busy machine gets all of them in
MESSAGE = {"role": "user", "content": "hello"}
PATH = "/v1/conversations/busy/messages"


@pytest.fixture
def busy(make_service):
    limits = {"requests_at_once": str(AT_ONCE), "requests_waiting": str(WAITING)}
    service = make_service(requests_wait_seconds=str(WAIT_SECONDS), **limits).start()
    with service.client() as client:
        client.put("/v1/conversations/busy", json={}).raise_for_status()
    return service


def wait_for_metric(client: httpx.Client, line: str) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while line not in client.get("/metrics").text.splitlines():
        assert time.monotonic() < deadline, f"never: {line}"
        time.sleep(0.02)


def test_the_rest_is_refused_and_who_watches_and_who_was_in_are_served(busy):
    with ExitStack() as stack:
        conn = stack.enter_context(psycopg.connect(busy.conninfo))
        threads = stack.enter_context(ThreadPoolExecutor(AT_ONCE + WAITING))
        client = stack.enter_context(busy.client())
        conn.execute("SELECT 1 FROM keepword.conversations FOR UPDATE")  # appends wait until this is over
        inside = [threads.submit(client.post, PATH, json=MESSAGE) for _ in range(AT_ONCE)]
        wait_for_metric(client, f"keepword_requests_in_flight {AT_ONCE:.1f}")
        late = [threads.submit(client.post, PATH, json=MESSAGE) for _ in range(WAITING)]
        wait_for_metric(client, f"keepword_requests_waiting {WAITING:.1f}")
        started = time.monotonic()
        refused = client.post(PATH, json=MESSAGE)
        assert time.monotonic() - started < WAIT_SECONDS
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["request_id"] == refused.headers["x-request-id"]
        assert client.get("/v1/memories").json()["errors"][0]["status"] == "503"
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert [answer.result().status_code for answer in late] == [503] * WAITING
        conn.rollback()
        assert [answer.result().status_code for answer in inside] == [201] * AT_ONCE
        assert client.post(PATH, json=MESSAGE).status_code == 201
        assert len(client.get(PATH).json()["messages"]) == AT_ONCE + 1
        wait_for_metric(client, "keepword_requests_in_flight 0.0")
        told = client.get("/metrics").text
        assert 'keepword_requests_shed_total{reason="full"} 2.0' in told
        assert f'keepword_requests_shed_total{{reason="late"}} {WAITING:.1f}' in told
