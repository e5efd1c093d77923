"""Wording of errors and answers: how a value is shown, the name that was probably meant, how a time was read."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_SHOWN_CHARS = 80
# comparing takes the product of both lengths
_COMPARED_CHARS = 64
_LIKENESS = 0.7


def shown(value: Any) -> str:
    """Write a value as its sender wrote it: as JSON, a text in single quotes; long ones are cut."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelt most like this one, if any is like it at all; case does not count."""
    by_lower = {one.lower(): one for one in known}
    lower = name[:_COMPARED_CHARS].lower()
    matches = get_close_matches(lower, by_lower, n=1, cutoff=_LIKENESS)
    # many write user_id for user
    return by_lower[matches[0]] if matches else by_lower.get(lower.partition("_")[0])


def instead(known: Iterable[str], near: str | None) -> str:
    """Return what to say behind an unknown name: the one that was probably meant, and all that there are."""
    names = ", ".join(known)
    return f"did you mean {near}? There are: {names}" if near else f"there are: {names}"


def when_read(time: Mapping[str, Any]) -> str:
    """Say what a search made of the words for time in its query: `time` of what it answers under `searched`."""
    window = f" as {time['since']} to {time['before']}" if "since" in time else ""
    order = f" as the {time['order']} that was said" if "order" in time else ""
    used = "" if time["used"] else ", and not used"
    return f'"{time["words"]}" was read{window}{order}{used}'
