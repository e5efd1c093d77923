"""The keys of a tenant, as its owner manages them over the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from keepword.access.grant import Grant
from keepword.access.keys import Secret
from keepword.answers import ApiKey, NewApiKey
from keepword.errors import Conflict, Forbidden, NotFound
from keepword.model import KeyRole

# a tab stays open for a day; opening the demo again makes another key
DEMO_KEY_LASTS = timedelta(days=1)
Revocation = Literal["revoked", "absent", "last"]


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """A key to make; an admin's that is bound to nobody manages the tenant."""

    role: KeyRole
    agent: str | None = None
    user: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """The tenant in which the demo's story is played for another one; `is_told`: it holds the story already."""

    name: str
    is_told: bool


class ManagedKeys(Protocol):
    async def page(self, grant: Grant, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Return keys, the newest first, from the one behind `after` on."""
        ...

    async def make(self, grant: Grant, secret: Secret, draft: KeyDraft) -> datetime:
        """Store the digest of a secret; return when."""
        ...

    async def open_demo(self, grant: Grant, secret: Secret, expires_at: datetime) -> DemoTenant | None:
        """Open the tenant of the demo by a new key that manages it; None for a tenant that is such a demo."""
        ...

    async def revoke(self, grant: Grant, key_id: str) -> Revocation:
        """End a key unless it is the last one that manages the tenant."""
        ...


async def make(keys: ManagedKeys, grant: Grant, draft: KeyDraft, *, by_key: bool) -> NewApiKey:
    """Make a key. Raises Forbidden for a caller without one: any account of the machine calls as the owner then."""
    if not by_key:
        raise Forbidden(
            "a key is made by a caller who has one, and the first on the service's machine: "
            "keepword keys create --tenant default --role admin"
        )
    secret = Secret.make()
    made_at = await keys.make(grant, secret, draft)
    return NewApiKey(
        secret.id, draft.role, draft.agent, draft.user, made_at, draft.expires_at, None, secret.text
    )  # fmt: skip


async def open_demo(keys: ManagedKeys, grant: Grant, now: datetime) -> tuple[Secret, DemoTenant]:
    """Open the tenant in which the demo's story is played for this one. Keys made for it before end."""
    secret = Secret.make()
    opened = await keys.open_demo(grant, secret, now + DEMO_KEY_LASTS)
    if opened is None:
        raise Conflict("this is the demo's own tenant; leave it first, and open the demo from yours")
    return secret, opened


async def revoke(keys: ManagedKeys, grant: Grant, key_id: str) -> None:
    outcome = await keys.revoke(grant, key_id)
    if outcome == "absent":
        raise NotFound(f"no key {key_id!r} in this tenant; GET /v1/keys lists them")
    if outcome == "last":
        raise Conflict(
            f"{key_id!r} is the last key that manages the tenant; make another admin key first, or revoke it on the "
            "service's machine: keepword keys revoke"
        )
