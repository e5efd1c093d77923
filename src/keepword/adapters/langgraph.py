"""LangGraph's store, kept by Keepword: `KeepwordStore` in place of `InMemoryStore` or `PostgresStore`."""

import asyncio
import json
import math
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from keepword import answers
from keepword.client import BaseClient, Client, Keepword

# what the service takes in one request
MAX_OPERATIONS = 1000
MAX_SEARCHES = 20
MAX_BYTES = 6 * 1024 * 1024
# requests of one store at once; the others wait here, and not for a connection
AT_ONCE = 16
# larger than any float: JSON knows no infinity
_BEYOND = 10**309
# nothing is larger than null
_NEVER = {"$gt": None}
_OPERATORS = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"})

T = TypeVar("T")


class KeepwordStore(BaseStore):
    """Keeps a graph's long-term memory in Keepword: for the agent or user of the key, or whom `agent` and `user` name.

    Searches need no index to configure. `fields` are the paths that are searched where a put names none: None is the
    whole value, False nothing. `ttl` is LangGraph's TTLConfig; the service itself deletes what expired. All calls go
    through one loop in a thread of the store's own, so any thread and any loop may make them.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str = "http://127.0.0.1:8002",
        key: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        fields: Sequence[str] | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._begin(lambda: Client(url, key, agent=agent, user=user), fields, ttl)

    def _begin(
        self,
        opened: Callable[[], AbstractAsyncContextManager[BaseClient]],
        fields: Sequence[str] | Literal[False] | None,
        ttl: TTLConfig | None,
    ) -> None:
        self.ttl_config = ttl
        self._fields = fields
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._closing = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        # a daemon: a program that does not close its store still ends
        threading.Thread(target=self._loop.run_forever, name="keepword-store", daemon=True).start()
        lent: Future[BaseClient] = Future()
        self._lending = self._start(self._lend(opened, lent))
        try:
            self._client = lent.result()
        except BaseException:
            self._loop.call_soon_threadsafe(self._loop.stop)
            raise

    async def _lend(
        self, opened: Callable[[], AbstractAsyncContextManager[BaseClient]], lent: "Future[BaseClient]"
    ) -> None:
        """Open the client on the loop that it is used on, and close it in the same task."""
        try:
            async with opened() as client:
                lent.set_result(client)
                await self._closing.wait()
        except BaseException as exc:
            if lent.done():
                raise
            lent.set_exception(exc)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all operations; what is read is read before anything is put."""
        return self._start(self._batch(_checked(ops))).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.wrap_future(self._start(self._batch(_checked(ops))))

    def close(self) -> None:
        """Close the connections; the store can't be used any more."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._lending.result()
            self._loop.call_soon_threadsafe(self._loop.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _batch(self, ops: Sequence[Op]) -> list[Result]:
        asked = [_asked(op, self._fields) for op in ops]
        results: dict[int, Result] = {}
        for places in _requests(asked):
            async with self._slots:
                answer = await self._client.items.batch([asked[place] for place in places])
            results |= {place: _result(ops[place], one) for place, one in zip(places, answer, strict=True)}
        return [results[place] for place in range(len(ops))]


class EmbeddedKeepwordStore(KeepwordStore):
    """The same with Keepword itself in this process until the store is closed: no request leaves it.

    `settings` are those of `Keepword.open`, such as `data`. Several processes may share a data folder, also with
    `keepword serve`.
    """

    def __init__(
        self,
        *,
        agent: str | None = None,
        user: str | None = None,
        fields: Sequence[str] | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        **settings: Any,
    ) -> None:
        self._begin(lambda: Keepword.open(agent=agent, user=user, **settings), fields, ttl)


def _checked(ops: Iterable[Op]) -> Sequence[Op]:
    listed = list(ops)
    for op in listed:
        validate_op_namespace(op)
    return listed


def _asked(op: Op, fields: Sequence[str] | Literal[False] | None) -> dict[str, Any]:
    match op:
        case GetOp():
            return {"op": "get", "namespace": list(op.namespace), "key": str(op.key), "refresh_ttl": op.refresh_ttl}
        case PutOp():
            index = fields if op.index is None else op.index
            return {
                "op": "put", "namespace": list(op.namespace), "key": str(op.key), "ttl": op.ttl,
                "value": None if op.value is None else dict(op.value),
                "index": list(index) if isinstance(index, Sequence) else index,
            }  # fmt: skip
        case SearchOp():
            return {
                "op": "search", "namespace_prefix": list(op.namespace_prefix), "limit": op.limit, "offset": op.offset,
                "filter": _conditions(op.filter or {}), "query": op.query, "refresh_ttl": op.refresh_ttl,
            }  # fmt: skip
        case ListNamespacesOp():
            matches = op.match_conditions or ()
            return {
                "op": "namespaces", "max_depth": op.max_depth, "limit": op.limit, "offset": op.offset,
                "conditions": [{"match": one.match_type, "path": list(one.path)} for one in matches],
            }  # fmt: skip
    raise TypeError(f"{op!r} is no operation of a store")


def _conditions(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Write a filter as JSON. Raises ValueError for an operator that LangGraph does not know."""
    written: dict[str, Any] = {}
    for name, value in wanted.items():
        if name.startswith("$"):
            if name not in _OPERATORS:
                raise ValueError(f"Unsupported operator: {name}")
            written |= {name: _finite(value)} if _can_be_stored(value) else _NEVER
        elif isinstance(value, Mapping):
            written[name] = _conditions(value)
        else:
            written[name] = _finite(value) if _can_be_stored(value) else _NEVER
    return written


def _can_be_stored(value: Any) -> bool:
    """Tell whether an item may hold it: none holds what is no number, or a NUL character."""
    return not (isinstance(value, float) and math.isnan(value)) and not (isinstance(value, str) and "\0" in value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return _BEYOND if value > 0 else -_BEYOND
    return value


def _requests(asked: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Yield the places of what goes into one request each: everything, or first what is read and then what is put."""
    everything = list(_groups(asked, range(len(asked))))
    if len(everything) <= 1:
        yield from everything
        return
    for is_put in (False, True):
        yield from _groups(asked, [place for place, one in enumerate(asked) if (one["op"] == "put") == is_put])


def _groups(asked: Sequence[Mapping[str, Any]], places: Iterable[int]) -> Iterator[list[int]]:
    group: list[int] = []
    searches = size = 0
    for place in places:
        one = asked[place]
        is_search = one["op"] in {"search", "namespaces"}
        length = len(json.dumps(one.get("value"))) if one["op"] == "put" else 0
        if group and (len(group) == MAX_OPERATIONS or searches + is_search > MAX_SEARCHES or size + length > MAX_BYTES):
            yield group
            group, searches, size = [], 0, 0
        group.append(place)
        searches, size = searches + is_search, size + length
    if group:
        yield group


def _result(op: Op, answer: answers.ItemResult) -> Result:
    match op:
        case GetOp():
            return answer.item and Item(**_fields(answer.item))
        case SearchOp():
            return [SearchItem(**_fields(one), score=one.score) for one in answer.items or ()]
        case ListNamespacesOp():
            return list(answer.namespaces or ())
    return None


def _fields(item: answers.StoredItem) -> dict[str, Any]:
    return {
        "namespace": item.namespace, "key": item.key, "value": item.value, "created_at": item.created_at,
        "updated_at": item.updated_at,
    }  # fmt: skip
