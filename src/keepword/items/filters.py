"""The filter of a search: members of the value that must be equal, or compare as operators say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keepword.errors import InvalidInput, TooLarge

OPERATORS = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"})
MAX_CONDITIONS = 100
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """`equal` has what a plain comparison of members answers, `rest` all other conditions."""

    equal: Mapping[str, Any]
    rest: Mapping[str, Any]


def read_filter(asked: Mapping[str, Any] | None) -> ItemFilter:
    """Check a filter. Raises InvalidInput for an unknown operator, TooLarge for too many conditions."""
    wanted = dict(asked or {})
    if _check(wanted, "filter", 0) > MAX_CONDITIONS:
        raise TooLarge(f"filter has over {MAX_CONDITIONS} conditions; ask for fewer at once", "filter")
    # a name with a dot may be a path, null is also what is not there, and a containing list may hold more
    plain = {name for name, value in wanted.items() if "." not in name and isinstance(value, str | int | float)}
    return ItemFilter(
        {name: value for name, value in wanted.items() if name in plain},
        {name: value for name, value in wanted.items() if name not in plain},
    )


def _check(value: Any, field: str, depth: int) -> int:
    """Return how many conditions there are."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"filter is nested deeper than {MAX_DEPTH} levels", "filter")
    if isinstance(value, list):
        return 1 + sum(_check(inner, field, depth + 1) for inner in value)
    if not isinstance(value, dict):
        return 1
    named = {name for name in value if name.startswith("$")} if depth else set()
    for name in sorted(named - OPERATORS) or (sorted(set(value) - named) if named else ()):
        known = ", ".join(sorted(OPERATORS))
        raise InvalidInput(f"{field} has {name!r} among operators; there are: {known}", "filter")
    # what an operator compares with is a value, and holds no operators itself
    return 1 + sum(1 if named else _check(inner, f"{field}.{name}", depth + 1) for name, inner in value.items())
