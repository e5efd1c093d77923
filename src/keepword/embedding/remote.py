"""Any endpoint that speaks OpenAI's /embeddings."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np
import structlog

from keepword.embedding.chunk import split_all
from keepword.embedding.instant import Floats, tokenizer
from keepword.embedding.ports import Space
from keepword.errors import InvalidInput, Unavailable

_log = structlog.get_logger()

MAX_DIMENSIONS = 4000  # the most that an index of the database takes
# models see 512 tokens and more, and count them in other ways than we do
_CHUNK_TOKENS = 256
_BATCH = 32  # the most that small servers take in one request
_TRIES = 4
_MAX_PAUSE_SECONDS = 60
_SAID_CHARS = 200

_TOO_MANY = 429
_SERVER_FAILS = 500
_TEXT_FAULTS = frozenset({400, 413, 422})
_ADVICE = {
    401: "correct KEEPWORD_EMBEDDING_KEY",
    403: "correct KEEPWORD_EMBEDDING_KEY",
    404: "correct KEEPWORD_EMBEDDING_URL and KEEPWORD_EMBEDDING_MODEL",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` is what /embeddings is appended to; `rate` is the most requests a second."""

    url: str
    model: str
    key: str | None = None
    rate: float = 10
    timeout_seconds: float = 30
    query_timeout_seconds: float = 3
    retry_seconds: float = 0.5


class RemoteEmbedder:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=endpoint.timeout_seconds)
        self._url = f"{endpoint.url.rstrip('/')}/embeddings"
        self._turns = _RateLimiter(endpoint.rate)
        self._space: Space | None = None

    @property
    def chunk_tokens(self) -> int:
        return _CHUNK_TOKENS

    def count_tokens(self, text: str) -> int:
        return len(tokenizer().encode(text, add_special_tokens=False))

    async def split(self, texts: Sequence[str]) -> list[list[str]]:
        return await asyncio.to_thread(split_all, texts, self.chunk_tokens, self.count_tokens)

    async def space(self) -> Space:
        """Return the space, named after the model and its dimensions; these are asked for once."""
        if self._space is None:
            dimensions = len(await self.embed_query("How many dimensions has this?"))
            self._space = Space(f"{self._endpoint.model}-{dimensions}", dimensions)
        return self._space

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        vectors: list[Floats] = []
        for start in range(0, len(texts), _BATCH):
            vectors += await self._embed_batch(texts[start : start + _BATCH])
        return vectors

    async def embed_query(self, text: str) -> Floats:
        """Embed a query without a retry: a search should not wait for one."""
        self._turns.take()
        answer = await self._post([text], self._endpoint.query_timeout_seconds)
        if answer.is_error:
            raise self._refusal(answer)
        (vector,) = self._vectors(answer, 1)
        return vector

    def forget(self) -> None:
        """Nothing to end: texts are sent from this process."""

    async def close(self) -> None:
        await self._client.aclose()

    async def _embed_batch(self, texts: Sequence[str]) -> list[Floats]:
        pause = self._endpoint.retry_seconds
        for tries_left in reversed(range(_TRIES)):
            await self._turns.wait()
            try:
                answer = await self._post(texts, self._endpoint.timeout_seconds)
                if not answer.is_error:
                    return self._vectors(answer, len(texts))
                raise self._refusal(answer)
            except Unavailable as exc:
                pause_seconds = max(pause * random.uniform(0.5, 1.5), exc.retry_after_seconds)  # noqa: S311 - spreads callers
                if not tries_left or pause_seconds > _MAX_PAUSE_SECONDS or not isinstance(exc, _TransientError):
                    raise
                _log.info("embedding again", reason=str(exc), after_seconds=round(pause_seconds, 2))
                await asyncio.sleep(pause_seconds)
                pause *= 2
        raise AssertionError("unreachable")

    async def _post(self, texts: Sequence[str], timeout_seconds: float) -> httpx.Response:
        body = {"model": self._endpoint.model, "input": list(texts)}
        try:
            return await self._client.post(self._url, json=body, timeout=timeout_seconds)
        except httpx.TransportError as exc:
            what = str(exc) or type(exc).__name__
            raise _TransientError(f"the embedding endpoint {self._url} does not answer: {what}", 0) from exc

    def _refusal(self, answer: httpx.Response) -> Unavailable | InvalidInput:
        status = answer.status_code
        fault = f"the embedding endpoint {self._url} answered {status}: {self._quoted(answer.text)}"
        if status == _TOO_MANY or status >= _SERVER_FAILS:
            return _TransientError(fault, _retry_after(answer))
        if status in _TEXT_FAULTS:
            return InvalidInput(fault)
        return Unavailable(f"{fault}; {_ADVICE.get(status, 'see what KEEPWORD_EMBEDDING_URL names')}", 0)

    def _quoted(self, text: str) -> str:
        # some servers repeat the key that they refuse
        if self._endpoint.key:
            text = text.replace(self._endpoint.key, "(hidden)")
        return " ".join(text.split())[:_SAID_CHARS]

    def _vectors(self, answer: httpx.Response, dimensions: int) -> list[Floats]:
        try:
            rows = sorted(answer.json()["data"], key=lambda row: row["index"])
            vectors = [_unit(row["embedding"]) for row in rows]
        except (ValueError, TypeError, KeyError) as exc:
            raise _TransientError(
                f"the embedding endpoint {self._url} answered with no embeddings ({exc!r})", 0
            ) from exc
        if len(vectors) != dimensions:
            raise _TransientError(
                f"the embedding endpoint {self._url} answered {dimensions} texts with {len(vectors)} vectors", 0
            )
        self._check({len(vector) for vector in vectors})
        return vectors

    def _check(self, lengths: set[int]) -> None:
        expected = self._space.dimensions if self._space else next(iter(lengths))
        if lengths != {expected} or expected > MAX_DIMENSIONS:
            raise Unavailable(
                f"the embedding endpoint {self._url} answered with vectors of {sorted(lengths)} dimensions; "
                f"expected were {expected}, at most {MAX_DIMENSIONS}. Has the model behind it changed?",
                0,
            )


class _TransientError(Unavailable):
    """A transient failure: a retry may help."""


class _RateLimiter:
    """A rate limiter: at most so many requests a second."""

    def __init__(self, rate: float) -> None:
        self._apart = 1 / rate
        self._next = 0.0

    def take(self) -> float:
        """Take a turn without waiting for it; later ones wait the longer. Return how long it is until this one."""
        now = time.monotonic()
        begins = max(self._next, now)
        self._next = begins + self._apart
        return begins - now

    async def wait(self) -> None:
        await asyncio.sleep(self.take())


def _unit(numbers: Any) -> Floats:
    vector = np.asarray(numbers, np.float32)
    length = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not np.isfinite(length) or length == 0:
        raise ValueError("a vector without direction")
    return np.asarray(vector / length, np.float32)


def _retry_after(answer: httpx.Response) -> int:
    """Read Retry-After, in seconds or as a date; 0 if there is none that can be read."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return int(value)
    try:
        return max(0, round((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()))
    except (ValueError, TypeError):
        return 0
