"""Claude's memory tool with its files in Keepword."""

from collections.abc import Iterable
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

from keepword.answers import TreeFile
from keepword.client.files import Files
from keepword.client.synchronous import SyncFiles
from keepword.errors import KeepwordError

_CLEARED = "All memory cleared"


class KeepwordMemoryTool(BetaAbstractMemoryTool):
    """Pass it among the tools of `client.beta.messages.tool_runner`; `files` say whose, such as `keepword.files`."""

    def __init__(self, files: SyncFiles, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = files

    def _run(self, command: BetaMemoryTool20250818Command) -> str:
        try:
            return self._files.command(_fields(command))
        except KeepwordError as exc:
            raise ToolError(str(exc)) from exc

    view = create = str_replace = insert = delete = rename = _run

    def clear_all_memory(self) -> str:
        """Delete every file; their versions stay."""
        while folders := _tops(self._files.list().files):
            for folder in folders:
                self._files.delete(folder)
        return _CLEARED


class KeepwordAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`, with the files of an async client."""

    def __init__(self, files: Files, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = files

    async def _run(self, command: BetaMemoryTool20250818Command) -> str:
        try:
            return await self._files.command(_fields(command))
        except KeepwordError as exc:
            raise ToolError(str(exc)) from exc

    view = create = str_replace = insert = delete = rename = _run

    async def clear_all_memory(self) -> str:
        """Delete every file; their versions stay."""
        while folders := _tops((await self._files.list()).files):
            for folder in folders:
                await self._files.delete(folder)
        return _CLEARED


def _fields(command: BetaMemoryTool20250818Command) -> dict[str, Any]:
    return command.model_dump(exclude_none=True)


def _tops(files: Iterable[TreeFile]) -> list[str]:
    """Return the files and folders of the first level; the agent's own files, which the owner writes, are left."""
    tops = {"/".join(file.path.split("/")[:3]) for file in files if file.author != "owner"}
    return sorted(tops)
