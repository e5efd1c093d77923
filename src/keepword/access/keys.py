"""API keys: shown once, stored as a hash, compared in constant time."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from keepword import patterns
from keepword.errors import InvalidInput
from keepword.model import Key

_FORM = patterns.at_start(r"kw_([0-9a-f]{16})_([A-Za-z0-9_-]{43})\Z")
_SPAN = patterns.at_start(r"([1-9][0-9]{0,4})([mhdwy])\Z")
_UNIT = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}

MAX_LIFETIME = 100 * _UNIT["y"]  # the calendar ends in the year 9999


@dataclass(frozen=True, slots=True)
class Secret:
    """The whole key. Only `id` and `digest` are ever stored or logged."""

    id: str
    secret: str

    @classmethod
    def make(cls) -> Self:
        return cls(secrets.token_hex(8), secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        match = _FORM.match(text)
        return cls(*match.groups()) if match else None

    @property
    def text(self) -> str:
        return f"kw_{self.id}_{self.secret}"

    @property
    def digest(self) -> bytes:
        # 256 random bits need no slow hash: there is nothing to guess
        return hashlib.sha256(self.secret.encode()).digest()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as the database knows it."""

    key: Key
    digest: bytes
    expires_at: datetime | None
    revoked_at: datetime | None

    def admits(self, secret: Secret, now: datetime) -> bool:
        same = hmac.compare_digest(self.digest, secret.digest)
        return same and self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def parse_lifetime(text: str) -> timedelta:
    """Read a span such as 90d, 12h or 1y."""
    match = _SPAN.match(text)
    if not match:
        raise InvalidInput(
            f"{text!r} is not a span of time; write a number and m, h, d, w or y, such as 90d", "expires"
        )
    lifetime = int(match[1]) * _UNIT[match[2]]
    if lifetime > MAX_LIFETIME:
        raise InvalidInput(
            f"{text!r} is too long; the longest is 100y, and without a span a key never expires", "expires"
        )
    return lifetime
