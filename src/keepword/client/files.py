"""Calls for trees of files: of an agent, a user with an agent, a room or a project."""

from collections.abc import Mapping
from typing import Any, Literal

from keepword import answers
from keepword.client.transport import HttpTransport, given

TreeKind = Literal["agent", "user", "room", "project"]


class Files:
    """Files by their paths, which begin with /memories.

    Without a scope they are those of the user with the agent for whom the calls are made, or of the agent alone.
    """

    def __init__(self, wire: HttpTransport, tree: Mapping[str, str] | None = None) -> None:
        self._wire = wire
        self._tree = dict(tree or {})

    def of(
        self,
        scope: TreeKind,
        id: str | None = None,  # noqa: A002 - the API's own word
        *,
        agent: str | None = None,
        conversation: str | None = None,
    ) -> "Files":
        """Return the same calls for another tree.

        `agent` is of a user's, `conversation` (one in the project) of a project's.
        """
        return Files(self._wire, given(scope=scope, id=id, agent=agent, conversation=conversation))

    async def command(self, command: Mapping[str, Any]) -> str:
        """Run a command of Claude's memory tool, such as `{"command": "view", "path": "/memories"}`."""
        path = "/v1/memory-tool"
        return (await self._wire.call(answers.CommandResult, "POST", path, body=dict(command), query=self._tree)).text

    async def list(self, under: str | None = None, *, limit: int = 200, cursor: str | None = None) -> answers.FilePage:
        """List the files in a folder and all folders below it, by path."""
        query = self._tree | given(under=under, limit=limit, cursor=cursor)
        return await self._wire.call(answers.FilePage, "GET", "/v1/files", query=query)

    async def get(self, path: str) -> answers.StoredFile:
        return await self._wire.call(answers.StoredFile, "GET", "/v1/file", query=self._tree | {"path": path})

    async def version(self, path: str, version: int) -> answers.FileVersionText:
        """Read a former version; without content the file was deleted then, or the words were erased."""
        query = self._tree | {"path": path, "version": str(version)}
        return await self._wire.call(answers.FileVersionText, "GET", "/v1/file/version", query=query)

    async def put(self, path: str, content: str, *, sha256: str | None = None) -> answers.TreeFile:
        """Write a file as a whole; with `sha256` only over a file that has it, "" only if there is none."""
        body = {"content": content, **given(sha256=sha256)}
        return await self._wire.call(answers.TreeFile, "PUT", "/v1/file", body=body, query=self._tree | {"path": path})

    async def delete(self, path: str, *, sha256: str | None = None) -> None:
        """Delete a file, or a folder with all in it; the versions stay."""
        await self._wire.do("DELETE", "/v1/file", query=self._tree | given(path=path, sha256=sha256))

    async def versions(self, path: str, *, limit: int = 50, cursor: str | None = None) -> answers.FileVersionPage:
        query = self._tree | given(path=path, limit=limit, cursor=cursor)
        return await self._wire.call(answers.FileVersionPage, "GET", "/v1/file/versions", query=query)

    async def redact(self, path: str, version: int) -> None:
        """Erase the words of a former version, for good. The tenant's owner may."""
        await self._wire.do("POST", "/v1/file/redact", body={"version": version}, query=self._tree | {"path": path})

    async def search(self, query: str, *, limit: int = 20) -> answers.FileMatches:
        """Find the files that hold all words of the query, the latest written first."""
        body = {"query": query, "limit": limit}
        return await self._wire.call(answers.FileMatches, "POST", "/v1/search/files", body=body, query=self._tree)
