"""Calls for webhooks. Of the tenant's owner alone."""

from collections.abc import Sequence
from uuid import UUID

from keepword import answers
from keepword.client.transport import HttpTransport, given, segment

_PATH = "/v1/webhooks"


class Webhooks:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.WebhookPage:
        query = given(limit=limit, cursor=cursor)
        return await self._wire.call(answers.WebhookPage, "GET", _PATH, query=query)

    async def add(self, url: str, events: Sequence[str], *, name: str = "") -> answers.MadeWebhook:
        """Make a webhook; events are such as "memory.added", "memory" or "*". Its secret is not shown again."""
        body = {"url": url, "events": [*events], "name": name}
        return await self._wire.call(answers.MadeWebhook, "POST", _PATH, body=body)

    async def get(self, webhook: UUID | str) -> answers.Webhook:
        return await self._wire.call(answers.Webhook, "GET", _path(webhook))

    async def change(
        self,
        webhook: UUID | str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        name: str | None = None,
        is_active: bool | None = None,
    ) -> answers.Webhook:
        """Change a webhook; `is_active` True starts one again that was stopped."""
        body = given(url=url, events=[*events] if events is not None else None, name=name, is_active=is_active)
        return await self._wire.call(answers.Webhook, "PATCH", _path(webhook), body=body)

    async def delete(self, webhook: UUID | str) -> None:
        await self._wire.do("DELETE", _path(webhook))

    async def deliveries(
        self, webhook: UUID | str, *, limit: int = 50, cursor: str | None = None
    ) -> answers.WebhookDeliveryPage:
        """List deliveries of the last 7 days, the newest first."""
        path, query = f"{_path(webhook)}/deliveries", given(limit=limit, cursor=cursor)
        return await self._wire.call(answers.WebhookDeliveryPage, "GET", path, query=query)

    async def test(self, webhook: UUID | str) -> answers.WebhookTest:
        """Send the event webhook.test."""
        return await self._wire.call(answers.WebhookTest, "POST", f"{_path(webhook)}/test")


def _path(webhook: UUID | str) -> str:
    return f"{_PATH}/{segment(str(webhook), 'webhook')}"
