"""The running service, as the command line calls it: over HTTP, like any client."""

import json
import weakref
from typing import Any
from urllib.parse import quote

import httpx

from keepword.config import Settings, read_settings
from keepword.errors import KeepwordError, Unavailable

_TIMEOUT_SECONDS = 60


class Refused(KeepwordError):
    """The service answered with a problem."""


def segment(name: str) -> str:
    return quote(name, safe="")


class Remote:
    def __init__(
        self, agent: str | None = None, user: str | None = None, *, timeout_seconds: float = _TIMEOUT_SECONDS
    ) -> None:
        settings = read_settings().settings
        self._url = _url(settings)
        headers = {"Authorization": f"Bearer {settings.key.get_secret_value()}"} if settings.key else {}
        if agent:
            headers["Keepword-Agent"] = quote(agent)
        if user:
            headers["Keepword-User"] = quote(user)
        self._client = httpx.Client(base_url=self._url, headers=headers, timeout=timeout_seconds)
        # commands have no end of their own to close it at
        weakref.finalize(self, self._client.close)

    def call(self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None) -> Any:
        found = self.text(method, path, None if body is None else json.dumps(body), query)
        return json.loads(found) if found else None

    def text(self, method: str, path: str, body: str | None = None, query: dict[str, Any] | None = None) -> str:
        """Return the answer as it came, for what must stay as it was written."""
        params = {name: value for name, value in (query or {}).items() if value is not None}
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            response = self._client.request(method, path, content=body, headers=headers, params=params)
        except httpx.TransportError as exc:
            raise Unavailable(
                f"no service answers at {self._url} ({exc}); start one with `keepword serve`, or set KEEPWORD_URL"
            ) from exc
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise Refused(f"{_detail(response)} (the command line sends the key in KEEPWORD_KEY)")
        if response.is_error:
            raise Refused(_detail(response))
        return response.text


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, LookupError, TypeError):
        return response.text or response.reason_phrase


def _url(settings: Settings) -> str:
    if settings.url:
        return str(settings.url).rstrip("/")
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
