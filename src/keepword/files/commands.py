"""The six commands of Claude's memory tool, with its answers word for word."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from keepword.answers import StoredFile
from keepword.errors import Conflict, NotFound, Outdated
from keepword.files import texts
from keepword.files.operations import TreeWriter, refusal_of_place
from keepword.files.paths import ROOT, check_path

# longer texts are worked on beside the event loop
_INLINE_CHARS = 32 * 1024
T = TypeVar("T")

PathText = Annotated[str, StringConstraints(max_length=4096)]


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class View(_Command):
    command: Literal["view"]
    path: PathText = Field(description="a file or a folder", examples=["/memories"])
    view_range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the first and the last line to show; -1: to the end"
    )


class Create(_Command):
    command: Literal["create"]
    path: PathText
    file_text: str


class StrReplace(_Command):
    command: Literal["str_replace"]
    path: PathText
    old_str: str = Field(description="must occur exactly once")
    new_str: str = ""


class Insert(_Command):
    command: Literal["insert"]
    path: PathText
    insert_line: int = Field(description="after how many lines")
    insert_text: str


class Delete(_Command):
    command: Literal["delete"]
    path: PathText = Field(description="a file, or a folder with all in it")


class Rename(_Command):
    command: Literal["rename"]
    old_path: PathText
    new_path: PathText


MemoryCommand = Annotated[View | Create | StrReplace | Insert | Delete | Rename, Field(discriminator="command")]


async def execute(writer: TreeWriter, command: View | Create | StrReplace | Insert | Delete | Rename) -> str:
    """Do what the command says and return the tool's answer. Raises a KeepwordError with the tool's words."""
    match command:
        case View():
            return await _view(writer, command)
        case Create():
            return await _create(writer, command)
        case StrReplace():
            return await _replace(writer, command)
        case Insert():
            return await _insert(writer, command)
        case Delete():
            return await _delete(writer, command)
        case Rename():
            return await _rename(writer, command)


async def _view(writer: TreeWriter, command: View) -> str:
    path = check_path(command.path)
    file = await writer.store.get(writer.grant, writer.tree, path) if path != ROOT else None
    if file is not None:
        return await _beside(len(file.content), texts.numbered, command.path, file.content, command.view_range)
    files = await writer.store.list(writer.grant, writer.tree, path, "", 2 * texts.MAX_LINES)
    if not files and path != ROOT:
        raise _missing(command.path)
    return texts.listed(command.path, path, files)


async def _create(writer: TreeWriter, command: Create) -> str:
    path = check_path(command.path)
    if path == ROOT:
        raise Conflict(f"File {command.path} already exists")
    await writer.write(path, command.file_text, "", command.path)
    return f"File created successfully at: {command.path}"


async def _replace(writer: TreeWriter, command: StrReplace) -> str:
    file = await _open(writer, command.path)
    changed, answer = await _beside(
        len(file.content), texts.replaced, command.path, file.content, command.old_str, command.new_str
    )
    await _write_over(writer, file, changed)
    return answer


async def _insert(writer: TreeWriter, command: Insert) -> str:
    file = await _open(writer, command.path)
    changed = await _beside(len(file.content), texts.inserted, file.content, command.insert_line, command.insert_text)
    await _write_over(writer, file, changed)
    return f"The file {command.path} has been edited."


async def _delete(writer: TreeWriter, command: Delete) -> str:
    if not await writer.delete(check_path(command.path)):
        raise NotFound(f"The path {command.path} does not exist")
    return f"Successfully deleted {command.path}"


async def _rename(writer: TreeWriter, command: Rename) -> str:
    old, new = check_path(command.old_path, "old_path"), check_path(command.new_path, "new_path")
    outcome = "exists" if new == ROOT and old != ROOT else await writer.rename(old, new)
    if outcome == "absent":
        raise NotFound(f"The path {command.old_path} does not exist")
    if outcome == "exists":
        raise Conflict(f"The destination {command.new_path} already exists")
    if outcome != "moved":
        raise refusal_of_place(outcome, command.new_path)
    return f"Successfully renamed {command.old_path} to {command.new_path}"


async def _open(writer: TreeWriter, shown: str) -> StoredFile:
    path = check_path(shown)
    writer.require_write(path)
    file = await writer.store.get(writer.grant, writer.tree, path) if path != ROOT else None
    if file is not None:
        return file
    if path == ROOT or await writer.store.list(writer.grant, writer.tree, path, "", 1):
        raise Conflict(f"The path {shown} is not a file.")
    raise _missing(shown)


async def _write_over(writer: TreeWriter, file: StoredFile, content: str) -> None:
    try:
        await writer.write(file.path, content, file.sha256)
    except Outdated as exc:
        raise Conflict(
            f"{file.path} was changed by another call at the same time, and nothing was written; view it and try again"
        ) from exc


async def _beside(size: int, work: Callable[..., T], *values: object) -> T:
    return await asyncio.to_thread(work, *values) if size > _INLINE_CHARS else work(*values)


def _missing(shown: str) -> NotFound:
    return NotFound(f"The path {shown} does not exist. Please provide a valid path.")
