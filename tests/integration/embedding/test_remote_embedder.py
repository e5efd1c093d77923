"""The client of /embeddings against a real server that misbehaves."""

import asyncio
import logging
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
import structlog

from integration.embedding.endpoint import EmbeddingServer
from keepword.embedding.ports import Space
from keepword.embedding.remote import Endpoint, RemoteEmbedder
from keepword.errors import InvalidInput, Unavailable
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

KEY = "sk-hunter2"


@pytest.fixture
def server():
    made = EmbeddingServer()
    yield made
    made.stop()


@pytest.fixture
def endpoint(server):
    return Endpoint(server.url, "tiny", KEY, rate=1000, query_timeout_seconds=30, retry_seconds=0.01)


@pytest.fixture
async def embedder(endpoint):
    made = RemoteEmbedder(endpoint)
    yield made
    await made.close()


async def test_texts_go_out_in_batches_and_vectors_come_back_in_order_with_length_one(server, embedder):
    texts = ["x" * number for number in range(70)]
    vectors = await embedder.embed(texts)
    assert [int(np.argmax(vector)) for vector in vectors] == [number % 8 for number in range(70)]
    assert all(float(vector @ vector) == 1 for vector in vectors)
    assert [len(request["input"]) for request in server.requests] == [32, 32, 6]
    assert {(r["path"], r["model"], r["key"]) for r in server.requests} == {("/v1/embeddings", "tiny", f"Bearer {KEY}")}


async def test_the_space_is_named_after_model_and_dimensions_and_asked_for_once(server, embedder):
    assert await embedder.space() == await embedder.space() == Space("tiny-8", 8)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "act",
    [
        {"status": 500, "body": "oops"},
        {"status": 503},
        {"status": 429},
        {"hang_up": True},
        {"body": {"data": []}},
        {"body": {"error": "x"}},
        {"body": [1]},
        {"body": {"data": [{"index": 0, "embedding": [0.0] * 8}]}},
        {"body": {"data": [{"index": 0, "embedding": None}]}},
    ],
)
async def test_what_may_pass_is_tried_again(server, embedder, act):
    server.script.extend([act, act])
    (vector,) = await embedder.embed(["xx"])
    assert np.argmax(vector) == 2
    assert len(server.requests) == 3


async def test_an_endpoint_that_stays_broken_is_given_up_with_its_reason(server, embedder):
    server.script.extend([{"status": 500, "body": "the GPU\nis on fire"}] * 9)
    with pytest.raises(Unavailable, match=r"answered 500: .*the GPU.*is on fire"):
        await embedder.embed(["x"])
    assert len(server.requests) == 4


async def test_an_answer_that_does_not_come_is_given_up(server, endpoint):
    embedder = RemoteEmbedder(replace(endpoint, timeout_seconds=0.1, query_timeout_seconds=0.1))
    server.script.extend([{"delay": 0.3}] * 5)
    with pytest.raises(Unavailable, match="does not answer"):
        await embedder.embed(["x"])
    await embedder.close()


@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_is_respected(server, embedder, as_date):
    then = datetime.now(UTC) + timedelta(seconds=2)
    server.script.append({"status": 429, "headers": {"retry-after": format_datetime(then, usegmt=True)}})
    if not as_date:
        server.script[0]["headers"]["retry-after"] = "1"
    await embedder.embed(["x"])
    assert server.times[1] - server.times[0] >= 0.9


async def test_a_long_retry_after_is_left_to_the_worker(server, embedder):
    server.script.append({"status": 429, "headers": {"retry-after": "3600"}})
    with pytest.raises(Unavailable) as caught:
        await embedder.embed(["x"])
    assert caught.value.retry_after_seconds == 3600
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_text_is_not_tried_again(server, embedder, status):
    server.script.append({"status": status, "body": {"error": "too long"}})
    with pytest.raises(InvalidInput, match="too long"):
        await embedder.embed(["x"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "setting"), [(401, "EMBEDDING_KEY"), (403, "EMBEDDING_KEY"), (404, "EMBEDDING_URL")]
)
async def test_a_wrong_setting_is_named_and_not_tried_again(server, embedder, status, setting):
    server.script.append({"status": status})
    with pytest.raises(Unavailable, match=f"KEEPWORD_{setting}"):
        await embedder.embed(["x"])
    assert len(server.requests) == 1


@pytest.fixture
def everything_logged():
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("everything_logged")
async def test_the_key_is_neither_in_errors_nor_in_logs(server, embedder):
    server.script.extend([{"status": 500, "body": f"bad key {KEY}"}] * 4 + [{"status": 401, "body": f"bad key {KEY}"}])
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                await embedder.embed(["x"])
            assert "hunter2" not in str(caught.value)
            assert "(hidden)" in str(caught.value)
    assert logs
    assert "hunter2" not in str(logs)


async def test_other_dimensions_than_before_are_refused(server, embedder):
    await embedder.space()
    server.dimensions = 9
    with pytest.raises(Unavailable, match=r"\[9\] dimensions; expected were 8.*model behind it changed"):
        await embedder.embed(["x"])


async def test_more_dimensions_than_an_index_takes_are_refused(server, embedder):
    server.dimensions = 4001
    with pytest.raises(Unavailable, match="at most 4000"):
        await embedder.space()


async def test_requests_keep_to_the_rate(server, endpoint):
    embedder = RemoteEmbedder(replace(endpoint, rate=10))
    started = time.monotonic()
    await embedder.embed(["x"] * 32 * 4)
    # from here, since a server that is busy hears of the first request late, and of the last no earlier
    assert len(server.times) == 4
    assert server.times[-1] - started >= 0.28
    await embedder.close()


async def test_a_query_does_not_wait_for_its_turn(server, endpoint):
    embedder = RemoteEmbedder(replace(endpoint, rate=1 / HANG_SECONDS))
    for _ in range(3):
        await asyncio.wait_for(embedder.embed_query("now"), HANG_SECONDS)
    assert len(server.requests) == 3
    await embedder.close()


async def test_a_query_asks_once(server, embedder):
    server.script.append({"status": 503})
    with pytest.raises(Unavailable):
        await embedder.embed_query("x")
    assert len(server.requests) == 1
