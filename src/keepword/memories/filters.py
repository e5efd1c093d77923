"""Filters of memories: trees of AND, OR and NOT, checked and written as the data that the database compares with.

Nothing of a filter ever becomes part of a statement. The written form has the operators `and`, `or`, `not` over `of`,
and at its leaves `in`, `gt`, `gte`, `lt`, `lte`, `contains` or `exists` of a `field`, with `values`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from keepword.answers import Feedback, MemoryState, MemoryType, SaidBy
from keepword.errors import InvalidInput

MAX_DEPTH = 8
MAX_LEAVES = 100
MAX_VALUES = 100
MAX_KEY_CHARS = 200
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "type": get_args(MemoryType), "state": get_args(MemoryState), "feedback": get_args(Feedback),
    "said_by": get_args(SaidBy),
}  # fmt: skip
_TIMES = ("said_at", "created_at", "updated_at", "expires_at")
_NUMBERS = ("importance", "confidence")
# agent, app and run as mem0's clients name them: parts of the name of the session that their messages are kept in
_MEM0 = ("mem0_agent", "mem0_app", "mem0_run")
_TEXTS = ("user", "agent", "place", "conversation", "id", "category", "content", *_MEM0)
FIELDS = (*_TEXTS, *_CHOICES, *_NUMBERS, *_TIMES, "metadata")
_ORDERED = ("gt", "gte", "lt", "lte")
_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_TEXTS, ("eq", "ne", "in", "exists")),
    **dict.fromkeys(_CHOICES, ("eq", "ne", "in", "exists")),
    **dict.fromkeys(_NUMBERS, ("eq", "ne", "in", *_ORDERED)),
    **dict.fromkeys(_TIMES, ("eq", "ne", "in", "exists", *_ORDERED)),
    "content": ("eq", "ne", "in", "contains"),
    "category": ("eq", "ne", "in", "contains", "exists"),
    "metadata": ("eq", "ne", "in", "exists", "contains", *_ORDERED),
}
_VALID = {"op": "in", "field": "state", "values": ["valid"]}

Tree = dict[str, Any]
# reads a written time or day; None for what is none
ReadTime = Callable[[str], datetime | None]


def write_filter(tree: Mapping[str, Any], read_time: ReadTime) -> Tree:
    """Return a filter as the database reads it; one that says nothing of the state keeps to what is valid.

    Raises InvalidInput with the path of what is wrong.
    """
    written = _Writer(read_time).node(tree, "filters", 1)
    if any(leaf["field"] == "state" for leaf in _leaves(written)):
        return written
    return {"op": "and", "of": [_VALID, written]}


class _Writer:
    def __init__(self, read_time: ReadTime) -> None:
        self._read_time = read_time
        self._leaves = 0

    def node(self, tree: Any, path: str, depth: int) -> Tree:
        if not isinstance(tree, Mapping):
            raise InvalidInput(f'{path} must be an object, such as {{"user": "ann"}}', path)
        if depth > MAX_DEPTH:
            raise InvalidInput(f"{path} is nested deeper than {MAX_DEPTH} levels", path)
        parts = [part for name, value in tree.items() for part in self._part(name, value, f"{path}.{name}", depth)]
        return parts[0] if len(parts) == 1 else {"op": "and", "of": parts}

    def _part(self, name: str, value: Any, path: str, depth: int) -> Iterator[Tree]:
        if name in {"AND", "OR", "NOT"}:
            nodes = [value] if name == "NOT" and isinstance(value, Mapping) else value
            if not isinstance(nodes, Sequence) or isinstance(nodes, str) or not nodes:
                raise InvalidInput(f"{path} must be a list of filters that is not empty", path)
            of = [self.node(one, f"{path}.{number}", depth + 1) for number, one in enumerate(nodes)]
            yield {"op": name.lower(), "of": of}
        elif name == "metadata":
            yield from self._metadata(value, path)
        elif name in FIELDS:
            yield from self._leaf({"field": name}, name, value, path)
        else:
            raise InvalidInput(f"{path} is no field; there are {', '.join(FIELDS)}, and AND, OR, NOT", path)

    def _metadata(self, value: Any, path: str) -> Iterator[Tree]:
        if not isinstance(value, Mapping) or not value:
            raise InvalidInput(f'{path} must be an object of keys, such as {{"source": "crm"}}', path)
        for key, wanted in value.items():
            if not 1 <= len(key) <= MAX_KEY_CHARS:
                raise InvalidInput(f"{path} has a key of {len(key)} characters; at most {MAX_KEY_CHARS}", path)
            yield from self._leaf({"field": "metadata", "key": key}, "metadata", wanted, f"{path}.{key}")

    def _leaf(self, target: Tree, field: str, value: Any, path: str) -> Iterator[Tree]:
        compared = value if isinstance(value, Mapping) else {"eq": value}
        if not compared:
            raise InvalidInput(f"{path} compares with nothing; {_known(field)}", path)
        for operator, wanted in compared.items():
            if operator not in _OPERATORS[field]:
                raise InvalidInput(
                    f"{path}.{operator} is no operator of {field}; {_known(field)}", f"{path}.{operator}"
                )
            self._leaves += 1
            if self._leaves > MAX_LEAVES:
                raise InvalidInput(f"filters compare more than {MAX_LEAVES} times", path)
            yield self._comparison(target, field, operator, wanted, f"{path}.{operator}")

    def _comparison(self, target: Tree, field: str, operator: str, wanted: Any, path: str) -> Tree:
        if operator == "exists":
            if not isinstance(wanted, bool):
                raise InvalidInput(f"{path} must be true or false", path)
            there = target | {"op": "exists", "values": []}
            return there if wanted else {"op": "not", "of": [there]}
        values = wanted if operator == "in" else [wanted]
        if not isinstance(values, list) or not 1 <= len(values) <= MAX_VALUES:
            raise InvalidInput(f"{path} must be a list of 1 to {MAX_VALUES} values", path)
        checked = [self._value(field, operator, one, path) for one in values]
        # a memory has each category or has it not: to contain one is to have it
        plain = "in" if operator in {"eq", "ne"} or (field == "category" and operator == "contains") else operator
        leaf = target | {"op": plain, "values": checked}
        return {"op": "not", "of": [leaf]} if operator == "ne" else leaf

    def _value(self, field: str, operator: str, value: Any, path: str) -> Any:
        if field in _CHOICES and value not in _CHOICES[field]:
            raise InvalidInput(f"{path} is {value!r}; there are {', '.join(_CHOICES[field])}", path)
        if field in _TIMES:
            at = self._read_time(value) if isinstance(value, str) else None
            if at is None:
                raise InvalidInput(f"{path}: a time is written as 2024-01-31T12:00:00Z, a day as 2024-01-31", path)
            return at.isoformat()
        if field in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InvalidInput(f"{path} must be a number", path)
        if (field in _TEXTS or operator == "contains") and field != "metadata" and not isinstance(value, str):
            raise InvalidInput(f"{path} must be a text", path)
        if operator in _ORDERED and isinstance(value, bool | list | dict | None):
            raise InvalidInput(f"{path} must be a number or a text, to be compared by", path)
        return value


def _known(field: str) -> str:
    return f"{field} is compared by {', '.join(_OPERATORS[field])}"


def _leaves(written: Tree) -> Iterator[Tree]:
    if "of" in written:
        for one in written["of"]:
            yield from _leaves(one)
    else:
        yield written
