"""mem0's memories: pages of its API, an export of it, or the rows of an own store."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from keepword.histories import json_stream
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryMemory,
    Omission,
    Person,
    Record,
    Thread,
    from_iso,
    given,
    mapping,
    text_or_none,
)
from keepword.histories.source import Source

_UNSCOPED = "memories"
_KEPT = ("agent_id", "app_id", "run_id", "categories", "metadata", "updated_at", "hash")


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    people: set[str] = set()
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            for one in _rows(source, name, file, where):
                yield from [one] if isinstance(one, Omission) else _memory(mapping(one), where, people)


def _rows(source: Source, name: str, file: Any, where: str) -> Iterator[Any]:
    if name.endswith(".jsonl"):
        return (one if isinstance(one, Omission) else one[1] for one in json_stream.lines(file, where))
    head = source.head(name).lstrip()
    if head[:1] == b"[":
        return json_stream.elements(file, where, "item")
    lists = [path for path in ("results", "memories") if f'"{path}"'.encode() in head]
    if not lists:
        return iter([Omission("a file without memories", where)])
    return chain.from_iterable(json_stream.elements(file, where, f"{path}.item") for path in lists[:1])


def _memory(row: Mapping[str, Any], where: str, people: set[str]) -> Iterator[Record]:
    payload = mapping(row.get("payload")) or row
    text = payload.get("memory") or payload.get("data") or payload.get("content")
    id_ = text_or_none(row.get("id") or payload.get("id"))
    if not isinstance(text, str) or not text.strip() or id_ is None:
        yield Omission("a row without a memory", where)
        return
    user = text_or_none(payload.get("user_id"))
    if user is not None and user not in people:
        people.add(user)
        yield Person(user, user)
    # each run of a user is a session of its own, as its memories were
    run = text_or_none(payload.get("run_id"))
    thread = ":".join(part for part in (user or _UNSCOPED, run) if part)
    if thread not in people:
        people.add(thread)
        yield Thread(thread, title="Memories of mem0", members=(user,) if user else ())
    yield HistoryMemory(
        id_, text, thread, from_iso(payload.get("created_at")), user,
        {"model": "mem0"} | given(**{name: payload.get(name) for name in _KEPT}),
    )  # fmt: skip
