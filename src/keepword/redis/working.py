"""Working memory and ledger on Redis: a Hash each, one round trip an operation."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from keepword.access import Grant, Place
from keepword.redis.client import Client, key, mapped_errors, script
from keepword.working import fields
from keepword.working.access_checks import require_read, require_write
from keepword.working.ports import FieldsSize

_DEFAULT_MS = fields.DEFAULT_TTL_SECONDS * 1000


class RedisFields:
    """Scripts, because size and lifetime belong to the same atomic step as the fields."""

    def __init__(self, client: Client) -> None:
        self._get, self._put, self._delete = (script(client, name) for name in ("get", "put", "delete"))
        self._client = client

    async def get(self, grant: Grant, place: Place) -> dict[str, str]:
        require_read(grant, place)
        with mapped_errors():
            fields = await self._get(keys=_keys(grant, place), args=(_DEFAULT_MS,))
        return dict(zip(fields[::2], fields[1::2], strict=True))

    async def put(self, grant: Grant, place: Place, stored: Mapping[str, str], ttl_seconds: int | None) -> FieldsSize:
        require_write(grant, place)
        given_ms = "" if ttl_seconds is None else ttl_seconds * 1000
        args = (_DEFAULT_MS, given_ms, fields.MAX_BYTES, fields.MAX_FIELDS, *chain.from_iterable(stored.items()))
        with mapped_errors():
            done, size, count, held = await self._put(keys=_keys(grant, place), args=args)
        return FieldsSize(bool(done), size, count, held)

    async def delete(self, grant: Grant, place: Place, names: Sequence[str]) -> None:
        require_write(grant, place)
        with mapped_errors():
            await self._delete(keys=_keys(grant, place), args=(_DEFAULT_MS, *names))

    async def clear(self, grant: Grant, place: Place) -> None:
        require_write(grant, place)
        with mapped_errors():
            await self._client.delete(*_keys(grant, place))


class RedisLedger:
    def __init__(self, client: Client) -> None:
        self._client: Any = client  # redis-py's types don't tell sync from async

    async def get(self, grant: Grant, place: Place) -> dict[str, str]:
        require_read(grant, place)
        with mapped_errors():
            marks: dict[str, str] = await self._client.hgetall(_ledger_key(grant, place))
        return marks

    async def check(self, grant: Grant, place: Place, item_key: str) -> str | None:
        require_read(grant, place)
        with mapped_errors():
            value: str | None = await self._client.hget(_ledger_key(grant, place), item_key)
        return value

    async def mark(self, grant: Grant, place: Place, item_key: str, value: str) -> bool:
        require_write(grant, place)
        with mapped_errors():
            # HSET answers how many fields are new
            return bool(await self._client.hset(_ledger_key(grant, place), item_key, value))

    async def mark_all(self, grant: Grant, place: Place, marks: Mapping[str, str]) -> None:
        require_write(grant, place)
        with mapped_errors():
            await self._client.hset(_ledger_key(grant, place), mapping=dict(marks))

    async def evict(self, grant: Grant, place: Place, item_key: str) -> bool:
        require_write(grant, place)
        with mapped_errors():
            return bool(await self._client.hdel(_ledger_key(grant, place), item_key))


def _keys(grant: Grant, place: Place) -> tuple[str, str]:
    name = place.external_id
    return key(grant.tenant_id, "working_memory", name), key(grant.tenant_id, "working_memory_ttl", name)


def _ledger_key(grant: Grant, place: Place) -> str:
    return key(grant.tenant_id, "skill:ledger", place.external_id)
