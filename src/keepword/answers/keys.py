"""A tenant's API keys. A secret is told once, when its key is made."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import Field

from keepword.model import KeyRole


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret; `agent` and `user` are those that it is bound to."""

    id: str
    role: KeyRole
    agent: str | None
    user: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewApiKey(ApiKey):
    """A key that was just made."""

    secret: Annotated[str, Field(description="the whole key, shown this once: send it as Authorization: Bearer")] = (
        field(repr=False)
    )


@dataclass(frozen=True, slots=True)
class ApiKeyPage:
    """The newest is first."""

    keys: tuple[ApiKey, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]
