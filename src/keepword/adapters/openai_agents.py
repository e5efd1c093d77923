"""A session of the OpenAI Agents SDK whose history is a conversation in Keepword."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from keepword.adapters.session_items import to_item, to_message
from keepword.client import BaseClient, SyncClient
from keepword.errors import NotFound
from keepword.model import Message

_PAGE = 200
_BATCH = 1000


class KeepwordSession:
    """Pass it as `session` to `Runner.run`. The conversation `session_id` is made with the first item.

    With an async client all calls come from the loop of that client; with a `SyncClient` they may come from any loop
    and thread, as those of `Runner.run_sync`. What is popped or cleared is retracted: the tenant's owner still reads
    it, and nobody else.
    """

    def __init__(
        self,
        session_id: str,
        client: BaseClient | SyncClient,
        *,
        user: str | None = None,
        agent: str | None = None,
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(
            SessionSettings() if session_settings is None else session_settings
        )
        self._client = client
        self._who = {"user": user, "agent": agent}

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest items, in the order of time; without a limit that of the settings, or all."""
        most = resolve_session_limit(limit, self.session_settings)
        return [item for _, item in reversed(await self._latest(most))]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; a thousand at a time are stored all or not at all."""
        messages = [to_message(item) for item in items]
        for begin in range(0, len(messages), _BATCH):
            await _until_done(self._append(messages[begin : begin + _BATCH]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Retract the most recent item and return it. Of two pops at once both may return the same."""
        latest = await self._latest(1)
        if not latest:
            return None
        await self._retract(latest[0][0])
        return latest[0][1]

    async def clear_session(self) -> None:
        """Retract every item, the newest first: a request for each."""
        for seq, _ in await self._latest(None):
            await self._retract(seq)

    async def _retract(self, seq: int) -> None:
        await _until_done(self._call(self._client.conversations.retract, self.session_id, seq))

    async def _append(self, messages: list[dict[str, Any]]) -> None:
        try:
            await self._call(self._client.append_all, self.session_id, messages)
        except NotFound:
            await self._call(self._client.conversations.put, self.session_id, **self._who)
            await self._call(self._client.append_all, self.session_id, messages)

    async def _latest(self, most: int | None) -> list[tuple[int, Any]]:
        """Return the latest items with the number of their message, the newest first."""
        found: list[tuple[int, Any]] = []
        cursor: str | None = None
        while most is None or len(found) < most:
            messages, cursor = await self._page(cursor, _PAGE if most is None else min(_PAGE, most - len(found)))
            found += [(message.seq, item) for message in messages if (item := to_item(message)) is not None]
            if cursor is None:
                break
        return found

    async def _page(self, cursor: str | None, limit: int) -> tuple[tuple[Message, ...], str | None]:
        try:
            page = await self._call(
                self._client.conversations.messages, self.session_id, order="desc", limit=limit, cursor=cursor,
                retracted=False,
            )  # fmt: skip
        except NotFound:
            return (), None
        return tuple(page.messages), page.next

    async def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._client, SyncClient):
            return await asyncio.to_thread(method, *args, **kwargs)
        return await method(*args, **kwargs)


async def _until_done(change: Any) -> Any:
    """Wait for a change that was begun, also where the caller is cancelled: then its outcome is known."""
    task = asyncio.ensure_future(change)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancelled = cancelled or exc
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # the caller is told of the cancellation instead
        raise cancelled
    return task.result()
