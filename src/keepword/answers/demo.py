"""The demo's story, as the console plays it."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """A request of the API that tells a part of the story."""

    method: str
    path: str
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Demo:
    """A tenant for the demo's story alone, a key for it, and the requests that tell it, to be made in their order."""

    tenant: str
    secret: Annotated[str, Field(description="manages that tenant for a day")] = field(repr=False)
    is_told: Annotated[bool, Field(description="the story is there already: make none of the requests")]
    story: tuple[DemoRequest, ...]
    questions: Annotated[
        tuple[DemoRequest, ...], Field(description="to be asked when the worker has read the story, some seconds later")
    ]
