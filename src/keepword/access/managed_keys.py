"""The keys of a tenant, as its owner manages them over the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from keepword.access.grant import Grant
from keepword.access.keys import Secret
from keepword.answers import ApiKey, NewApiKey
from keepword.errors import Conflict, NotFound
from keepword.model import KeyRole

Revocation = Literal["revoked", "absent", "last"]


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """A key to make; bound to nobody, an admin's manages the tenant."""

    role: KeyRole
    agent: str | None = None
    user: str | None = None
    expires_at: datetime | None = None

    @property
    def manages(self) -> bool:
        return self.role == "admin" and self.agent is None and self.user is None


class ManagedKeys(Protocol):
    async def page(self, grant: Grant, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Return keys, the newest first, from the one behind `after` on."""
        ...

    async def make(self, grant: Grant, secret: Secret, draft: KeyDraft) -> datetime:
        """Store the digest of a secret; return when."""
        ...

    async def revoke(self, grant: Grant, key_id: str) -> Revocation:
        """End a key unless it is the last one that manages the tenant."""
        ...


async def make(keys: ManagedKeys, grant: Grant, draft: KeyDraft, *, is_first: bool) -> NewApiKey:
    """Make a key; `is_first` is for a caller without one, who needs no key only as long as there is none."""
    if is_first and (not draft.manages or draft.expires_at is not None):
        raise Conflict(
            "with the first key, calls without one end; make one first that manages the tenant: role admin, "
            "bound to nobody, without an end"
        )
    secret = Secret.make()
    made_at = await keys.make(grant, secret, draft)
    return NewApiKey(
        secret.id, draft.role, draft.agent, draft.user, made_at, draft.expires_at, None, secret.text
    )  # fmt: skip


async def revoke(keys: ManagedKeys, grant: Grant, key_id: str) -> None:
    outcome = await keys.revoke(grant, key_id)
    if outcome == "absent":
        raise NotFound(f"no key {key_id!r} in this tenant; GET /v1/keys lists them")
    if outcome == "last":
        raise Conflict(
            f"{key_id!r} is the last key that manages the tenant; make another admin key first, or revoke it on the "
            "service's machine: keepword keys revoke"
        )
