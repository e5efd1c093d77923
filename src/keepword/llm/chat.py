"""A client of any OpenAI-compatible `/chat/completions`."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel, Field, ValidationError

from keepword import metrics, patterns
from keepword.errors import ModelAway, ModelCutOff, ModelFailed, ModelRefused, ModelUnreadable
from keepword.llm.breaker import Breaker
from keepword.llm.port import Answer, Prompt
from keepword.llm.rate import RequestRate

WAITS_SECONDS = (5.0, 10.0, 15.0)
# do not wait longer than this: the caller can quote instead, and retry later
MAX_WAIT_SECONDS = 120.0
CONNECT_SECONDS = 10.0
# an answer of 20,000 tokens with all its thinking has some 100 KB
MAX_ANSWER_BYTES = 8 * 1024 * 1024
_SHOWN_CHARS = 300
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
_PATH = "/chat/completions"
_THOUGHT_START = patterns.anywhere(r"<think(?:ing)?>", patterns.IGNORECASE)
_THOUGHT_END = patterns.anywhere(r"</think(?:ing)?>", patterns.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`timeout_seconds` is the longest that one answer may take, with all retries; waiting for `rate` is not counted.

    `extra_body` are fields for the body of every request that Keepword does not know, such as a server's own word for
    thinking.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    context_tokens: int = 128_000
    timeout_seconds: float = 600
    extra_body: Mapping[str, Any] = field(default_factory=dict)


class _ChatMessage(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _ChatMessage
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    usage: _Usage | None = None


class _RetryableError(Exception):
    """Trying again may help; `after_seconds` is what the endpoint asked for."""

    def __init__(self, reason: str, after_seconds: float = 0) -> None:
        super().__init__(reason)
        self.after_seconds = after_seconds


class Chat:
    """One endpoint. Cancelling a call closes its connection, which makes servers stop generating."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        breaker: Breaker | None = None,
        rate: RequestRate | None = None,
        waits_seconds: Sequence[float] = WAITS_SECONDS,
    ) -> None:
        self._endpoint = endpoint
        self._waits_seconds = waits_seconds
        self._url = endpoint.url.rstrip("/").removesuffix(_PATH) + _PATH
        self._sleep = sleep
        self._knows_schemas = True
        self._rate = rate
        self._breaker = breaker or Breaker(time.monotonic)
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        # no limit on silence: a model may think for minutes before its first byte
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))

    @property
    def name(self) -> str:
        return self._endpoint.model

    @property
    def context_tokens(self) -> int:
        return self._endpoint.context_tokens

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def ask(self, prompt: Prompt) -> Answer:
        if not self._breaker.admit():
            metrics.LLM_CALLS.labels(self.name, "paused").inc()
            raise ModelAway(
                f"{self._url} failed several times in a row; it is tried again in {self._breaker.seconds_left():.0f} s"
            )
        settled = False
        try:
            await self._turn()
            answer = await self._within_time(prompt)
            settled = True
            self._breaker.succeed()
        except ModelAway:
            settled = True
            self._breaker.fail()
            metrics.LLM_CALLS.labels(self.name, "away").inc()
            raise
        except ModelFailed as exc:
            # the endpoint works; another prompt may succeed
            settled = True
            self._breaker.succeed()
            metrics.LLM_CALLS.labels(self.name, _outcome(exc)).inc()
            raise
        finally:
            if not settled:
                self._breaker.leave()
        metrics.LLM_CALLS.labels(self.name, "answered").inc()
        return answer

    async def _turn(self) -> None:
        if self._rate is not None:
            await self._rate.wait()

    async def _within_time(self, prompt: Prompt) -> Answer:
        try:
            async with asyncio.timeout(self._endpoint.timeout_seconds):
                return await self._with_retries(prompt)
        except TimeoutError as exc:
            raise ModelAway(
                f"{self._url} gave no answer in {self._endpoint.timeout_seconds:g} s; "
                "raise KEEPWORD_LLM_TIMEOUT_SECONDS if the model needs longer"
            ) from exc

    async def _with_retries(self, prompt: Prompt) -> Answer:
        # a probe of a broken endpoint is one call, without retries
        waits = () if self._breaker.is_open else self._waits_seconds
        for wait in waits:
            try:
                return await self._try(prompt)
            except _RetryableError as exc:
                if exc.after_seconds > MAX_WAIT_SECONDS:
                    raise ModelAway(f"{exc}; it asks to come back in {exc.after_seconds:.0f} s") from exc
                await self._sleep(max(wait, exc.after_seconds))
                await self._turn()
        try:
            return await self._try(prompt)
        except _RetryableError as exc:
            times = f"{len(waits) + 1} times" if waits else "once"
            raise ModelAway(f"{exc}; tried {times}") from exc

    async def _try(self, prompt: Prompt) -> Answer:
        try:
            async with self._client.stream("POST", self._url, json=self._body(prompt)) as response:
                raw = await _read(response)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise _RetryableError(f"{self._url} can't be reached: {exc or type(exc).__name__}") from exc
        if self._knows_schemas and prompt.schema and response.is_error and b"response_format" in raw:
            self._knows_schemas = False
            await self._turn()
            return await self._try(prompt)
        self._check_status(response, raw)
        return self._answer(prompt, raw)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.text}],
            "max_tokens": prompt.budget_tokens,
            "temperature": 0,
            "stream": False,
        } | dict(self._endpoint.extra_body)
        if prompt.schema is not None:
            response_format = {"name": "answer", "schema": dict(prompt.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": response_format}
        if prompt.schema is not None and not self._knows_schemas:
            # as servers understand it that are older than json_schema; others ignore the schema
            body["response_format"] = {"type": "json_object", "schema": dict(prompt.schema)}
        return body

    def _check_status(self, response: httpx.Response, raw: bytes) -> None:
        status = response.status_code
        if status == HTTPStatus.OK:
            return
        fault = f"{self._url} answered {status}: {raw[:_SHOWN_CHARS].decode(errors='replace')}"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _AGAIN:
            raise _RetryableError(fault, _retry_after(response.headers))
        raise ModelRefused(f"{fault}; check KEEPWORD_LLM_URL, KEEPWORD_LLM_MODEL and KEEPWORD_LLM_KEY")

    def _answer(self, prompt: Prompt, raw: bytes) -> Answer:
        try:
            completion = _Completion.model_validate_json(raw)
        except ValidationError as exc:
            shown = raw[:_SHOWN_CHARS].decode(errors="replace")
            raise ModelUnreadable(f"{self._url} answered something that is no chat completion: {shown!r}") from exc
        usage = completion.usage or _Usage()
        metrics.LLM_TOKENS.labels(self.name, "prompt").inc(usage.prompt_tokens)
        metrics.LLM_TOKENS.labels(self.name, "completion").inc(usage.completion_tokens)
        choice = completion.choices[0]
        if choice.finish_reason == "length":
            raise ModelCutOff(f"{self.name} was cut off after {prompt.budget_tokens} tokens")
        text = strip_thinking(choice.message.content or "")
        if not text:
            raise ModelUnreadable(f"{self.name} answered nothing")
        data = _parse(text, self.name) if prompt.schema is not None else None
        return Answer(text, completion.model or self.name, usage.prompt_tokens, usage.completion_tokens, data)


def strip_thinking(text: str) -> str:
    """Remove the reasoning before an answer; reasoning without an end leaves an empty text."""
    parts, at = [], 0
    while start := _THOUGHT_START.search(text, at):
        parts.append(text[at : start.start()])
        end = _THOUGHT_END.search(text, start.end())
        at = end.end() if end else len(text)
    rest = "".join((*parts, text[at:]))
    # templates often open the thinking in the prompt, so that the answer holds only its end
    ends = [end.end() for end in _THOUGHT_END.finditer(rest)]
    return rest[ends[-1] :].strip() if ends else rest.strip()


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as exc:
        raise ModelUnreadable(f"{name} was asked for JSON and answered: {text[:_SHOWN_CHARS]!r}") from exc


async def _read(response: httpx.Response) -> bytes:
    chunks, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise ModelUnreadable(f"{response.request.url} answered more than {MAX_ANSWER_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Read seconds or an HTTP date; what can't be read is no wish."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        return _seconds_until(text)
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _seconds_until(text: str) -> float:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _outcome(exc: ModelFailed) -> str:
    return {ModelCutOff: "cut_off", ModelRefused: "refused"}.get(type(exc), "unreadable")
