"""The bundled deep model: all-MiniLM-L6-v2 tuned for conversation, an ONNX file that computes in int8.

It runs off the event loop, batches in a process of their own. All threads of a process share one session.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from keepword.embedding.chunk import split_all
from keepword.embedding.instant import Floats, tokenizer
from keepword.embedding.ports import Space
from keepword.embedding.runtime import Fail, ort
from keepword.errors import StartError, Unavailable
from keepword.slices import Runner, in_thread

NAME = "minilm-conversation-v1"
DIMENSIONS = 384
MAX_TOKENS = 256
# of long answers, the best of several short chunks found more than one vector of the whole
CHUNK_TOKENS = 128
_SPECIAL_TOKENS = 2
_SHA256 = "bf80175a4dce49861e74205d0b2ee99d5629bd08fea5bfed4b161a8d9f2588ab"
# short texts run half as fast again in eights as one by one; past this many tokens a run gains nothing by more
_RUN_TEXTS = 8
_RUN_TOKENS = 256
_CALL_TEXTS = 64

T = TypeVar("T")
P = ParamSpec("P")


def model_file() -> Path:
    return Path(str(resources.files(__package__).joinpath("data", f"{NAME}.onnx")))


class Model:
    """The model as it is, in the caller's thread and `threads` - 1 others. Loaded when first needed."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._run_options = ort.RunOptions()

    def embed(self, texts: Sequence[str]) -> list[Floats]:
        """Embed texts, those of like length together; tokens after the 256th of a text are ignored."""
        token_lists = [_cut(encoding.ids) for encoding in tokenizer().encode_batch_fast(list(texts))]
        vectors: list[Floats] = [np.empty(0, np.float32)] * len(texts)
        runs = list(_runs([len(tokens) for tokens in token_lists]))
        made_by_run = self._run_all([[token_lists[number] for number in run] for run in runs])
        for run, made in zip(runs, made_by_run, strict=True):
            for number, vector in zip(run, made, strict=True):
                vectors[number] = vector
        return vectors

    def stop(self) -> None:
        """Cancel the run that is in progress in another thread."""
        self._run_options.terminate = True

    def _run_all(self, runs: Sequence[Sequence[Sequence[int]]]) -> list[Floats]:
        if self._threads == 1 or len(runs) <= 1:
            return [self._run(run) for run in runs]
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed-run") as pool:
            return list(pool.map(self._run, runs))

    def _run(self, token_lists: Sequence[Sequence[int]]) -> Floats:
        ids, mask = _padded(token_lists)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            (hidden,) = _session().run(None, feed, self._run_options)
        except Fail as exc:
            raise Unavailable(f"the model did not run: {exc}") from exc
        return _pooled(np.asarray(hidden, np.float32), mask)


def _session() -> ort.InferenceSession:
    """Return the one session of this process. It computes in the thread that calls it."""
    with _loading:
        return _load()


_loading = threading.Lock()


@cache
def _load() -> ort.InferenceSession:
    file = model_file()
    # a session keeps the bytes that it is given beside its own copy of them, but not the file at a path
    with file.open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    if digest != _SHA256:
        raise StartError(f"the deep model's file is damaged ({NAME}.onnx); install Keepword again")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of texts to run together: of like length, so that padding wastes little."""
    run: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if run and (len(run) == _RUN_TEXTS or (len(run) + 1) * lengths[number] > _RUN_TOKENS):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _cut(tokens: Sequence[int]) -> Sequence[int]:
    """Keep the first tokens and the last one, which ends every text."""
    return tokens if len(tokens) <= MAX_TOKENS else [*tokens[: MAX_TOKENS - 1], tokens[-1]]


def _padded(token_lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids = np.zeros((len(token_lists), max(map(len, token_lists))), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(token_lists):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return ids, mask


def _pooled(hidden: Floats, mask: NDArray[np.int64]) -> Floats:
    # the length is made 1 in the end: the sum does for the mean
    total = np.einsum("ijk,ij->ik", hidden, mask.astype(np.float32))
    pooled: Floats = total / np.linalg.norm(total, axis=1, keepdims=True)
    return pooled


def default_threads() -> int:
    """Return half of the processors; the other half serves requests."""
    return max(1, (os.cpu_count() or 1) // 2)


class BatchProcess(Protocol):
    """A process of low priority, in which batches are cut and embedded."""

    async def __call__(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    def end_child(self) -> None:
        """End the child with the texts that it embedded, after its call; the next call starts another."""
        ...

    def close(self) -> None:
        """End it, and with it the call that is under way, which raises Unavailable."""
        ...


class LocalEmbedder:
    """Without a `process` batches are embedded in a thread, which competes with others for Python's lock."""

    def __init__(self, threads: int | None = None, process: BatchProcess | None = None) -> None:
        self._threads = threads or default_threads()
        self._process = process
        self._batches = _ModelThread("embed", self._threads)
        # a thread of its own: a query must not wait behind a batch, and one short text runs fastest in one thread
        self._queries = _ModelThread("embed-query", 1)

    @property
    def chunk_tokens(self) -> int:
        return CHUNK_TOKENS - _SPECIAL_TOKENS

    @staticmethod
    def count_tokens(text: str) -> int:
        return len(tokenizer().encode(text, add_special_tokens=False))

    async def split(self, texts: Sequence[str]) -> list[list[str]]:
        run: Runner = self._process or in_thread
        return await run(split_all, texts, self.chunk_tokens, self.count_tokens)

    async def space(self) -> Space:
        return Space(NAME, DIMENSIONS, is_tuned=True)

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        if self._process is None:
            return await self._batches.embed(texts)
        return [vector for some in _few(texts) for vector in await self._process(_embed, some, self._threads)]

    async def embed_query(self, text: str) -> Floats:
        (vector,) = await self._queries.embed([text])
        return vector

    def forget(self) -> None:
        if self._process is not None:
            self._process.end_child()

    async def close(self) -> None:
        if self._process is not None:
            self._process.close()
        threads = (self._batches, self._queries)
        for one in threads:  # at once: what has not begun begins no more
            one.stop()
        await asyncio.gather(*(one.wait() for one in threads))


def _few(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield texts for one call of the process, whose time is limited."""
    for begin in range(0, len(texts), _CALL_TEXTS):
        yield texts[begin : begin + _CALL_TEXTS]


def _embed(texts: Sequence[str], threads: int) -> list[Floats]:
    return _model(threads).embed(texts)


@cache
def _model(threads: int) -> Model:
    return Model(threads)


class _ModelThread:
    """A model and the one thread that runs it."""

    def __init__(self, name: str, threads: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._threads = threads
        self._model: Model | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._embed, texts)

    def stop(self) -> None:
        self._closed = True
        if self._model is not None:
            self._model.stop()

    async def wait(self) -> None:
        """Return once the thread has ended, after `stop`."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    def _embed(self, texts: Sequence[str]) -> list[Floats]:
        if self._model is None:
            self._model = Model(self._threads)
        if self._closed:  # before there was a model that could be stopped
            raise Unavailable("the model is closed")
        return self._model.embed(texts)
