"""Reading and writing a tree of files within a grant."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepword.access import Grant
from keepword.answers import FileMatch, FileVersion, FileVersionText, StoredFile, TreeFile
from keepword.errors import Conflict, Forbidden, InvalidInput, KeepwordError, NotFound, Outdated, TooLarge
from keepword.files.paths import ROOT, WORKSPACE, check_path, is_inside
from keepword.files.ports import LAST_VERSION, FileTrees, Tree, TreeLimits

MAX_FILE_BYTES = 6 * 1024 * 1024
LIMITS = TreeLimits()
MAX_WORDS = 10
MAX_QUERY_CHARS = 500


@dataclass(frozen=True, slots=True)
class TreeWriter:
    """One tree, what may be done with it, and who does it: an author such as "agent:ada"."""

    store: FileTrees
    grant: Grant
    tree: Tree
    author: str

    async def write(self, path: str, content: str, expected: str | None = None, shown: str | None = None) -> TreeFile:
        """Write a file as a whole; with `expected` only if it has that sha256, "" only if there is none.

        `shown` is the path as the caller wrote it, for what a refusal says.
        """
        self.require_write(path)
        if len(content) * 4 > MAX_FILE_BYTES and (size := len(content.encode())) > MAX_FILE_BYTES:
            raise TooLarge(f"the file would have {size} bytes; at most {MAX_FILE_BYTES}", "content")
        result = await self.store.put(self.grant, self.tree, path, content, self.author, expected, LIMITS)
        if result.file is None:
            raise _refusal(result.outcome, shown or path)
        return result.file

    async def delete(self, path: str, expected: str | None = None) -> int:
        """Delete a file or a folder, and tell how many files; their versions stay."""
        if path == ROOT:
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself", "path")
        self.require_write(path)
        deleted = await self.store.delete(self.grant, self.tree, path, self.author, expected)
        if deleted is None:
            raise Outdated(f"{path} has another sha256 than expected; read it again")
        return deleted

    async def rename(self, old: str, new: str) -> str:
        """Move a file or a folder and return the outcome, "moved" if it was."""
        if old == ROOT:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself", "old_path")
        self.require_write(old)
        self.require_write(new)
        if old != new and is_inside(new, old):
            raise InvalidInput(f"{new} is inside {old}; a folder can't be moved into itself", "new_path")
        return await self.store.rename(self.grant, self.tree, old, new, self.author)

    def require_write(self, path: str) -> None:
        if not self.grant.lets_share(self.tree.run_id):
            raise Forbidden(
                "this key may read these files here, and not write them; an agent's own tree is written by a request "
                "that acts for no user"
            )
        if self.tree.kind == "agent" and is_inside(path, WORKSPACE):
            raise Forbidden(
                f"{path} is one of the agent's own files; the tenant's owner writes them, with "
                "PUT /v1/agents/{slug}/files/{name}"
            )


async def find(store: FileTrees, grant: Grant, tree: Tree, path: str) -> StoredFile:
    file = await store.get(grant, tree, check_path(path))
    if file is None:
        raise NotFound(f"no file {path!r} here")
    return file


async def find_version(store: FileTrees, grant: Grant, tree: Tree, path: str, version: int) -> FileVersionText:
    found = await store.version(grant, tree, check_path(path), version)
    if found is None:
        raise NotFound(f"no version {version} of {path!r} here")
    return found


async def list_versions(
    store: FileTrees, grant: Grant, tree: Tree, path: str, limit: int, before: int | None
) -> Sequence[FileVersion]:
    """Return versions, newest first. Raises NotFound if there never was such a file."""
    versions = await store.versions(grant, tree, check_path(path), limit, before or LAST_VERSION)
    if not versions and before is None:
        raise NotFound(f"there never was a file {path!r} here")
    return versions


async def redact(store: FileTrees, grant: Grant, tree: Tree, path: str, version: int, by: str) -> None:
    """Erase the words of a former version, for good; repeating it is safe."""
    done = await store.redact(grant, tree, check_path(path), version, by)
    if done is None:
        raise NotFound(f"no version {version} of {path!r} here")
    if not done:
        raise Conflict(f"version {version} is what {path!r} holds now; delete or change the file first")


async def search(store: FileTrees, grant: Grant, tree: Tree, query: str, limit: int) -> Sequence[FileMatch]:
    """Find the files that hold all words of the query, the latest written first."""
    words = list(dict.fromkeys(query.lower().split()))
    if len(query) > MAX_QUERY_CHARS or not 1 <= len(words) <= MAX_WORDS:
        raise InvalidInput(f"query has 1 to {MAX_WORDS} words and at most {MAX_QUERY_CHARS} characters", "query")
    return await store.search(grant, tree, words, limit)


def _refusal(outcome: str, path: str) -> KeepwordError:
    if outcome == "outdated":
        return Outdated(f"{path} has another sha256 than expected; read it again")
    if outcome == "absent":
        return NotFound(f"no file {path!r} here")
    return refusal_of_place(outcome, path)


def refusal_of_place(outcome: str, path: str) -> KeepwordError:
    """Say why nothing can be written at a path."""
    if outcome == "no folder":
        return Conflict(f"a folder above {path} is a file; delete or rename it first")
    if outcome == "full":
        return Conflict(
            f"{path} has no room here: a tree holds at most {LIMITS.files} files and {LIMITS.size} bytes; "
            "delete some first"
        )
    return Conflict(f"File {path} already exists")
