"""The ports of this package: models that make vectors, and the store of entries that lack one."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from keepword.embedding.instant import Floats


@dataclass(frozen=True, slots=True)
class Space:
    """Vectors of one space can be compared with each other, and with no others.

    `is_tuned`: a question about a conversation is near to the turn that answers it, not only to what looks like it.
    """

    name: str
    dimensions: int
    is_tuned: bool = False


class Embedder(Protocol):
    """A model of the deep space. Vectors have length 1. It is loaded, or asked, when it is first needed.

    Unavailable: nothing works now. InvalidInput: these texts can't be embedded, others may.
    """

    async def split(self, texts: Sequence[str]) -> list[list[str]]:
        """Cut each text into chunks that one vector each should stand for."""
        ...

    async def space(self) -> Space: ...

    async def embed(self, texts: Sequence[str]) -> list[Floats]: ...

    async def embed_query(self, text: str) -> Floats:
        """Embed one text now: it never waits behind `embed`."""
        ...

    def forget(self) -> None:
        """Let no process keep a text that it embedded; waits for a call that is under way."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry that this worker embeds now, and no other until the lease ends."""

    tenant_id: UUID
    entry_id: int


@dataclass(frozen=True, slots=True)
class ChunkVector:
    """The vector of one chunk of an entry."""

    claim: Claim
    part: int
    vector: Floats


class Backlog(Protocol):
    async def open(self, space: Space) -> int:
        """Return the number of the space, which is made if it is new."""
        ...

    async def settle(self, amount: int) -> int:
        """Index up to `amount` entries in the instant space and count their words; return how many."""
        ...

    async def is_importing(self) -> bool:
        """Tell whether the history of some tenant is being imported."""
        ...

    async def flush(self) -> None:
        """Move the words of new entries from the list that searches walk into the index."""
        ...

    async def claim(self, space: int, amount: int, lease_seconds: float) -> list[Claim]:
        """Claim entries without a vector in the space: the newest of each tenant, equally many of each."""
        ...

    async def note_time(self, claims: Sequence[Claim], seconds: float) -> None:
        """Count the time that claims took for their tenants."""
        ...

    async def texts(self, claims: Sequence[Claim]) -> dict[Claim, str]:
        """Return the texts of the entries, as they were indexed; entries without one are left out."""
        ...

    async def store(self, space: int, vectors: Sequence[ChunkVector]) -> None: ...

    async def give_up(
        self, space: int, claims: Sequence[Claim], reason: str, attempts: int, pause_seconds: float
    ) -> None:
        """End claims that failed: due again after a pause that doubles, or failed after so many attempts."""
        ...

    async def release(self, space: int, claims: Sequence[Claim]) -> None:
        """Release claims as if they had not been made."""
        ...

    async def sleep(self) -> None:
        """Ask for a notification of the next append."""
        ...

    def wakes(self) -> AsyncIterator[None]:
        """Yield whenever something was appended while a worker slept; ends if the store goes away."""
        ...


@dataclass(frozen=True, slots=True)
class BacklogDepth:
    """The number of entries that wait for a vector in a space, and of those that failed."""

    space: str
    waiting: int
    failed: int


class Meter(Protocol):
    def embedded(self, space: str, texts: int) -> None: ...

    def failed(self, space: str, entries: int) -> None: ...
