"""Calls for imports of histories."""

import asyncio
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Self
from uuid import UUID

from keepword import answers
from keepword.client.transport import HttpTransport, given
from keepword.errors import InvalidInput, NotFound

PART_BYTES = 8 * 1024 * 1024
ENDED = frozenset({"checked", "done", "failed", "cancelled"})
_LOOK_SECONDS = 1.0


class Imports:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def create(
        self,
        kind: str,
        path: str | Path,
        *,
        user: str,
        agent: str | None = None,
        project: str | None = None,
        map: Mapping[str, str] | None = None,  # noqa: A002 - the API's own name
        day_first: bool | None = None,
        also_forgotten: bool = False,
        max_people: int | None = None,
        dry_run: bool = False,
    ) -> answers.HistoryImport:
        """Upload a history and start its import; with `dry_run` it is only read and counted.

        A folder is packed into a zip first. The import runs in the service: `wait` returns its end.
        """
        with await asyncio.to_thread(_Upload, path) as upload:
            body = given(
                kind=kind, file=upload.name, user=user, agent=agent, project=project, map=map and dict(map),
                day_first=day_first, also_forgotten=also_forgotten, max_people=max_people,
            )  # fmt: skip
            made = await self._wire.call(answers.HistoryImport, "POST", "/v1/imports", body=body)
            number = 0
            while content := await asyncio.to_thread(upload.read, PART_BYTES):
                number += 1
                await self._wire.upload("PUT", f"{_path(made.id)}/parts/{number}", content)
        return await self.start(made.id, dry_run=dry_run)

    async def start(self, import_id: UUID | str, *, dry_run: bool = False) -> answers.HistoryImport:
        """Start one that was uploaded, or again after a dry run."""
        body = {"dry_run": dry_run}
        return await self._wire.call(answers.HistoryImport, "POST", f"{_path(import_id)}/start", body=body)

    async def get(self, import_id: UUID | str) -> answers.HistoryImport:
        return await self._wire.call(answers.HistoryImport, "GET", _path(import_id))

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> answers.HistoryImportPage:
        """List imports, the newest first."""
        query = given(limit=limit, cursor=cursor)
        return await self._wire.call(answers.HistoryImportPage, "GET", "/v1/imports", query=query)

    async def wait(self, import_id: UUID | str) -> answers.HistoryImport:
        """Return the import as soon as it has ended; `state` says how."""
        while (found := await self.get(import_id)).state not in ENDED:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(_LOOK_SECONDS)
        return found

    async def cancel(self, import_id: UUID | str) -> answers.HistoryImport:
        """End it, and remove its upload; what was stored stays."""
        return await self._wire.call(answers.HistoryImport, "POST", f"{_path(import_id)}/cancel")

    async def delete(self, import_id: UUID | str) -> None:
        """Forget one that has ended, with its report."""
        await self._wire.do("DELETE", _path(import_id))


class _Upload:
    """A file as it is, or a folder as a zip. A link in a folder may lead out of it, and is left out."""

    def __init__(self, named: str | Path) -> None:
        path = Path(named).expanduser()
        if not path.exists():
            raise NotFound(f"there is no {path}; name the file or folder that holds the history")
        self.name = path.name
        self._file: IO[bytes]
        if path.is_file():
            self._file = path.open("rb")
            return
        self.name = f"{path.resolve().name or 'folder'}.zip"
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as this is
        try:
            with zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED) as packed:
                for file in _files(path):
                    packed.write(file, file.relative_to(path).as_posix())
        except BaseException:
            self._file.close()
            raise
        self._file.seek(0)

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _files(path: Path) -> Iterator[Path]:
    found = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
    if not found:
        raise InvalidInput(f"{path} is empty", "path")
    yield from found


def _path(import_id: UUID | str) -> str:
    try:
        return f"/v1/imports/{UUID(str(import_id))}"
    except ValueError as exc:
        raise InvalidInput(f"import_id {import_id!r} is no id of an import", "import_id") from exc
