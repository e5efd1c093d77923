"""A request whose database server is lost is answered at once, and what waited for it is cancelled."""

import asyncio

import httpx
import pytest

from keepword.http.guards import PENDING_ANSWER
from keepword.http.middleware import RequestMiddleware

pytestmark = pytest.mark.anyio


class Waiting:
    """An application that waits for a server, and needs a while to give up."""

    def __init__(self) -> None:
        self.lost = asyncio.get_running_loop().create_future()
        self.reached = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.answers_first = False

    async def __call__(self, scope, _receive, send) -> None:
        scope[PENDING_ANSWER].end_with(self.lost, "the database server b went away")
        self.reached.set()
        if self.answers_first:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"done"})
            return
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
            # a stuck driver takes long to cancel
            await asyncio.sleep(0.2)


def client_of(app) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(RequestMiddleware(app, 30))
    return httpx.AsyncClient(transport=transport, base_url="http://keepword.test")


async def test_it_gets_503_with_retry_after_and_gives_its_place_back():
    app = Waiting()
    async with client_of(app) as client:
        asking = asyncio.create_task(client.get("/v1/whoami"))
        await app.reached.wait()
        app.lost.set_result(None)
        answer = await asyncio.wait_for(asking, 5)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["detail"] == "the database server b went away"
    assert app.cancelled.is_set()


async def test_a_server_that_is_lost_later_changes_no_answer():
    app = Waiting()
    app.answers_first = True
    async with client_of(app) as client:
        answer = await client.get("/v1/whoami")
        app.lost.set_result(None)
        await asyncio.sleep(0)
    assert (answer.status_code, answer.text) == (200, "done")
