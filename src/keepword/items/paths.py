"""The texts of a value that are searched, by the paths that a put may name.

A path is as LangGraph writes it: `a.b`, `a[0]`, `a[-1]`, `a[*].b`, `a.*`, `{a,b.c}`, and `$` for the whole value.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from keepword import patterns

WHOLE = "$"
MAX_PATHS = 32
MAX_PATH_CHARS = 200
# past this a value is stored and no more of it is searched
MAX_TEXTS = 100
MAX_TEXT_CHARS = 100_000

_STEP = patterns.in_short(r"\[[^\]]*\]|\{[^}]*\}|[^.\[{]+", MAX_PATH_CHARS)


def texts_of(value: dict[str, Any], indexed: Sequence[str] | None) -> list[str]:
    """Return what is searched: None is the whole value, no path is nothing."""
    paths = (WHOLE,) if indexed is None else indexed
    return list(_bounded(text for path in paths for text in texts_at(value, path) if text))


def texts_at(value: Any, path: str) -> Iterator[str]:
    if path in {"", WHOLE}:
        yield "\n".join(_lines(value))
        return
    found = [value]
    for step in _STEP.findall(path):
        found = [inner for one in found for inner in _steps(one, step)]
    for one in found:
        yield from _text(one)


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    left = MAX_TEXT_CHARS
    for number, text in enumerate(texts):
        if number >= MAX_TEXTS or left <= 0:
            return
        yield text[:left]
        left -= len(text)


def _steps(value: Any, step: str) -> Iterator[Any]:
    if step.startswith("["):
        yield from _at_index(value, step[1:-1])
    elif step.startswith("{"):
        for path in step[1:-1].split(","):
            yield from _at_names(value, path.strip().split("."))
    elif step == "*":
        yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    elif isinstance(value, dict) and step in value:
        yield value[step]


def _at_index(value: Any, index: str) -> Iterator[Any]:
    if not isinstance(value, list):
        return
    if index == "*":
        yield from value
    elif index.removeprefix("-").isdecimal() and len(index) < MAX_PATH_CHARS:
        place = int(index) + (len(value) if index.startswith("-") else 0)
        if 0 <= place < len(value):
            yield value[place]


def _at_names(value: Any, names: Sequence[str]) -> Iterator[Any]:
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return
        value = value[name]
    yield value


def _text(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield "\n".join(_lines(value))
    elif value is not None:
        yield _word(value)


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Yield a line for each text and number inside, with its name: names tell what a value is about."""
    if isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from _lines(inner, inner_name)
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None:
        yield f"{name}: {_word(value)}" if name else _word(value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
