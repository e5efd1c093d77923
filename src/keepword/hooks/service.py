"""Calls of the service without a client: a hook may take a second and a half, and loading one takes half of it."""

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from keepword.errors import BadAnswer, Conflict, Forbidden, InvalidInput, NotFound, Unauthenticated, Unavailable

_ERRORS: dict[int, type[Exception]] = {
    400: InvalidInput, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 413: InvalidInput,
    415: InvalidInput, 422: InvalidInput,
}  # fmt: skip
_BUSY = frozenset({408, 429, 503})


class Service:
    def __init__(self, url: str, key: str | None, timeout_seconds: float) -> None:
        self._parts = urlsplit(url)
        self._key = key
        self._timeout_seconds = timeout_seconds
        self.url = url

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make one request; raises a KeepwordError."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        content = None if body is None else json.dumps(body).encode()
        try:
            with closing(self._connection()) as connection:
                connection.request(method, self._parts.path + path, content, headers)
                answer = connection.getresponse()
                raw = answer.read()
        except (OSError, http.client.HTTPException) as exc:
            raise Unavailable(f"no service answers at {self.url} ({exc})") from exc
        if answer.status in _BUSY:
            raise Unavailable(f"{self.url} is busy ({answer.status})")
        value = _json(raw)
        if answer.status >= http.client.BAD_REQUEST:
            detail = value.get("detail", "") if isinstance(value, dict) else ""
            raise _ERRORS.get(answer.status, BadAnswer)(f"{method} {path}: {answer.status} {detail}")
        return value

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._parts.hostname or "127.0.0.1", self._parts.port, timeout=self._timeout_seconds)


def part(name: str) -> str:
    return quote(name, safe="")


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None
