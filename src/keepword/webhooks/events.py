"""The events that webhooks are told of, and the checks of what a caller asks for."""

import base64
import secrets
from collections.abc import Sequence
from urllib.parse import urlsplit

from keepword.errors import InvalidInput

EVENTS = (
    "memory.added", "memory.merged", "memory.superseded", "memory.changed", "memory.deleted", "memory.restored",
    "memory.expired", "memory.rated",
    "fact.set", "fact.deleted",
    "profile.written", "profile.deleted",
    "summary.made", "summary.changed",
)  # fmt: skip
EVERYTHING = "*"
KINDS = tuple(dict.fromkeys(event.partition(".")[0] for event in EVENTS))
MAX_URL_CHARS = 2000
SECRET_PREFIX = "whsec_"  # noqa: S105 - as the Standard Webhooks specification marks a secret
SECRET_BYTES = 32


def check_events(events: Sequence[str]) -> tuple[str, ...]:
    """Return the events without repeats. Raises InvalidInput for one that there is not."""
    known = {*EVENTS, *KINDS, EVERYTHING}
    if unknown := [event for event in events if event not in known]:
        choices = ", ".join((*EVENTS, *KINDS, EVERYTHING))
        raise InvalidInput(f"events: {unknown[0][:80]!r} is none of {choices}", "events")
    return tuple(dict.fromkeys(events))


def check_url(url: str) -> str:
    """Raise InvalidInput for what is no address of a web server. Where it leads is checked with each delivery."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise InvalidInput(f"url is no address: {exc}", "url") from exc
    if parts.scheme not in {"http", "https"} or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInput("url must be an address such as https://example.com/hooks, in ASCII", "url")
    if parts.username or parts.password:
        raise InvalidInput("url must have no user and password; deliveries are signed instead", "url")
    if len(url) > MAX_URL_CHARS:
        raise InvalidInput(f"url has {len(url)} characters; at most {MAX_URL_CHARS}", "url")
    return url


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
