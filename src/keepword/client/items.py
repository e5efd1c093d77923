"""Calls for items: values under a namespace and a key."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from keepword import answers
from keepword.client.transport import HttpTransport, given
from keepword.errors import InvalidInput


class Items:
    """Values under a namespace, a list of labels, and a key: of the agent or user for whom the calls are made."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def get(
        self, namespace: Sequence[str], key: str, *, refresh_ttl: bool | None = None
    ) -> answers.StoredItem | None:
        """Return an item, or None where there is none; its lifetime begins anew unless `refresh_ttl` is False."""
        if any("." in label for label in namespace):  # it separates labels in the query
            raise InvalidInput(
                f"namespace {list(namespace)!r} has a label with a dot, which none may hold", "namespace"
            )
        query = given(namespace=".".join(namespace), key=key, refresh_ttl=refresh_ttl)
        found: answers.StoredItem | None = await self._wire.call(
            answers.StoredItem | None,  # type: ignore[arg-type]
            "GET", "/store/items", query=query,
        )  # fmt: skip
        return found

    async def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        index: Sequence[str] | Literal[False] | None = None,
        ttl: float | None = None,
    ) -> None:
        """Store a value in place of the former one. `index`: the paths that are searched; `ttl` is in minutes."""
        body = {
            "namespace": list(namespace), "key": key, "value": dict(value), "ttl": ttl,
            "index": list(index) if isinstance(index, Sequence) else index,
        }  # fmt: skip
        await self._wire.do("PUT", "/store/items", body=body)

    async def delete(self, namespace: Sequence[str], key: str) -> None:
        """Delete an item for good; one that is not there is passed over."""
        await self._wire.do("DELETE", "/store/items", body={"namespace": list(namespace), "key": key})

    async def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the API's own word
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> answers.ItemHits:
        """Find items that pass the filter: with a query the best first, else the last changed first."""
        body = given(
            namespace_prefix=list(namespace_prefix), query=query, filter=filter and dict(filter), limit=limit,
            offset=offset, refresh_ttl=refresh_ttl,
        )  # fmt: skip
        return await self._wire.call(answers.ItemHits, "POST", "/store/items/search", body=body)

    async def namespaces(
        self,
        *,
        prefix: Sequence[str] | None = None,
        suffix: Sequence[str] | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Sequence[tuple[str, ...]]:
        """List the namespaces that hold items; in `prefix` and `suffix` a `*` stands for any one label."""
        body = given(
            prefix=prefix and list(prefix), suffix=suffix and list(suffix), max_depth=max_depth, limit=limit,
            offset=offset,
        )  # fmt: skip
        return (await self._wire.call(answers.Namespaces, "POST", "/store/namespaces", body=body)).namespaces

    async def batch(self, ops: Sequence[Mapping[str, Any]]) -> Sequence[answers.ItemResult]:
        """Do up to 1,000 operations as POST /store/batch has them, in one request; results are in their order."""
        body = {"ops": [dict(op) for op in ops]}
        return (await self._wire.call(answers.ItemResults, "POST", "/store/batch", body=body)).results
