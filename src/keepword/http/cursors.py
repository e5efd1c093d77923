"""Cursors of lists: where a page ended, as text that the caller hands back."""

import base64
import binascii
from datetime import UTC, datetime
from uuid import UUID

from keepword import patterns
from keepword.errors import InvalidInput

_MOST_DIGITS = 18  # of a number that the database can hold
_KEY_ID = patterns.at_start(r"[0-9a-f]{16}\Z")


def time_cursor(at: datetime, id_: UUID) -> str:
    """Return the cursor of a list in the order of time."""
    return _encode(f"{at.isoformat()} {id_}")


def parse_time_cursor(text: str | None) -> tuple[datetime, UUID] | None:
    if text is None:
        return None
    time, _, id_ = _decode(text).partition(" ")
    try:
        return datetime.fromisoformat(time).astimezone(UTC), UUID(id_)
    except (ValueError, OverflowError) as exc:
        raise _refusal(text) from exc


def key_cursor(run_id: str, key: str) -> str:
    """Return the cursor of a list in the order of run_ids and keys."""
    return _encode(f"{run_id}\n{key}")


def parse_key_cursor(text: str | None) -> tuple[str, str]:
    """Parse a key cursor; without one, return the position before the first key."""
    if text is None:
        return "", ""
    run_id, newline, key = _decode(text).partition("\n")
    if not newline or "\n" in key or "\0" in run_id + key:
        raise _refusal(text)
    return run_id, key


def parse_number_cursor(text: str | None) -> int | None:
    """Read the cursor of a list in the order of numbers, which is the number itself."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise _refusal(text)
    return int(text)


def parse_key_id_cursor(text: str | None) -> str | None:
    """Read the cursor of a list of API keys, which is a key's id."""
    if text is not None and not _KEY_ID.match(text):
        raise _refusal(text)
    return text


def _encode(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as exc:
        raise _refusal(text) from exc


def _refusal(text: str) -> InvalidInput:
    return InvalidInput(f"{text[:80]!r} is not a cursor; use one from a page's next", "cursor")
