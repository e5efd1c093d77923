"""Writes answers as JSON, each as the type that its route declares."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from fastapi import Response
from pydantic import TypeAdapter

from keepword.errors import NotFound
from keepword.transcript import PAGE_BYTES

T = TypeVar("T")

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def dump(shape: type[T], value: T) -> bytes:
    """Write the fields of the declared type alone: further fields of a subclass are not for callers."""
    return _adapter(shape).dump_json(value, warnings="error")


def respond(shape: type[T], value: T, status: int = 200) -> Response:
    return as_json(dump(shape, value), status)


def respond_page(
    shape: Callable[[tuple[T, ...], str | None], Any],
    items: Sequence[T],
    limit: int,
    cursor: Callable[[T], str],
    size: Callable[[T], int] | None = None,
) -> Response:
    """Answer the first `limit` of the items, and a cursor of the last of them if there are more.

    With `size`, the item that reaches a page's bytes is the last.
    """
    shown = items[:limit] if size is None else cut(items, limit, size)
    page = shape(tuple(shown), cursor(shown[-1]) if len(items) > len(shown) else None)
    return respond(type(page), page)


def require(thing: T | None, missing: str) -> T:
    if thing is None:
        raise NotFound(missing)
    return thing


def cut(items: Sequence[T], limit: int, size: Callable[[T], int]) -> Sequence[T]:
    """Return the first `limit`, up to the one that reaches a page's bytes."""
    total = 0
    for number, one in enumerate(items[:limit], 1):
        total += size(one)
        if total >= PAGE_BYTES:
            return items[:number]
    return items[:limit]


def as_json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")
