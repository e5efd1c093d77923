"""The port of the tools, a method each; the service and the command line implement it."""

from typing import Any, Protocol


class Memory(Protocol):
    """Answers with what REST answers, as JSON values. Raises KeepwordError for what it refuses."""

    async def search(self, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def browse(self, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def stats(self, arguments: dict[str, Any]) -> dict[str, Any]: ...
