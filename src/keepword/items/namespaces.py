"""Namespaces: paths of labels. In the store each label has a dot behind it, so a path's children begin with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepword.errors import InvalidInput

MAX_LABELS = 32
# path, key and owner together must fit into a row of an index
MAX_PATH_BYTES = 768
MAX_KEY_BYTES = 512
# LangGraph keeps it for itself
RESERVED_ROOT = "langgraph"
# what follows a dot in the order of bytes
_AFTER_DOT = "/"


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """The labels with which a namespace begins, or ends with `at_end`; `*` stands for any one label."""

    labels: tuple[str, ...]
    at_end: bool = False


def check_labels(labels: Sequence[str], field: str) -> str:
    """Return the path of the labels. Raises InvalidInput for those that no namespace can have."""
    if len(labels) > MAX_LABELS:
        raise InvalidInput(f"{field} has {len(labels)} labels; a namespace has {MAX_LABELS} at most", field)
    for number, label in enumerate(labels):
        if not label or "." in label or "\0" in label:
            raise InvalidInput(
                f"{field}.{number} is {label!r}; a label may not be empty, and may hold no dot and no NUL character",
                field,
            )
    path = "".join(f"{label}." for label in labels)
    if (size := len(path.encode())) > MAX_PATH_BYTES:
        raise InvalidInput(f"{field} has {size} bytes with a dot behind each label; at most {MAX_PATH_BYTES}", field)
    return path


def check_namespace(labels: Sequence[str]) -> str:
    """Return the path of an item's namespace, which has a label at least."""
    if not labels:
        raise InvalidInput("namespace is empty; an item is in a namespace of one label at least", "namespace")
    return check_labels(labels, "namespace")


def check_new_namespace(labels: Sequence[str]) -> str:
    path = check_namespace(labels)
    if labels[0] == RESERVED_ROOT:
        raise InvalidInput(
            f"namespace may not begin with {RESERVED_ROOT!r}, which LangGraph keeps for itself", "namespace"
        )
    return path


def check_key(key: str) -> str:
    if "\0" in key:
        raise InvalidInput("key holds a NUL character, which can't be stored", "key")
    if not key or (size := len(key.encode())) > MAX_KEY_BYTES:
        what = f"has {size} bytes" if key else "is empty"
        raise InvalidInput(f"key {what}; it has 1 to {MAX_KEY_BYTES}", "key")
    return key


def labels_of(path: str) -> tuple[str, ...]:
    return tuple(path[:-1].split("."))


def path_end(path: str) -> str:
    """Return what comes after all paths that begin with this one, in the order of bytes."""
    return path[:-1] + _AFTER_DOT if path else "\U0010ffff" * 4
