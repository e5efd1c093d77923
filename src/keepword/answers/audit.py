"""What the audit tells: who changed rights or removed something, and never a word of what was said."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field


@dataclass(frozen=True, slots=True)
class AuditEvent:
    id: UUID
    at: datetime
    key: Annotated[
        str | None,
        Field(description="the key's id; null: no key, the command line on the service's machine, or background work"),
    ]
    actor: Annotated[
        str,
        Field(
            description="`user:ann`, `agent:ada`, `owner`, `key:ID` of one that is bound to nobody, `command line` or "
            "`background`"
        ),
    ]
    action: Annotated[str, Field(description="what was done, such as `key.made` or `memory.deleted`")]
    place: Annotated[str | None, Field(description="the run_id that it was done in, if there is one")]
    ids: Annotated[dict[str, Any], Field(description="what it was done to: ids, names of settings, numbers")]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The newest is first."""

    events: tuple[AuditEvent, ...]
    next: Annotated[str | None, Field(description="where to go on, as cursor; null at the end")]
