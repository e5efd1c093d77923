"""The running service, as the command line calls it: over HTTP, like any client."""

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
    def __init__(self, agent: str | None = None, user: str | None = None) -> None:
        settings = read_settings().settings
        self._url = _url(settings)
        headers = {"Authorization": f"Bearer {settings.key.get_secret_value()}"} if settings.key else {}
        if agent:
            headers["Keepword-Agent"] = quote(agent)
        if user:
            headers["Keepword-User"] = quote(user)
        self._client = httpx.Client(base_url=self._url, headers=headers, timeout=_TIMEOUT_SECONDS)

    def call(self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None) -> Any:
        params = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            response = self._client.request(method, path, json=body, params=params)
        except httpx.TransportError as exc:
            raise Unavailable(
                f"no service answers at {self._url} ({exc}); start one with `keepword serve`, or set KEEPWORD_URL"
            ) from exc
        found = response.json() if response.content else None
        if response.is_error:
            raise Refused(found.get("detail", response.reason_phrase) if isinstance(found, dict) else response.text)
        return found


def _url(settings: Settings) -> str:
    if settings.url:
        return str(settings.url).rstrip("/")
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
