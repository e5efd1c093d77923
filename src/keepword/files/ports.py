"""What trees of files need from a store. Nothing is read or written without a Grant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from keepword.access import Grant
from keepword.answers import FileMatch, FileVersion, FileVersionText, StoredFile, TreeFile

TreeKind = Literal["agent", "user", "room", "project"]
PutOutcome = Literal["made", "changed", "same", "exists", "outdated", "absent", "folder", "no folder", "full"]
RenameOutcome = Literal["moved", "absent", "exists", "no folder", "full"]
LAST_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Tree:
    """Whose files: of an `agent`, a `user` with an agent, a `room` or a `project`; `agent` names the first's."""

    kind: TreeKind
    run_id: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How much a tree holds, former versions not counted."""

    files: int = 2000
    size: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PutResult:
    outcome: PutOutcome
    file: TreeFile | None = None


class FileTrees(Protocol):
    async def list(self, grant: Grant, tree: Tree, under: str, after: str, limit: int) -> Sequence[TreeFile]:
        """Return the files in a folder and all folders below it, after that path, by path; or the one file."""
        ...

    async def get(self, grant: Grant, tree: Tree, path: str) -> StoredFile | None: ...

    async def versions(
        self, grant: Grant, tree: Tree, path: str, limit: int, before: int = LAST_VERSION
    ) -> Sequence[FileVersion]:
        """Return the versions before that one, newest first."""
        ...

    async def version(self, grant: Grant, tree: Tree, path: str, version: int) -> FileVersionText | None: ...

    async def put(
        self,
        grant: Grant,
        tree: Tree,
        path: str,
        content: str,
        author: str,
        expected: str | None,
        limits: TreeLimits,
    ) -> PutResult:
        """Write a version. `expected` is the sha256 that the file must have, "" if there must be none."""
        ...

    async def delete(self, grant: Grant, tree: Tree, path: str, author: str, expected: str | None) -> int | None:
        """Delete a file, or a folder with all in it, and tell how many; None if the file has another sha256."""
        ...

    async def rename(self, grant: Grant, tree: Tree, old: str, new: str, author: str) -> RenameOutcome: ...

    async def redact(self, grant: Grant, tree: Tree, path: str, version: int, by: str) -> bool | None:
        """Erase the words of a former version; False if it is the current one, None if there is none."""
        ...

    async def search(self, grant: Grant, tree: Tree, words: Sequence[str], limit: int) -> Sequence[FileMatch]:
        """Return the files that hold all words, whatever their case, each with the first line that has one."""
        ...
