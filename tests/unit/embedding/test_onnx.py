"""The bundled deep model: what it is known to say, however the texts come."""

import asyncio
import threading
import time

import numpy as np
import pytest

from keepword.embedding import onnx
from keepword.embedding.onnx import LocalEmbedder, Model
from keepword.errors import StartError, Unavailable
from keepword.jobs.reading_process import ReadingProcess
from patience import stretched

pytestmark = pytest.mark.anyio

CAT = "A cat sat on the mat."
FELINE = "The feline rested on the rug."
MONEY = "Quarterly revenue grew by 5 percent."


@pytest.fixture(scope="module")
def model():
    return Model()


@pytest.fixture
async def embedder():
    made = LocalEmbedder(threads=1)
    yield made
    await made.close()


def test_vectors_have_length_one_and_the_known_cosines(model):
    cat, feline, money = model.embed([CAT, FELINE, MONEY])
    assert [len(vector) for vector in (cat, feline, money)] == [onnx.DIMENSIONS] * 3
    assert np.allclose([np.linalg.norm(vector) for vector in (cat, feline, money)], 1, atol=1e-5)
    # int8 kernels differ a little from processor to processor
    assert cat @ feline == pytest.approx(0.59, abs=0.05)
    assert cat @ money == pytest.approx(-0.02, abs=0.05)


def test_a_batch_says_what_single_texts_say_in_their_order(model):
    texts = [" ".join([word] * times) for times in (40, 1, 7, 130, 2) for word in ("harbour", "invoice", "violin")]
    alone = [model.embed([text])[0] for text in texts]
    together = model.embed(texts)
    # activations are scaled to int8 per run, so that neighbours shift a vector by a hair
    assert min(float(a @ b) for a, b in zip(alone, together, strict=True)) > 0.97
    for number, vector in enumerate(together):
        assert np.argmax([float(vector @ other) for other in alone]) == number


def test_nothing_and_too_much_are_embedded_as_well(model):
    assert model.embed([]) == []
    (empty,) = model.embed([""])
    assert np.isfinite(empty).all()
    (cut,) = model.embed(["harbour " * 254])
    (long,) = model.embed(["harbour " * 9999])
    assert cut @ long == pytest.approx(1, abs=1e-4)


def test_runs_hold_every_text_once_and_few_tokens():
    lengths = [int(length) for length in np.random.default_rng(0).integers(2, 257, 500)]
    runs = list(onnx._runs(lengths))
    assert sorted(number for run in runs for number in run) == list(range(500))
    assert all(len(run) == 1 or len(run) * max(lengths[n] for n in run) <= 256 for run in runs)
    assert all(len(run) <= 8 for run in runs)


async def test_a_query_does_not_wait_behind_a_batch(embedder):
    await embedder.embed_query(CAT)
    batch = asyncio.create_task(embedder.embed(["harbour " * 200] * 300))
    await asyncio.sleep(0.1)
    for _ in range(5):
        await embedder.embed_query(FELINE)
    assert not batch.done()
    started = time.monotonic()
    await embedder.close()
    assert time.monotonic() - started < stretched(10)  # it waits for the few texts under way, not for the batch
    with pytest.raises(Unavailable):
        await batch


@pytest.fixture
async def apart():
    made = LocalEmbedder(1, ReadingProcess())
    yield made
    await made.close()


async def test_another_process_cuts_and_embeds_as_this_one_does(apart, embedder):
    texts = [CAT, "harbour " * 400, MONEY]
    assert await apart.split(texts) == await embedder.split(texts)
    for here, there in zip(await embedder.embed(texts), await apart.embed(texts), strict=True):
        assert here @ there == pytest.approx(1, abs=1e-4)


async def test_a_batch_in_another_process_ends_when_the_embedder_is_closed(apart):
    await apart.embed([CAT])
    batch = asyncio.create_task(apart.embed(["harbour " * 200] * 3000))
    await asyncio.sleep(0.1)
    await apart.close()
    with pytest.raises(Unavailable):
        await batch


async def test_a_model_that_is_closed_while_it_is_made_embeds_nothing(embedder, monkeypatch):
    began, go_on = threading.Event(), threading.Event()

    def make_slowly(threads):
        began.set()
        go_on.wait()
        return Model(threads)

    monkeypatch.setattr(onnx, "Model", make_slowly)
    batch = asyncio.create_task(embedder.embed(["harbour"]))
    await asyncio.to_thread(began.wait)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    go_on.set()
    await closing
    with pytest.raises(Unavailable):
        await batch


async def test_the_event_loop_goes_on_while_it_embeds(embedder):
    batch = asyncio.create_task(embedder.embed(["harbour " * 100] * 50))
    turns = 0
    while not batch.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 20
    assert len(await batch) == 50


def test_a_file_that_is_not_the_model_is_refused(monkeypatch, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"other")
    monkeypatch.setattr(onnx, "model_file", lambda: tmp_path / "model.onnx")
    onnx._load.cache_clear()
    with pytest.raises(StartError, match="install Keepword again"):
        Model().embed([CAT])


def test_all_models_of_a_process_share_one_session_and_several_threads_say_the_same(model):
    texts = [" ".join([word] * times) for times in (40, 1, 7, 130, 2) for word in ("harbour", "invoice", "violin")]
    loaded = onnx._session()
    for one, other in zip(model.embed(texts), Model(3).embed(texts), strict=True):
        assert one @ other == pytest.approx(1, abs=1e-5)
    assert onnx._session() is loaded
