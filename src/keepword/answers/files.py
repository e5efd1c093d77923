"""Trees of files: what they hold, and what was in them before."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file without its content. `author` is such as "agent:ada", "user:ann" or "owner"."""

    path: str
    version: int
    size: Annotated[int, Field(description="bytes")]
    sha256: str
    author: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class StoredFile(TreeFile):
    content: str = ""


@dataclass(frozen=True, slots=True)
class FilePage:
    files: tuple[TreeFile, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A version of a file, without its content. With `redacted_at` its words were erased."""

    path: str
    version: int
    operation: Literal["created", "modified", "deleted"]
    size: int | None
    sha256: str | None
    author: str
    written_at: datetime
    redacted_by: str | None
    redacted_at: datetime | None


@dataclass(frozen=True, slots=True)
class FileVersionText(FileVersion):
    content: Annotated[str | None, Field(description="null if the file was deleted then, or its words were erased")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class FileVersionPage:
    versions: tuple[FileVersion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FileMatch:
    """A file that holds all words of a query, and the first line with one of them."""

    path: str
    version: int
    line: int
    text: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class FileMatches:
    files: tuple[FileMatch, ...]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command of Claude's memory tool answers, word for word."""

    text: str
