"""The HTTP transport: sends requests, parses answers, and raises Keepword's errors."""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from uuid import UUID

import httpx
from pydantic import TypeAdapter, ValidationError

from keepword import errors
from keepword.errors import BadAnswer, InvalidInput, KeepwordError, Unauthenticated, Unavailable
from keepword.http.statuses import STATUS
from keepword.model import check_name

_KINDS = {status: kind for kind, status in STATUS.items()}
_PROBLEM = "application/problem+json"

T = TypeVar("T")
# a time or a day to look for; without a zone it is in the service's
When = datetime | date | str


class HttpTransport:
    """Sends requests to one service and parses its answers. `at` is its name in error messages."""

    def __init__(self, http: httpx.AsyncClient, at: str, headers: Mapping[str, str]) -> None:
        self._http = http
        self._at = at
        self._headers = headers

    def acting(self, agent: str | None, user: str | None) -> "HttpTransport":
        return HttpTransport(self._http, self._at, {**self._headers, **acting_headers(agent, user)})

    async def call(
        self,
        shape: type[T],
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> T:
        """Send what is not None, and return the answer as a value of the shape; `version` is the one expected."""
        answer = await self._send(method, path, body, query, version)
        try:
            parsed_answer: T = _adapter(shape).validate_json(answer.content)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the answer"
            raise BadAnswer(
                f"{self._at} answered {method} {path} in a way that can't be read ({where}: {first['msg']}); "
                "is it a Keepword of the same version as this client?"
            ) from exc
        return parsed_answer

    async def do(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> None:
        await self._send(method, path, body, query, version)

    async def text(
        self, method: str, path: str, *, body: str | None = None, query: Mapping[str, Any] | None = None
    ) -> str:
        """Send JSON text and return the answer as it came, for what must stay as it was written."""
        return (await self._send(method, path, body, query, None)).text

    async def upload(self, method: str, path: str, content: bytes) -> None:
        """Send bytes as they are."""
        await self._request(method, path, content, {}, {**self._headers, "Content-Type": "application/octet-stream"})

    async def _send(
        self, method: str, path: str, body: Any, query: Mapping[str, Any] | None, version: int | None
    ) -> httpx.Response:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        content = body if body is None or isinstance(body, str) else _encode(body)
        return await self._request(method, path, content, query or {}, headers)

    async def _request(
        self, method: str, path: str, content: Any, query: Mapping[str, Any], headers: Mapping[str, str]
    ) -> httpx.Response:
        params = {name: _parameter(value) for name, value in given(**query).items()}
        try:
            answer = await self._http.request(method, path, content=content, params=params, headers=headers)
        except httpx.TimeoutException as exc:
            raise Unavailable(f"{self._at} did not answer {method} {path} in time; try again later") from exc
        except httpx.TransportError as exc:
            raise Unavailable(
                f"no service answers at {self._at} ({exc}); start one with `keepword serve`, or name the url "
                "of one that runs (KEEPWORD_URL on the command line)"
            ) from exc
        if not answer.is_success:
            raise _error(answer, self._at)
        return answer

    async def close(self) -> None:
        await self._http.aclose()


def given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def segment(name: str, what: str) -> str:
    """Return a name as a part of a path; what no name can be is refused here, as it would lead to another path."""
    return quote(check_name(name, what), safe="")


def base_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput(f"url {url!r} is no address of a service; one is written like http://127.0.0.1:8002", "url")
    return url.rstrip("/")


def calling_headers(key: str | None, agent: str | None, user: str | None) -> dict[str, str]:
    headers = acting_headers(agent, user)
    if key is not None:
        if not (key.isascii() and key.isprintable() and key.strip()):
            raise Unauthenticated("the key is not one of Keepword's; give it as it was shown when it was made: kw_...")
        headers["Authorization"] = f"Bearer {key}"
    return headers


def acting_headers(agent: str | None, user: str | None) -> dict[str, str]:
    named = {"Keepword-Agent": agent, "Keepword-User": user}
    return {name: quote(value) for name, value in named.items() if value is not None}


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def _encode(body: Any) -> bytes:
    try:
        return json.dumps(body, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidInput(f"this can't be written as JSON: {exc}") from exc


def _parameter(value: Any) -> Any:
    # a list is sent as the same parameter again and again
    return [_plain(one) for one in value] if isinstance(value, list) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, date):  # or a datetime, which is one
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, str | int | float):
        return value
    raise TypeError(f"{value!r} is of type {type(value).__name__}")


def _error(answer: httpx.Response, at: str) -> KeepwordError:
    problem = _problem(answer)
    if problem is None:
        elsewhere = f" and points to {answer.headers['location']}" if "location" in answer.headers else ""
        return BadAnswer(
            f"{at} answered {answer.status_code} {answer.reason_phrase}{elsewhere}, but not as Keepword does; "
            "is this the url of a Keepword?"
        )
    detail = str(problem["detail"])
    kind = _KINDS.get(answer.status_code, BadAnswer)
    if issubclass(kind, InvalidInput):
        return kind(detail, problem.get("field"))
    if issubclass(kind, errors.Unavailable | errors.OverQuota):
        wait = answer.headers.get("Retry-After", "1")
        return kind(detail, int(wait) if wait.isdigit() else 1)
    return kind(detail)


def _problem(answer: httpx.Response) -> dict[str, Any] | None:
    # others answer {"detail": ...} as well
    if not answer.headers.get("content-type", "").startswith(_PROBLEM):
        return None
    try:
        problem = answer.json()
    except ValueError:
        return None
    return problem if isinstance(problem, dict) and "detail" in problem else None
