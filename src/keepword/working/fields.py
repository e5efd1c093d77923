"""Scratch fields: what goes in comes out equal, within limits that are counted in stored bytes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from keepword.access import Grant, Place
from keepword.errors import InvalidInput, TooLarge
from keepword.working.access_checks import require_write
from keepword.working.ports import Fields, FieldsSize

MAX_BYTES = 64 * 1024
MAX_FIELDS = 1000
MAX_NAME_CHARS = 200
DEFAULT_TTL_SECONDS = 24 * 3600
MAX_TTL_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """One conversation's working memory."""

    store: Fields
    grant: Grant
    place: Place

    async def get(self) -> dict[str, Any]:
        """Return all fields, in the order of their names; refreshes the lifetime."""
        fields = await self.store.get(self.grant, self.place)
        return {name: decode(fields[name]) for name in sorted(fields)}

    async def set(self, data: Mapping[str, Any], ttl_seconds: int | None = None) -> FieldsSize:
        """Merge the fields in. Over a limit, raise InvalidInput or TooLarge and change nothing."""
        require_write(self.grant, self.place)
        check_ttl(ttl_seconds)
        return check_fit(await self.store.put(self.grant, self.place, encode_all(data), ttl_seconds))

    async def delete(self, fields: Sequence[str] | None = None) -> None:
        """Delete the named fields, or with None all; a field that is not there is passed over."""
        require_write(self.grant, self.place)
        if fields is None:
            return await self.store.clear(self.grant, self.place)
        if not fields:
            raise InvalidInput("fields is empty; name the fields to delete, or leave it out to delete all", "fields")
        check_names(fields)
        return await self.store.delete(self.grant, self.place, fields)


def encode_all(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields as they are stored. Raises if they alone pass a limit already."""
    check_names(data)
    stored = {name: encode(value, f"data.{name}") for name, value in data.items()}
    size = sum(len(name.encode()) + len(text.encode()) for name, text in stored.items())
    if size > MAX_BYTES:
        raise TooLarge(f"these fields alone have {size} bytes; a working memory holds at most {MAX_BYTES}", "data")
    return stored


def encode(value: Any, field: str) -> str:
    """Write a string as it is and anything else as JSON.

    A string that could be read as JSON, such as "123", is written as JSON too: so the two are never confused.
    """
    if isinstance(value, str) and not _is_json(_storable(value, field)) and "\0" not in value:
        return value
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        is_same = bool(from_json(text, allow_inf_nan=False) == value)
    except (ValueError, TypeError, RecursionError) as exc:
        raise InvalidInput(f"{field} can't be kept as JSON: {exc}", field) from exc
    if not is_same:
        raise InvalidInput(f"{field} would not come out of JSON as it went in", field)
    return _storable(text, field)


def decode(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _is_json(text: str) -> bool:
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _storable(text: str, field: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInput(f"{field} holds half of a surrogate pair, which is no character", field) from exc
    return text


def check_names(names: Mapping[str, Any] | Sequence[str]) -> None:
    if len(names) > MAX_FIELDS:
        raise InvalidInput(f"{len(names)} fields; a working memory has at most {MAX_FIELDS}", "data")
    for name in names:
        if not 1 <= len(name) <= MAX_NAME_CHARS or "\0" in name:
            shown = name if len(name) <= MAX_NAME_CHARS else f"{name[:20]}..."
            raise InvalidInput(
                f"field name {shown!r} has {len(name)} characters; 1 to {MAX_NAME_CHARS} without NUL are allowed",
                "data",
            )
        _storable(name, "data")


def check_ttl(ttl_seconds: int | None) -> None:
    if ttl_seconds is not None and not 1 <= ttl_seconds <= MAX_TTL_SECONDS:
        raise InvalidInput(f"ttl_seconds must be 1 to {MAX_TTL_SECONDS} (30 days), not {ttl_seconds}", "ttl_seconds")


def check_fit(size: FieldsSize) -> FieldsSize:
    if size.fields > MAX_FIELDS:
        raise InvalidInput(f"it would have {size.fields} fields; a working memory has at most {MAX_FIELDS}", "data")
    if size.bytes > MAX_BYTES:
        raise TooLarge(
            f"it would hold {size.bytes} bytes; a working memory holds at most {MAX_BYTES}, and {size.held_bytes} "
            "are held now. Nothing was changed; delete fields or put less",
            "data",
        )
    return size
