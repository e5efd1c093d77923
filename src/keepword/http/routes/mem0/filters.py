"""Filters of mem0's clients, told in the words of Keepword's own: one compiler checks and compares both."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from keepword.errors import InvalidInput
from keepword.http.guards import Caller
from keepword.http.schemas import read_moment
from keepword.memories.filters import MAX_DEPTH, Tree, write_filter

_ENTITIES = {"user_id": "user", "agent_id": "mem0_agent", "app_id": "mem0_app", "run_id": "mem0_run"}
_TIMES = {
    "created_at": "created_at", "updated_at": "updated_at", "timestamp": "said_at", "expiration_date": "expires_at",
}  # fmt: skip
_FIELDS = (*_ENTITIES, *_TIMES, "categories", "metadata", "keywords", "memory_ids")
ANY = "*"
VALID = ("valid",)
WITH_EXPIRED = ("valid", "expired")
ALL_STATES = ("valid", "expired", "superseded")


def compare(caller: Caller, tree: Mapping[str, Any], states: tuple[str, ...] = VALID) -> Tree:
    """Return a filter of theirs as the database compares with it. Raises InvalidInput for what they have not."""
    told = translate(tree) | {"state": {"in": list(states)}}
    return write_filter(told, lambda text: caller.calendar.moment(read_moment(text)))


def both(*trees: Tree) -> Tree:
    return trees[0] if len(trees) == 1 else {"op": "and", "of": list(trees)}


def translate(tree: Any, path: str = "filters", depth: int = 1) -> dict[str, Any]:
    if not isinstance(tree, Mapping):
        raise InvalidInput(f'{path} must be an object, such as {{"user_id": "ann"}}', path)
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{path} is nested deeper than {MAX_DEPTH} levels", path)
    told: dict[str, Any] = {}
    for name, value in tree.items():
        at = f"{path}.{name}"
        if name in {"AND", "OR", "NOT"}:
            nodes = [value] if name == "NOT" and isinstance(value, Mapping) else value
            if not isinstance(nodes, list) or not nodes:
                raise InvalidInput(f"{at} must be a list of filters that is not empty", at)
            told[name] = [translate(one, f"{at}.{number}", depth + 1) for number, one in enumerate(nodes)]
        else:
            told |= _leaf(name, value, at)
    return told


def named(tree: Mapping[str, Any], field: str) -> str | None:
    """Return the one value that a filter wants of a field, if there is one."""
    value = tree.get(field)
    if isinstance(value, Mapping) and set(value) == {"eq"}:
        value = value["eq"]
    if isinstance(value, str):
        return None if value == ANY else value
    both_of, either = tree.get("AND") or (), tree.get("OR") or ()
    nodes = [*both_of, *(either if len(either) == 1 else ())]
    return next((found for node in nodes if (found := named(node, field)) is not None), None)


def _leaf(name: str, value: Any, path: str) -> dict[str, Any]:
    if name in _ENTITIES:
        return {_ENTITIES[name]: _entity(value)}
    if name in _TIMES:
        return {_TIMES[name]: _time(name, value, path)}
    if name == "categories":
        return {"category": {"in": value} if isinstance(value, list) else value}
    if name == "metadata":
        return {"metadata": value}
    if name == "memory_ids":
        return {"id": {"in": value}}
    if name == "keywords":
        return {"content": _keywords(value, path)}
    raise InvalidInput(f"{path} is no field; there are {', '.join(_FIELDS)}, and AND, OR, NOT", path)


def _entity(value: Any) -> Any:
    compared = value if isinstance(value, Mapping) else {"eq": value}
    told: dict[str, Any] = {}
    for operator, wanted in compared.items():
        is_any = wanted == ANY or (isinstance(wanted, list) and ANY in wanted)
        if operator in {"eq", "in"} and is_any:
            told["exists"] = True
        elif operator == "eq" and wanted is None:
            told["exists"] = False
        elif operator == "ne" and (is_any or wanted is None):
            told["exists"] = wanted is None
        else:
            told[operator] = wanted
    return told


def _keywords(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, Mapping) and set(value) <= {"contains", "icontains"} and len(value) == 1:
        return {"contains": next(iter(value.values()))}
    raise InvalidInput(f"{path} is compared by contains or icontains", path)


def _time(name: str, value: Any, path: str) -> Any:
    compared = value if isinstance(value, Mapping) else {"eq": value}
    shift = name == "expiration_date"
    return {
        operator: [_moment(one, path, shift=shift) for one in wanted]
        if isinstance(wanted, list)
        else _moment(wanted, path, shift=shift)
        for operator, wanted in compared.items()
    }


def _moment(value: Any, path: str, *, shift: bool) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return at_seconds(value, path).isoformat()
    if shift and isinstance(value, str):
        return end_of_day(value, path).isoformat()
    return value


def at_seconds(value: float, path: str) -> datetime:
    """Read Unix seconds."""
    try:
        at = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise InvalidInput(f"{path} is {value!r}, which are no Unix seconds of a time", path) from exc
    if read_moment(at.isoformat()) is None:
        raise InvalidInput(f"{path} is {at.isoformat()}; a time between the years 2 and 9998 is needed", path)
    return at


def end_of_day(text: str, path: str) -> datetime:
    """Return when a memory expires whose last day this is."""
    try:
        last = date.fromisoformat(text[:10]) if len(text) in {10, *range(16, 40)} else None
        over = None if last is None else last + timedelta(days=1)
    except (ValueError, OverflowError):
        over = None
    at = None if over is None else datetime(over.year, over.month, over.day, tzinfo=UTC)
    if at is None or read_moment(at.isoformat()) is None:
        raise InvalidInput(f"{path} is {text!r}; a day is written as 2024-01-31", path)
    return at
