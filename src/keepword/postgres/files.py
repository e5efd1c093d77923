"""The store of trees of files."""

from collections.abc import Sequence
from typing import Any

from keepword.access import Grant
from keepword.answers import FileMatch, FileVersion, FileVersionText, StoredFile, TreeFile
from keepword.files.ports import LAST_VERSION, PutResult, RenameOutcome, Tree, TreeLimits
from keepword.postgres.grants import dump, grant_values
from keepword.postgres.pool import Pool
from keepword.postgres.queries import Queries
from keepword.postgres.rows import Row, read_row, read_rows


class PostgresFileTrees:
    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self._pool = pool
        self._sql = Queries("files.sql", first_wall=first_wall)

    async def list(self, grant: Grant, tree: Tree, under: str, after: str, limit: int) -> Sequence[TreeFile]:
        return read_rows(TreeFile, await self._read(grant, tree, "list", under=under, after=after, limit=limit))

    async def get(self, grant: Grant, tree: Tree, path: str) -> StoredFile | None:
        rows = await self._read(grant, tree, "get", path=path)
        return read_row(StoredFile, rows[0]) if rows else None

    async def versions(
        self, grant: Grant, tree: Tree, path: str, limit: int, before: int = LAST_VERSION
    ) -> Sequence[FileVersion]:
        rows = await self._read(grant, tree, "versions", path=path, limit=limit, before=before)
        return read_rows(FileVersion, rows)

    async def version(self, grant: Grant, tree: Tree, path: str, version: int) -> FileVersionText | None:
        rows = await self._read(grant, tree, "version", path=path, version=version)
        return read_row(FileVersionText, rows[0]) if rows else None

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
        row = await self._write(
            grant,
            tree,
            "put",
            path=path,
            content=content,
            author=author,
            expected=expected,
            most=limits.files,
            most_bytes=limits.size,
        )
        return PutResult(row.outcome, None if row.path is None else read_row(TreeFile, row))

    async def delete(self, grant: Grant, tree: Tree, path: str, author: str, expected: str | None) -> int | None:
        row = await self._write(grant, tree, "delete", path=path, author=author, expected=expected)
        amount: int | None = row.amount
        return amount

    async def rename(self, grant: Grant, tree: Tree, old: str, new: str, author: str) -> RenameOutcome:
        outcome: RenameOutcome = (await self._write(grant, tree, "rename", old=old, new=new, author=author)).outcome
        return outcome

    async def redact(self, grant: Grant, tree: Tree, path: str, version: int, by: str) -> bool | None:
        done: bool | None = (await self._write(grant, tree, "redact", path=path, version=version, by=by)).done
        return done

    async def search(self, grant: Grant, tree: Tree, words: Sequence[str], limit: int) -> Sequence[FileMatch]:
        return read_rows(FileMatch, await self._read(grant, tree, "search", words=[*words], limit=limit))

    async def _read(self, grant: Grant, tree: Tree, query: str, **values: Any) -> Sequence[Row]:
        # the agent's own files are known in the whole tenant: they open with its tree, and with nothing else
        opens = grant.everything or tree.run_id in grant.run_ids
        values |= grant_values(grant) | {"run_id": tree.run_id, "agent": tree.agent if opens else None}
        return await self._pool.read(grant, self._sql.read(query), values)

    async def _write(self, grant: Grant, tree: Tree, query: str, **values: Any) -> Row:
        """Call a function that works under a grant of its own, on one tree."""
        values |= {"grant": dump(grant), "tenant_id": grant.tenant_id, "run_id": tree.run_id}
        return (await self._pool.fetch(self._sql[query], values))[0]
