"""The port of the tools; the service and the command line implement it."""

from collections.abc import Mapping
from typing import Any, Protocol


class Memory(Protocol):
    """Answers with what REST answers, as JSON values. Raises KeepwordError for what it refuses.

    Tools that write, and those of facts and files, have no method here: they call their routes by `request`.
    """

    async def search(self, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def browse(self, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def stats(self, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def may_write(self) -> bool:
        """Tell whether the caller's key may write anything, so that the tools that write are offered."""
        ...

    async def request(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call a route of the service for the caller; an answer without content is empty."""
        ...
