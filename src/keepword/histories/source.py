"""What a history is read from: a file, a folder or a zip, which is read in place and never unpacked."""

import io
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from keepword.errors import BrokenArchive, NotFound, TooLarge

MAX_FILES = 200_000
MAX_UNPACKED_BYTES = 64 << 30
# text packs to a tenth; what is a thousandth of its size was made to fill a disk or a memory
MAX_RATIO = 200
RATIO_FROM_BYTES = 50 << 20
HEAD_BYTES = 64 << 10


class Source(ABC):
    """Names of files, and their bytes. `read_bytes` counts what was read, for a progress bar."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_bytes = 0
        self.on_read: Callable[[], None] | None = None

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return the size of each file, unpacked, by its name with slashes, in order of names."""

    @abstractmethod
    def _open(self, name: str, /) -> IO[bytes]: ...

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._open(name) as file:
                yield io.BufferedReader(_CountedFile(file, self), 1 << 18)
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as exc:
            raise BrokenArchive(f"can't read {self.shown(name)}: {exc}") from exc

    def head(self, name: str) -> bytes:
        before = self.read_bytes
        with self.open(name) as file:
            head = file.read(HEAD_BYTES)
        self.read_bytes = before
        return head

    def shown(self, name: str) -> str:
        return f"{self.path.name}/{name}" if name != self.path.name else name


class FileSource(Source):
    def sizes(self) -> dict[str, int]:
        return {self.path.name: self.path.stat().st_size}

    def _open(self, _: str, /) -> IO[bytes]:
        return self.path.open("rb")


class FolderSource(Source):
    def sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for name in sorted(files):
                file = Path(folder, name)
                # a link may lead out of the folder that was named
                if not file.is_symlink() and file.is_file():
                    sizes[file.relative_to(self.path).as_posix()] = file.stat().st_size
            if len(sizes) > MAX_FILES:
                raise TooLarge(f"{self.path} holds over {MAX_FILES:,} files; name a folder with fewer")
        return sizes

    def _open(self, name: str, /) -> IO[bytes]:
        return (self.path / name).open("rb")


class ZipSource(Source):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as exc:
            raise BrokenArchive(f"{path} is no zip that can be read: {exc}") from exc
        self._members = {one.filename: one for one in self._zip.infolist() if not one.is_dir()}
        _require_harmless(path, self._zip.infolist())

    def sizes(self) -> dict[str, int]:
        return {name: self._members[name].file_size for name in sorted(self._members)}

    def _open(self, name: str, /) -> IO[bytes]:
        return self._zip.open(name)


def open_source(path: Path) -> Source:
    if not path.exists():
        raise NotFound(f"there is no {path}; name the file or folder that holds the history")
    if path.is_dir():
        return FolderSource(path)
    return ZipSource(path) if zipfile.is_zipfile(path) else FileSource(path)


def _require_harmless(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_FILES:
        raise TooLarge(f"{path} holds {len(members):,} files; at most {MAX_FILES:,}")
    if (unpacked := sum(one.file_size for one in members)) > MAX_UNPACKED_BYTES:
        raise TooLarge(f"{path} unpacks to {unpacked:,} bytes; at most {MAX_UNPACKED_BYTES:,}")
    for one in members:
        inside = PurePosixPath(one.filename.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts:
            raise BrokenArchive(f"{path} holds {one.filename!r}, which leads out of it; nothing of it was read")
        if one.file_size > max(RATIO_FROM_BYTES, one.compress_size * MAX_RATIO):
            raise TooLarge(
                f"{path} holds {one.filename!r}, which unpacks from {one.compress_size:,} to {one.file_size:,} bytes, "
                f"over {MAX_RATIO} times as much; unpack it yourself if you trust it, and name the folder"
            )
        if one.flag_bits & 1:
            raise BrokenArchive(f"{path} is encrypted; unpack it, and name the folder")


class _CountedFile(io.RawIOBase):
    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file = file
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._source.read_bytes += len(data)
        if self._source.on_read is not None:
            self._source.on_read()
        return len(data)
