"""The buffer as a cache of the transcript: shown only where its version is the transcript's own.

The version names the messages that the buffer holds. A reader asks the transcript for its version and takes the buffer
only if both are the same; anything else is answered from the transcript, which also fills the buffer anew. So a lost,
late or doubled write makes a read slower, never wrong.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import structlog

from keepword.access import Grant, Place
from keepword.answers import BufferedMessage
from keepword.errors import Unavailable
from keepword.model import Message
from keepword.redis.client import Client, key, mapped_errors, script
from keepword.working import buffer
from keepword.working.access_checks import require_read
from keepword.working.ports import Snapshots

_log = structlog.get_logger()

# an idle place's buffer is not worth its memory; the next reader fills it again
LIFETIME_MS = 24 * 3600 * 1000
# how a buffer's head begins; see buffer_append.lua
TIME_CHARS = 27
# long messages are read from the transcript: the cache is for the many short ones
MAX_CHARS = 1024 * 1024
# after a failure Redis is left alone for so long: a Redis that hangs would cost every reader its time limit
REST_SECONDS = 1
# more notes than this in flight mean that Redis hangs; dropped ones are rebuilt later
MAX_PENDING = 500


class RedisBuffer:
    def __init__(self, client: Client, transcript: Snapshots) -> None:
        self._client: Any = client  # redis-py's types don't tell sync from async
        self._fill, self._append = script(client, "buffer_fill"), script(client, "buffer_append")
        self._transcript = transcript
        self._pending: set[asyncio.Task[Any]] = set()
        self._rests_until = 0.0

    async def read(self, grant: Grant, place: Place, limit: int) -> list[BufferedMessage]:
        require_read(grant, place)
        where = _key(grant.tenant_id, place)
        # side by side: whichever answers first, equal versions are one state of the transcript
        version, cached = await asyncio.gather(
            self._transcript.version(grant, place), self._call(lambda: self._client.lrange(where, 0, -1))
        )
        if cached and cached[0][TIME_CHARS:] == version:
            # an entry of another version of Keepword may have another format: then the buffer is filled anew
            with suppress(ValueError):
                return [buffer.parse(text) for text in cached[1:][-limit:]]
        current, entries = await self._transcript.snapshot(grant, place)
        self._start(self._fill, where, _fill_args(current, entries))
        return entries[-limit:]

    def note(self, grant: Grant, place: Place, messages: Sequence[Message]) -> None:
        """Send appended messages to Redis in the background: an append waits for the transcript alone."""
        require_read(grant, place)
        if messages:
            args = _append_args(place, buffer.buffered_messages(messages))
            self._start(self._append, _key(grant.tenant_id, place), args)

    async def forget(self, grant: Grant, place: Place) -> None:
        require_read(grant, place)
        where = _key(grant.tenant_id, place)
        await self._call(lambda: self._client.delete(where))

    async def settle(self) -> None:
        """Wait until all notes in flight have arrived or failed."""
        while self._pending:
            await asyncio.wait(set(self._pending))

    def _start(self, call: Any, where: str, args: tuple[Any, ...] | None) -> None:
        if args is None or len(self._pending) >= MAX_PENDING:
            return
        task = asyncio.create_task(self._call(lambda: call(keys=(where,), args=args)))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _call(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return Redis' answer, or None where it is away: the transcript answers instead."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            with mapped_errors():
                return await call()
        except Unavailable as exc:
            self._rests_until = time.monotonic() + REST_SECONDS
            _log.warning("Redis buffer failed, reading the transcript instead", reason=repr(exc.__cause__))
            return None


def _fill_args(version: str, entries: list[BufferedMessage]) -> tuple[Any, ...] | None:
    written = [buffer.write(entry) for entry in entries]
    if sum(map(len, written)) > MAX_CHARS:
        return None
    newest = _time(entries[-1].ts) if entries else " " * TIME_CHARS
    return (LIFETIME_MS, newest + version, *written)


def _append_args(place: Place, added: list[BufferedMessage]) -> tuple[Any, ...] | None:
    written = [buffer.write(entry) for entry in added[-buffer.SIZE :]]
    if sum(map(len, written)) > MAX_CHARS:
        return None
    first, last = buffer.first_and_last_seq(added)
    return (
        str(place.conversation_id), first - 1, last, _time(added[0].ts), _time(added[-1].ts), buffer.SIZE,
        LIFETIME_MS, "0" if place.kind == "room" else "1", *written,
    )  # fmt: skip


def _time(moment: datetime) -> str:
    """Return a time in UTC so that texts compare as times do: 26 characters and a Z."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _key(tenant_id: Any, place: Place) -> str:
    return key(tenant_id, "buffer", place.run_id)
